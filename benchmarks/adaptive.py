"""Time of `AdaptiveLinUCB` compared with D-LinUCB, in simulation and called from Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftbandits import AdaptiveLinUCB, DLinUCB, Policy
from driftbandits.core.blocks import Block

from . import problems
from .measure import Row, Say, interleaved, summary

NAME = "adaptive"
SIZES = ((2, 3), (2, 50), (2, 500), (9, 3), (20, 20), (50, 2), (50, 50))
ROUNDS = 500  # repeated many times, so that they stay in the cache
OURS, PLAIN = "AdaptiveLinUCB", "D-LinUCB"


def run(*, quick: bool, say: Say) -> list[Row]:
    """Time per round and the ratio, at each size."""
    rows = []
    for dim, count in SIZES:
        say(f"adaptive: d = {dim}, K = {count}")
        rows += _size(dim, count, times=2 if quick else 12, repetitions=3 if quick else 7)
    return rows


def _size(dim: int, count: int, *, times: int, repetitions: int) -> list[Row]:
    environment = problems.wandering(dim=dim, count=count, horizon=ROUNDS)
    blocks = list(environment.blocks(seed=0, replication=0)) * times
    policies = {OURS: AdaptiveLinUCB(dim=dim), PLAIN: DLinUCB(dim=dim, gamma=0.99)}
    simulated = interleaved(
        {name: _simulated(policy, blocks) for name, policy in policies.items()},
        repetitions=repetitions,
    )
    online = interleaved(
        {name: _online(_played(policy, blocks), count) for name, policy in policies.items()},
        repetitions=repetitions,
    )
    size = f"d = {dim}, K = {count}"
    rows = []
    for name in policies:
        microseconds = simulated[name].cpu / (times * ROUNDS) * 1e6
        rows.append(summary(NAME, f"{name}, {size}", "simulated round", microseconds, unit="µs"))
        microseconds = online[name].cpu / ROUNDS * 1e6
        rows.append(summary(NAME, f"{name}, {size}", "select + update", microseconds, unit="µs"))
    both = f"{OURS} / {PLAIN}, {size}"
    return [
        *rows,
        summary(NAME, both, "ratio, simulated", simulated[OURS].cpu / simulated[PLAIN].cpu),
        summary(NAME, both, "ratio, select + update", online[OURS].cpu / online[PLAIN].cpu),
    ]


def _played(policy: Policy, blocks: list[Block]) -> Policy:
    """A fresh copy of ``policy`` that has played all blocks."""
    twin = policy.fresh()
    for block in blocks:
        twin.play(block, regret=np.empty(block.rounds))
    return twin


def _simulated(policy: Policy, blocks: list[Block]) -> Callable[[], object]:
    return lambda: _played(policy, blocks)


def _online(policy: Policy, count: int) -> Callable[[], None]:
    actions, rewards = problems.action_sets(ROUNDS, count, policy.dim)

    def play() -> None:
        twin = policy.copy()
        for t in range(ROUNDS):
            k = twin.select(actions[t])
            twin.update(actions[t, k], rewards[t, k])

    return play
