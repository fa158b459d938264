"""Time per round of a policy, compared with D-LinUCB."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..environments import Block, Environment
from ..policies import Policy

_ROUNDS = 4000
_TURNS, _LEAST, _SECONDS = 15, 3, 2.0


def time_per_round(policy: Policy, against: Policy, environment: Environment) -> dict[str, float]:
    """Microseconds per round in one thread, without the drawing, and the ratio to ``against``.

    The two policies take turns, so that a slow machine slows both; the fastest turn counts. Rewards
    arrive at once.
    """
    short = replace(environment, horizon=min(environment.horizon, _ROUNDS), delays=None)
    blocks = list(short.blocks(seed=0, replication=0))
    _play(policy, blocks[:1])
    _play(against, blocks[:1])
    turns: list[tuple[float, float]] = []
    while len(turns) < _LEAST or (len(turns) < _TURNS and np.sum(turns) < _SECONDS):
        turns.append((_play(policy, blocks), _play(against, blocks)))
    mine, other = np.array(turns).min(axis=0) * 1e6 / short.horizon
    return {"microseconds": float(mine), "relative": float(mine / other)}


def _play(policy: Policy, blocks: Sequence[Block]) -> float:
    """Seconds of CPU time of this thread for a fresh policy."""
    player = policy.fresh()
    start = time.thread_time()
    for block in blocks:
        player.play(block, regret=np.empty(block.rounds))
    return time.thread_time() - start
