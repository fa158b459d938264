"""Delays: when the reward of a round arrives, and whether it ever does.

``start(generator)`` returns a function that gives the delays of the next n rounds, shape (n,), in
rounds. A reward with delay 0 is known before the next decision. A reward with delay m arrives m
decisions later, and a reward with delay ∞ never. Delays are independent of the rewards.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isinf
from typing import Protocol

import numpy as np

from ..core.arrays import Array, open_unit, whole
from ..core.blocks import AT_ONCE, NEVER, PLAY, Arrivals

Draw = Callable[[int], Array]


class Delays(Protocol):
    """The interface of delays."""

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the delays at the first round."""


@dataclass(frozen=True)
class FixedDelay:
    """The same delay for all rewards.

    Attributes:
        rounds: The delay.
    """

    rounds: int

    def __post_init__(self) -> None:
        whole("rounds", self.rounds, least=0)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the delays at the first round."""
        return lambda rounds: np.full(rounds, float(self.rounds))


@dataclass(frozen=True)
class GeometricDelay:
    """Random delays: 1, 2, … rounds, geometric. Later rewards may overtake earlier ones.

    Attributes:
        mean: Mean delay in rounds, at least 1.
    """

    mean: float

    def __post_init__(self) -> None:
        if not 1.0 <= self.mean < inf:
            raise ValueError(f"mean must be a finite number of at least 1, got {self.mean}")

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the delays at the first round."""
        return lambda rounds: generator.geometric(1.0 / self.mean, rounds).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A share of the rewards never arrives.

    Attributes:
        share: Probability that a reward is missing.
        delays: Delays of the other rewards; by default they have none.
    """

    share: float
    delays: Delays = FixedDelay(0)

    def __post_init__(self) -> None:
        open_unit("share", self.share)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the delays at the first round."""
        # A separate stream, for the same reason as in `WithLevel`.
        draw_others = self.delays.start(generator.spawn(1)[0])

        def draw(rounds: int) -> Array:
            others = draw_others(rounds)
            return np.where(generator.random(rounds) < self.share, inf, others)

        return draw


class Schedule:
    """The order in which the rewards of a replication arrive, block by block from round 1."""

    def __init__(self) -> None:
        self._round = 0
        self._waiting: list[tuple[float, int, int]] = []  # (due, round, row)
        self._free: list[int] = []  # free rows
        self._rows = 0

    def arrivals(self, delays: Array) -> Arrivals:
        """The arrivals in the next rounds, given the delays of their rewards."""
        if not (delays >= 0).all():
            raise ValueError(f"delays must be 0 or above, got {delays[~(delays >= 0)][0]}")
        kept, steps = np.empty(len(delays), dtype=np.int64), list[int]()
        for t, delay in enumerate(delays.tolist()):
            self._round += 1
            steps.append(PLAY)
            kept[t] = self._place(delay)
            while self._waiting and self._waiting[0][0] <= self._round:
                _, _, row = heapq.heappop(self._waiting)
                steps.append(row)
                self._free.append(row)
        return Arrivals(kept, np.array(steps, dtype=np.int64), self._rows)

    def _place(self, delay: float) -> int:
        """The row in which the reward of the current round waits, or `AT_ONCE` or `NEVER`."""
        if delay == 0:
            return AT_ONCE
        if isinf(delay):
            return NEVER
        if not self._free:
            self._free.append(self._rows)
            self._rows += 1
        row = self._free.pop()
        heapq.heappush(self._waiting, (self._round + delay, self._round, row))
        return row
