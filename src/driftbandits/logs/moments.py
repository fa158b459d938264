"""Moments of the rows' numbers; means with their errors, skewness and degrees of freedom.

A row's numbers are 1, r, w, wr, Σπq̂, DR. Rewards may lie far from 0, such as 1,000,000 ± 0.3. So
the sums are of numbers relative to the first reward s and to a weight of 1:

    1,   r − s,   w − 1,   wr − r − s (w − 1) = (w − 1)(r − s),   Σπq̂ − s,   DR − s.

This is linear, so sums relative to one reward can be turned into sums relative to another.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .scores import moments

# Columns of a row's numbers: one, reward, weight, weight·reward, Σπq̂, DR term.
ONE, REWARD, WEIGHT, WEIGHTED, DIRECT, ROBUST = range(6)


def _occurrences(order: int) -> Array:
    """For ascending indices, how often the entry occurs in a full symmetric array; 0 elsewhere."""
    out = np.zeros((6,) * order)
    for index in combinations_with_replacement(range(6), order):
        repeats = [index.count(i) for i in set(index)]
        out[index] = factorial(order) // prod(factorial(r) for r in repeats)
    return out


_PAIRS, _TRIPLES, _FOURS = (_occurrences(order) for order in (2, 3, 4))
_EPS = float(np.finfo(np.float64).eps)


def _from(shift: float) -> Array:
    """The matrix that makes a row's numbers relative to the reward ``shift``, shape (6, 6)."""
    out = np.eye(6)
    out[[REWARD, DIRECT, ROBUST], ONE] = -shift
    out[WEIGHT, ONE] = -1.0
    out[WEIGHTED, [ONE, REWARD, WEIGHT]] = shift, -1.0, -shift
    return out


def _to(shift: float) -> Array:
    """The inverse of `_from`."""
    out = np.eye(6)
    out[[REWARD, DIRECT, ROBUST], ONE] = shift
    out[WEIGHT, ONE] = 1.0
    out[WEIGHTED, [ONE, REWARD, WEIGHT]] = shift, 1.0, shift
    return out


class Mean(NamedTuple):
    """A mean, or a ratio of means, and how certain it is.

    ``freedom`` is (Σv)²/Σv² for the squared deviations v: the effective number of rows in the error
    (Satterthwaite). It is small if a few rows with large weights dominate; then the error itself is
    uncertain.
    """

    mean: float
    error: float
    skewness: float
    freedom: float


class Moments:
    """Moments up to the fourth of the numbers of rows, weighted by count."""

    def __init__(self) -> None:
        self.rows = 0
        # Sums are relative to the first reward. An outlier there does no harm, since an outlier is
        # as far from the mean anyway.
        self._shift: float | None = None
        # Orders 1 to 4; only entries with ascending indices are filled.
        self._sums = tuple(np.zeros((6,) * order) for order in range(1, 5))
        self.weights, self.largest = 0.0, 0.0
        self.least_reward, self.most_reward = np.inf, -np.inf
        self._earned = False

    def add(self, numbers: Array, count: Array) -> None:
        """Further rows (n, 6)."""
        if len(numbers) == 0:
            return
        if self._shift is None:
            self._shift = float(numbers[0, REWARD])
        self.rows += len(numbers)
        moments(_relative(numbers, self._shift), count, *self._sums)
        self.weights += float((count * numbers[:, WEIGHT] ** 2).sum())
        self.largest = max(self.largest, float(numbers[:, WEIGHT].max()))
        reward = numbers[:, REWARD]
        self.least_reward = min(self.least_reward, float(reward.min()))
        self.most_reward = max(self.most_reward, float(reward.max()))
        self._earned = self._earned or bool(numbers[:, WEIGHTED].any())

    def merge(self, other: Moments) -> None:
        """Add the rows of another."""
        if other._shift is None:
            return
        if self._shift is None:
            self._shift = other._shift
        self.rows += other.rows
        moved = _moved(other._sums, other._shift - self._shift)
        for mine, theirs in zip(self._sums, moved, strict=True):
            mine += theirs
        self.weights += other.weights
        self.largest = max(self.largest, other.largest)
        self.least_reward = min(self.least_reward, other.least_reward)
        self.most_reward = max(self.most_reward, other.most_reward)
        self._earned = self._earned or other._earned

    @property
    def count(self) -> float:
        """Σ count: the number of decisions."""
        return float(self._sums[0][ONE])

    @property
    def sums(self) -> Array:
        """Σ count·numbers, shape (6,)."""
        return np.asarray(_to(self._shift or 0.0) @ self._sums[0])

    @property
    def effective(self) -> float:
        """Effective number of rows (Σw)²/Σw²."""
        return float(self.sums[WEIGHT] ** 2 / self.weights) if self.weights > 0 else 0.0

    @property
    def unrewarded(self) -> bool:
        """Whether rewards occur, but in no row that the policy would have played."""
        return not self._earned and (self.least_reward < 0.0 or self.most_reward > 0.0)

    @property
    def constant(self) -> bool:
        """Whether all rewards are equal, so that they have no spread."""
        return self.least_reward == self.most_reward

    @property
    def blurred(self) -> bool:
        """Whether rewards differ so little, relative to their size, that rounding hides it."""
        size = max(abs(self.least_reward), abs(self.most_reward))
        return not self.constant and self.most_reward - self.least_reward <= 1e4 * _EPS * size

    @property
    def _rounding(self) -> float:
        """Relative error that sums over the rows may have."""
        return _EPS * max(self.rows, 1000)

    def mean(self, direction: Array) -> Mean:
        """Mean of a combination of the numbers."""
        inner = direction @ _to(self._shift or 0.0)
        rest, constant = np.where(np.arange(6) == ONE, 0.0, inner), float(inner[ONE])
        mean = float(self._sums[0] @ rest / self.count)
        return self._mean(constant + mean, rest - mean * np.eye(6)[ONE], self.count)

    def snips(self) -> Mean:
        """Σ wr / Σ w, by linearisation."""
        shift, weight = self._shift or 0.0, _to(0.0)[WEIGHT]
        total = float(weight @ self._sums[0])
        if total <= 0.0:
            return Mean(float("nan"), float("nan"), 0.0, 0.0)
        rest = np.eye(6)[WEIGHTED] + np.eye(6)[REWARD]  # w (r − s)
        mean = float(rest @ self._sums[0] / total)
        return self._mean(shift + mean, rest - mean * weight, total)

    def _mean(self, mean: float, centre: Array, total: float) -> Mean:
        """A `Mean` with rows as units; ``centre`` maps the numbers of a row to its deviation."""
        if self.rows < 2:
            return Mean(mean, float("nan"), 0.0, 0.0)
        _, second, third, fourth = self._sums
        squares = max(float(centre @ (second * _PAIRS) @ centre), 0.0)
        threes = third * _TRIPLES
        cubes = float(np.einsum("ijk,i,j,k", threes, *[centre] * 3))
        solid = float(np.einsum("ijk,i,j,k", np.abs(threes), *[np.abs(centre)] * 3))
        fours = fourth * _FOURS
        fourths = float(np.einsum("ijkl,i,j,k,l", fours, *[centre] * 4))
        bulk = float(np.einsum("ijkl,i,j,k,l", np.abs(fours), *[np.abs(centre)] * 4))
        error = float(np.sqrt(squares * self.rows / (self.rows - 1)) / total)
        # If the mean is far above the spread, third and fourth moments are nothing but rounding.
        skewed = squares > 0.0 and abs(cubes) > self._rounding * solid
        skewness = cubes / squares**1.5 if skewed else 0.0
        known = fourths > max(1e-10 * bulk, squares**2 / self.rows)
        return Mean(mean, error, skewness, squares**2 / fourths if known else float(self.rows))


def _relative(numbers: Array, shift: float) -> Array:
    """Numbers (n, 6) relative to a reward: like `_from`, but without cancellation."""
    out = numbers.copy()
    out[:, REWARD] -= shift
    out[:, WEIGHT] -= 1.0
    out[:, WEIGHTED] = numbers[:, WEIGHTED] - numbers[:, REWARD] - shift * out[:, WEIGHT]
    out[:, DIRECT] -= shift
    out[:, ROBUST] -= shift
    return out


def _moved(sums: tuple[Array, ...], by: float) -> tuple[Array, ...]:
    """Sums relative to a reward that is lower by ``by``; only ascending entries are valid."""
    if by == 0.0:
        return sums
    change = _from(-by) @ _to(0.0)
    first, second, third, fourth = (_whole(part) for part in sums)
    return (
        change @ first,
        np.einsum("ai,bj,ij", *[change] * 2, second),
        np.einsum("ai,bj,ck,ijk", *[change] * 3, third, optimize=True),
        np.einsum("ai,bj,ck,dm,ijkm", *[change] * 4, fourth, optimize=True),
    )


def _whole(ascending: Array) -> Array:
    """The full symmetric array, from its entries with ascending indices."""
    return np.asarray(ascending[tuple(np.sort(np.indices(ascending.shape), axis=0))])
