"""The yardsticks that regrets are divided by: D-LinUCB with the best settings in hindsight."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..policies import Problem
from ..simulation import Result
from ..simulation.statistics import mean_interval, standard_error
from .contestants import fixed_discounts, scaled_radii

# The names of the two yardsticks in tables.
BEST_FIXED, TUNED_TWICE = "best fixed discount", "tuned twice"


class Yardsticks(NamedTuple):
    """Labels of the contestants with the least mean regret."""

    fixed: str  # among `fixed_discounts`: the best memory, at the theorem's radius
    twice: str  # among `fixed_discounts` and `scaled_radii`: the best memory and radius


def yardsticks(result: Result, problem: Problem) -> Yardsticks:
    """The yardsticks of ``result``, which must contain all reference policies.

    They are chosen after the regrets are known. So they look slightly better than they are, and all
    other policies look slightly worse.
    """
    fixed = tuple(fixed_discounts(problem))
    return Yardsticks(_least(result, fixed), _least(result, [*fixed, *scaled_radii(problem)]))


class Relative(NamedTuple):
    """A ratio of mean regrets, with its uncertainty."""

    ratio: float
    low: float  # ends of the 95% interval
    high: float
    shares: Array  # (N,), contribution of each replication to the log ratio, times N


def relative(values: Array, base: Array) -> Relative:
    """mean(values) / mean(base) of paired samples (N,), with an interval by the delta method."""
    ratio, error = ratio_of_means(values, base)
    low, high = mean_interval(ratio, error, len(values))
    known = base.mean() > 0 and values.mean() > 0
    shares = (values / ratio - base) / base.mean() if known else np.full(len(values), math.nan)
    return Relative(ratio, low, high, shares)


def ratio_of_means(values: Array, base: Array) -> tuple[float, float]:
    """mean(values) / mean(base) of paired samples, and its standard error by the delta method.

    Over a few rounds the mean of ``base`` may be zero. Then the ratio is 1 or ∞ and the error NaN.
    """
    if base.mean() == 0:
        return math.inf if values.mean() > 0 else 1.0, math.nan
    ratio = float(values.mean() / base.mean())
    return ratio, standard_error(values - ratio * base) / float(base.mean())


def geometric_mean(ratios: Iterable[float], shares: Iterable[Array]) -> tuple[float, float, float]:
    """Geometric mean of ratios, and the ends of its 95% interval.

    Environments share the noise of a replication, so their ratios are not independent. But the
    contributions of different replications to the mean logarithm are independent. ``shares`` holds
    these contributions, one array (N,) per ratio.
    """
    middle = float(np.mean(np.log(list(ratios))))
    added = np.mean(list(shares), axis=0)
    low, high = mean_interval(middle, standard_error(added), len(added))
    return float(np.exp(middle)), float(np.exp(low)), float(np.exp(high))


def _least(result: Result, labels: Iterable[str]) -> str:
    """The label with the least mean regret."""
    return min(labels, key=lambda label: float(result.final(label).mean()))
