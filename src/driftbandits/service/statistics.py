"""Statistics of a hosted policy. A replay reproduces them bit for bit.

A decision enters the reward means when it closes, so that early rewards are not over-counted. Its
reward r is then the one that was learned, or the default. There are three means:

    shown     r                                 the actions that were shown
    learner   r q/p                             the learner without its floor
    baseline  r 1[shown = baseline]/p           the baseline, if requests name one

p is the probability of the shown action, and q is its probability under the learner without its
floor. The second and third mean are inverse-propensity estimates. They are unbiased if p > 0 for
every action that the learner or the baseline could have chosen. In shadow mode p is 1 for the
baseline and 0 for the others. The learner is then observed only when it agrees with the baseline,
and ``coverage``, the mean of q/p, falls below 1.

Each mean is computed over all decisions and over the last blocks, because payoffs drift.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from .calibration import Calibration

# Recent means and shares cover between one and two blocks of this many decisions.
BLOCK = 2000

# Bin n counts delays from 2^(n−1) to 2^n seconds; bin 0 counts delays below one second.
_DELAY_BINS = 32
_NORMAL_95 = 1.959963984540054


class Known(msgspec.Struct, array_like=True):
    """The known facts about a decision, open or closed.

    Attributes:
        number: Number of its record.
        policy: Name of its policy.
        time: When it was made.
        learner: Weight q/p.
        baseline: Weight 1[shown = baseline]/p; None if there is no baseline.
        prediction: Reward that the learner predicted; None if it was not asked for one.
        reward: The combined rewards so far; None before the first.
        open: Whether it still waits for rewards.
    """

    number: int
    policy: str
    time: float
    learner: float
    baseline: float | None
    prediction: float | None
    reward: float | None = None
    open: bool = True


class Sums(msgspec.Struct, array_like=True):
    """n, Σx and Σx² of some numbers."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Count a number."""
        self.count += 1
        self.total += value
        self.squares += value * value

    def plus(self, other: Sums) -> Sums:
        """The sums of both together."""
        return Sums(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )

    def summary(self) -> dict[str, Any]:
        """Mean with a 95% interval by the normal approximation; None for unknown values."""
        if self.count == 0:
            return {"count": 0, "mean": None, "low": None, "high": None}
        mean = self.total / self.count
        if self.count == 1:
            return {"count": 1, "mean": mean, "low": None, "high": None}
        variance = max(0.0, self.squares - self.total * mean) / (self.count - 1)
        half = _NORMAL_95 * math.sqrt(variance / self.count)
        return {"count": self.count, "mean": mean, "low": mean - half, "high": mean + half}


class Mean(msgspec.Struct, array_like=True):
    """A mean over everything, the same mean over the last blocks, and the mean weight."""

    all: Sums = msgspec.field(default_factory=Sums)
    before: Sums = msgspec.field(default_factory=Sums)
    now: Sums = msgspec.field(default_factory=Sums)
    weights: Sums = msgspec.field(default_factory=Sums)

    def add(self, value: float, weight: float = 1.0) -> None:
        """Count a value that has already been multiplied by ``weight``."""
        self.all.add(value)
        self.weights.add(weight)
        self.now.add(value)
        if self.now.count >= BLOCK:
            self.before, self.now = self.now, Sums()

    def summary(self) -> dict[str, Any]:
        """Both means with their intervals, and the mean weight."""
        return {
            "all": self.all.summary(),
            "recent": self.before.plus(self.now).summary(),
            "coverage": self.weights.summary()["mean"],
        }


class Statistics(msgspec.Struct, array_like=True):
    """The counters of one hosted policy."""

    decisions: int = 0
    deferred: int = 0
    activations: int = 0
    closed: int = 0
    unrewarded: int = 0
    rewards: dict[str, int] = {}
    delays: list[int] = msgspec.field(default_factory=lambda: [0] * _DELAY_BINS)
    delay: Sums = msgspec.field(default_factory=Sums)
    shown: Mean = msgspec.field(default_factory=Mean)
    learner: Mean = msgspec.field(default_factory=Mean)
    baseline: Mean = msgspec.field(default_factory=Mean)
    shares_before: dict[str, int] = {}
    shares_now: dict[str, int] = {}
    in_block: int = 0
    least: float = 1.0
    least_before: float = 1.0
    least_now: float = 1.0
    calibration: Calibration = msgspec.field(default_factory=Calibration)

    def decided(self, action: str, propensity: float, *, deferred: bool) -> None:
        """Count a new decision."""
        self.decisions += 1
        self.deferred += deferred
        self.shares_now[action] = self.shares_now.get(action, 0) + 1
        self.least = min(self.least, propensity)
        self.least_now = min(self.least_now, propensity)
        self.in_block += 1
        if self.in_block >= BLOCK:
            self.shares_before, self.shares_now = self.shares_now, {}
            self.least_before, self.least_now, self.in_block = self.least_now, 1.0, 0

    def rewarded(self, known: Known, status: str, time: float) -> None:
        """Count a reward; ``known`` is the decision before the reward."""
        self.rewards[status] = self.rewards.get(status, 0) + 1
        if status in ("learned", "held") and known.reward is None:
            delay = max(0.0, time - known.time)
            self.delays[min(math.frexp(delay)[1], _DELAY_BINS - 1) if delay >= 1 else 0] += 1
            self.delay.add(delay)

    def finished(self, known: Known, reward: float | None, default: float | None) -> None:
        """Count a closed decision that was shown."""
        self.closed += 1
        self.unrewarded += reward is None
        final = default if reward is None else reward
        if final is None:
            return
        self.shown.add(final)
        self.learner.add(known.learner * final, known.learner)
        if known.baseline is not None:
            self.baseline.add(known.baseline * final, known.baseline)
        if known.prediction is not None:
            self.calibration.add(known.prediction, final)

    def summary(self) -> dict[str, Any]:
        """All statistics as plain values."""
        recent = {
            action: self.shares_before.get(action, 0) + self.shares_now.get(action, 0)
            for action in {**self.shares_before, **self.shares_now}
        }
        shown = sum(recent.values())
        return {
            "decisions": self.decisions,
            "deferred": self.deferred,
            "activations": self.activations,
            "closed": self.closed,
            "unrewarded": self.unrewarded,
            "expiry_rate": self.unrewarded / self.closed if self.closed else None,
            "rewards": dict(self.rewards),
            "delay": self.delay.summary()
            | {"bins": [0.0, *(2.0**n for n in range(_DELAY_BINS - 1))], "counts": self.delays[:]},
            "reward": {
                "shown": self.shown.summary(),
                "learner": self.learner.summary(),
                "baseline": self.baseline.summary(),
            },
            "shares": {action: count / shown for action, count in recent.items()},
            "least_propensity": {
                "all": self.least,
                "recent": min(self.least_before, self.least_now),
            },
            "calibration": self.calibration.summary(),
        }
