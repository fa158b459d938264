"""Intervals for means: Student's t for a period, and an interval that holds at all times at once.

The second is the empirical Bernstein confidence sequence of Waudby-Smith, Wu, Ramdas,
Karampatziakis and Mineiro (arXiv 2210.10768), mixed over a grid of bets λ. For X_i ≥ 0 with
conditional means μ_i that may change, and predictions X̂_i ≤ 1 made before X_i is seen,

    Σ_k π_k exp(λ_k Σ(X_i − μ_i) − ψ(λ_k) Σ(X_i − X̂_i)²),    ψ(λ) = −log(1 − λ) − λ,

is a supermartingale that starts at 1. So the probability that it ever exceeds 1/α is at most α
(Ville), which bounds the mean of the μ_i from below. Importance weighting of a reward in [0, 1]
gives X = w r with mean v and X = w (1 − r) with mean 1 − v: bounds on both sides. Weights need no
bound, and loggers may adapt.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..core.arrays import Array

_BETS = np.geomspace(1e-5, 0.95, 60)
_COSTS = -np.log1p(-_BETS) - _BETS
_FEW = 30.0


def t_interval(
    mean: float, error: float, effective: float, skewness: float = 0.0, level: float = 0.95
) -> tuple[float, float]:
    """Student's t interval, corrected for the skewness of the mean (Hall, 1992).

    ``effective`` is the effective number of rows. ``skewness`` is Σ(x − x̄)³/(Σ(x − x̄)²)^{3/2},
    which goes to 0 as 1/√n. Rare rewards with large weights are skewed to the right, and the
    interval reaches further on that side. With fewer than 30 rows the skewness is uncertain too.
    Then each end is the wider one of the corrected and the uncorrected interval.
    """
    if not (np.isfinite(error) and effective > 1.0):
        return float("nan"), float("nan")
    reach = float(special.stdtrit(max(effective - 1.0, 1.0), 0.5 + 0.5 * level))
    upper, lower = _unskewed(np.array([reach, -reach]), skewness)
    if effective < _FEW:
        upper, lower = max(upper, reach), min(lower, -reach)
    return float(mean - error * upper), float(mean - error * lower)


def _unskewed(quantiles: Array, skewness: float) -> Array:
    """Quantiles of the t statistic of a skewed mean, from the quantiles of a symmetric one."""
    if abs(skewness) < 1e-6:
        return quantiles
    inner = 1.0 + skewness * (quantiles - skewness / 6.0)
    return np.asarray(3.0 / skewness * (np.cbrt(inner) - 1.0))


class LowerBound:
    """Lower confidence sequence for the running mean of the means of X_i ≥ 0."""

    def __init__(self) -> None:
        self.count, self.total, self.squares = 0, 0.0, 0.0

    def add(self, values: Array) -> None:
        """Further X, in order."""
        if len(values) == 0:
            return
        before = self.total + np.concatenate([[0.0], np.cumsum(values)[:-1]])
        seen = self.count + np.arange(len(values))
        # Predictions: the mean so far, pulled towards ½ at first, and at most 1.
        guesses = np.minimum((before + 0.5) / (seen + 1.0), 1.0)
        self.squares += float(((values - guesses) ** 2).sum())
        self.total += float(values.sum())
        self.count += len(values)

    def bound(self, alpha: float) -> float:
        """The bound now, at error probability ``alpha`` over all times."""
        if self.count == 0:
            return 0.0
        # The excess S at which the mixture reaches 1/α, by bisection; it grows with S.
        target = np.log(len(_BETS) / alpha)
        low, high = 0.0, 1.0
        while self._log_mixture(high) < target:
            high *= 2.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._log_mixture(middle) < target else (low, middle)
        return max(0.0, (self.total - high) / self.count)

    def _log_mixture(self, excess: float) -> float:
        exponents = _BETS * excess - _COSTS * self.squares
        top = float(exponents.max())
        return top + float(np.log(np.exp(exponents - top).sum()))


class Anytime:
    """Two-sided confidence sequence for the value of a policy, for rewards in [least, largest]."""

    def __init__(self, bounds: tuple[float, float]) -> None:
        self.least, self.largest = bounds
        self._below, self._above = LowerBound(), LowerBound()

    def add(self, weights: Array, rewards: Array) -> None:
        """Further rows, in order: weights π/p and rewards."""
        scaled = (rewards - self.least) / (self.largest - self.least)
        self._below.add(weights * scaled)
        self._above.add(weights * (1.0 - scaled))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval now."""
        alpha = 0.5 * (1.0 - level)
        low, high = self._below.bound(alpha), 1.0 - self._above.bound(alpha)
        span = self.largest - self.least
        return self.least + span * low, self.least + span * high
