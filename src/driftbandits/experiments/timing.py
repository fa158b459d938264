"""Time per round of a policy, side by side with D-LinUCB."""

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
    """Microseconds a round, in one thread and with the drawing left out, and the ratio.

    The two take turns, so that a machine that slows down slows both; the best turn counts. Rewards
    come at once.
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
    """Seconds of this thread, whatever else the machine does, that a fresh policy takes."""
    player = policy.fresh()
    start = time.thread_time()
    for block in blocks:
        player.play(block, regret=np.empty(block.rounds))
    return time.thread_time() - start
