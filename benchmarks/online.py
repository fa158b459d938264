"""Online: one select and one update through the public API, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from driftbandits import DLinUCB

from . import problems
from .measure import Array, Row, Say, at_least, interleaved, summary
from .vectorised import NumpyDLinUCB

NAME = "online"
AIMS = {(2, 50): 5.0, (20, 50): 4.0, (100, 100): 2.0}
GAMMA = 0.99


class Scored(Protocol):
    """The common interface of the two implementations."""

    def scores(self, actions: Array) -> Array:
        """Upper confidence bounds, (K,)."""

    def select(self, actions: Array) -> int:
        """Index of the action to play."""

    def update(self, action: Array, reward: float) -> None:
        """Learn the reward of an action."""


def run(*, quick: bool, say: Say) -> list[Row]:
    """At each size: the time per round, the time of select alone, and the ratio to NumPy."""
    rows = []
    for (dim, count), bound in AIMS.items():
        rounds = max(4000 // (dim * (5 if quick else 1)), 30)
        say(f"online: d = {dim}, K = {count}, {rounds} rounds")
        rows += _size(dim, count, rounds, bound, repetitions=5 if quick else 41)
    return rows


def _size(dim: int, count: int, rounds: int, bound: float, *, repetitions: int) -> list[Row]:
    actions, rewards = problems.action_sets(rounds, count, dim)
    ours: Scored = DLinUCB(dim=dim, gamma=GAMMA)
    theirs: Scored = NumpyDLinUCB(dim=dim, gamma=GAMMA)
    _check_agreement(
        DLinUCB(dim=dim, gamma=GAMMA), NumpyDLinUCB(dim=dim, gamma=GAMMA), actions, rewards
    )
    works = {
        "ours": _rounds(ours, actions, rewards),
        "numpy": _rounds(theirs, actions, rewards),
        "select": _selects(ours, actions),
    }
    times = {
        name: t.cpu / rounds for name, t in interleaved(works, repetitions=repetitions).items()
    }
    size = f"d = {dim}, K = {count}"
    return [
        summary(NAME, f"driftbandits, {size}", "select + update", times["ours"] * 1e6, unit="µs"),
        summary(
            NAME,
            f"driftbandits, {size}",
            "select alone, nothing new learned",
            times["select"] * 1e6,
            unit="µs",
        ),
        summary(NAME, f"NumPy, {size}", "select + update", times["numpy"] * 1e6, unit="µs"),
        summary(
            NAME,
            f"NumPy / driftbandits, {size}",
            "ratio",
            times["numpy"] / times["ours"],
            aim=at_least(bound),
            note="input validation included",
        ),
    ]


def _check_agreement(ours: Scored, theirs: Scored, actions: Array, rewards: Array) -> None:
    """Check that both give the same scores after the same history."""
    for t in range(min(len(actions), 100)):
        k = ours.select(actions[t])
        ours.update(actions[t, k], rewards[t, k])
        theirs.update(actions[t, k], rewards[t, k])
    np.testing.assert_allclose(ours.scores(actions[0]), theirs.scores(actions[0]), rtol=1e-8)


def _rounds(policy: Scored, actions: Array, rewards: Array) -> Callable[[], None]:
    def play() -> None:
        for t in range(len(actions)):
            k = policy.select(actions[t])
            policy.update(actions[t, k], rewards[t, k])

    return play


def _selects(policy: Scored, actions: Array) -> Callable[[], None]:
    def play() -> None:
        for t in range(len(actions)):
            policy.select(actions[t])

    return play
