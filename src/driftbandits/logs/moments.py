"""Moments of the numbers of rows, and what follows for means: errors, skewness, freedom."""

from __future__ import annotations

from itertools import product
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .scores import moments

# Columns of a row's numbers: one, reward, weight, weight·reward, Σπq̂, DR term.
ONE, REWARD, WEIGHT, WEIGHTED, DIRECT, ROBUST = range(6)


def _occurrences(order: int) -> Array:
    """How often each entry with ascending indices occurs in a full symmetric array."""
    out = np.zeros((6,) * order)
    for index in product(range(6), repeat=order):
        repeats = [index.count(i) for i in set(index)]
        out[index] = factorial(order) // prod(factorial(r) for r in repeats)
    return out


_PAIRS, _TRIPLES, _FOURS = (_occurrences(order) for order in (2, 3, 4))
_EPS = float(np.finfo(np.float64).eps)


class Mean(NamedTuple):
    """A mean, or a ratio of means, and how sure it is.

    ``freedom`` is (Σv)²/Σv² for the squared deviations v: how many rows the error is made of
    (Satterthwaite). Where a few rows with large weights make up all of it, it is small, and so is
    what the error itself is worth.
    """

    mean: float
    error: float
    skewness: float
    freedom: float


class Moments:
    """Moments up to the fourth of the numbers of rows, weighted by count."""

    def __init__(self) -> None:
        self.rows = 0
        # Of all but the first, entries with ascending indices alone.
        self.first, self.second, self.third, self.fourth = (np.zeros((6,) * k) for k in range(1, 5))
        self.weights, self.largest = 0.0, 0.0
        self.least_reward, self.most_reward = np.inf, -np.inf

    def add(self, numbers: Array, count: Array) -> None:
        """Further rows (n, 6)."""
        self.rows += len(numbers)
        rows = np.ascontiguousarray(numbers)
        moments(rows, count, self.first, self.second, self.third, self.fourth)
        self.weights += float((count * numbers[:, WEIGHT] ** 2).sum())
        self.largest = max(self.largest, float(numbers[:, WEIGHT].max(initial=0.0)))
        reward = numbers[:, REWARD]
        self.least_reward = min(self.least_reward, float(reward.min(initial=np.inf)))
        self.most_reward = max(self.most_reward, float(reward.max(initial=-np.inf)))

    def merge(self, other: Moments) -> None:
        """Add the rows of another."""
        self.rows += other.rows
        for mine, theirs in zip(self._sums, other._sums, strict=True):
            mine += theirs
        self.weights += other.weights
        self.largest = max(self.largest, other.largest)
        self.least_reward = min(self.least_reward, other.least_reward)
        self.most_reward = max(self.most_reward, other.most_reward)

    @property
    def _sums(self) -> tuple[Array, ...]:
        return self.first, self.second, self.third, self.fourth

    @property
    def effective(self) -> float:
        """Effective number of rows (Σw)²/Σw²."""
        return float(self.first[WEIGHT] ** 2 / self.weights) if self.weights > 0 else 0.0

    @property
    def unrewarded(self) -> bool:
        """Whether rewards occur, but in no row that the policy would have played."""
        return bool(self.second[REWARD, REWARD] > 0.0 and self.second[WEIGHTED, WEIGHTED] == 0.0)

    @property
    def constant(self) -> bool:
        """Whether all rewards are equal, so that their spread tells nothing."""
        return self.least_reward == self.most_reward

    @property
    def blurred(self) -> bool:
        """Whether rewards differ by so little for their size that rounding hides their spread."""
        centre = np.eye(6)[REWARD] - self.first[REWARD] / self.first[ONE] * np.eye(6)[ONE]
        squares = float(centre @ (self.second * _PAIRS) @ centre)
        bulk = float(np.abs(centre) @ np.abs(self.second * _PAIRS) @ np.abs(centre))
        return not self.constant and squares <= self._rounding * bulk

    @property
    def _rounding(self) -> float:
        """Relative error that sums over the rows may have."""
        return _EPS * max(self.rows, 1000)

    def mean(self, direction: Array) -> Mean:
        """Mean of a combination of the numbers."""
        total = self.first[ONE]
        mean = float(self.first @ direction / total)
        return self._mean(mean, direction - mean * np.eye(6)[ONE], total)

    def ratio(self, top: int, bottom: int) -> Mean:
        """Ratio of two means, by linearisation."""
        if self.first[bottom] <= 0.0:
            return Mean(float("nan"), float("nan"), 0.0, 0.0)
        ratio = float(self.first[top] / self.first[bottom])
        return self._mean(ratio, np.eye(6)[top] - ratio * np.eye(6)[bottom], self.first[bottom])

    def _mean(self, mean: float, centre: Array, total: float) -> Mean:
        """With rows as units; ``centre`` takes the numbers of a row to its deviation."""
        if self.rows < 2:
            return Mean(mean, float("nan"), 0.0, 0.0)
        squares = max(float(centre @ (self.second * _PAIRS) @ centre), 0.0)
        threes = self.third * _TRIPLES
        cubes = float(np.einsum("ijk,i,j,k", threes, *[centre] * 3))
        solid = float(np.einsum("ijk,i,j,k", np.abs(threes), *[np.abs(centre)] * 3))
        fours = self.fourth * _FOURS
        fourths = float(np.einsum("ijkl,i,j,k,l", fours, *[centre] * 4))
        bulk = float(np.einsum("ijkl,i,j,k,l", np.abs(fours), *[np.abs(centre)] * 4))
        error = float(np.sqrt(squares * self.rows / (self.rows - 1)) / total)
        # Means far above their spread leave nothing but rounding of the third and fourth moments.
        skewed = squares > 0.0 and abs(cubes) > self._rounding * solid
        skewness = cubes / squares**1.5 if skewed else 0.0
        known = fourths > max(1e-10 * bulk, squares**2 / self.rows)
        return Mean(mean, error, skewness, squares**2 / fourths if known else float(self.rows))
