"""What regrets are divided by: D-LinUCB as good as it could have been, in hindsight."""

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

# What tables call the two.
BEST_FIXED, TUNED_TWICE = "best fixed discount", "tuned twice"


class Yardsticks(NamedTuple):
    """Labels of the contestants of least mean regret."""

    fixed: str  # among `fixed_discounts`: the best memory, at the theorem's radius
    twice: str  # among these and `scaled_radii`: the best memory and radius


def yardsticks(result: Result, problem: Problem) -> Yardsticks:
    """The best of those who play in ``result``, which has all that are tuned in hindsight.

    They are picked after the regrets are known, so they look a little better than they are: to the
    disadvantage of everyone else.
    """
    fixed = tuple(fixed_discounts(problem))
    return Yardsticks(_least(result, fixed), _least(result, [*fixed, *scaled_radii(problem)]))


class Relative(NamedTuple):
    """A ratio of mean regrets, and how sure it is."""

    ratio: float
    low: float  # ends of the 95% interval
    high: float
    shares: Array  # (N,), what each replication adds to log ratio, times N


def relative(values: Array, base: Array) -> Relative:
    """mean(values) / mean(base) of paired samples (N,), with an interval by the delta method."""
    ratio, error = ratio_of_means(values, base)
    low, high = mean_interval(ratio, error, len(values))
    known = base.mean() > 0 and values.mean() > 0
    shares = (values / ratio - base) / base.mean() if known else np.full(len(values), math.nan)
    return Relative(ratio, low, high, shares)


def ratio_of_means(values: Array, base: Array) -> tuple[float, float]:
    """mean(values) / mean(base) of paired samples, and its standard error by the delta method.

    Regrets of zero are possible, over a few rounds: the ratio to them is 1 or ∞, without an error.
    """
    if base.mean() == 0:
        return math.inf if values.mean() > 0 else 1.0, math.nan
    ratio = float(values.mean() / base.mean())
    return ratio, standard_error(values - ratio * base) / float(base.mean())


def geometric_mean(ratios: Iterable[float], shares: Iterable[Array]) -> tuple[float, float, float]:
    """Geometric mean of ratios, and the ends of its 95% interval.

    Environments share the noise of a replication, so their ratios are not independent. What a
    replication adds to the mean logarithm, over all environments, is: ``shares`` has an array (N,)
    for each of the ratios.
    """
    middle = float(np.mean(np.log(list(ratios))))
    added = np.mean(list(shares), axis=0)
    low, high = mean_interval(middle, standard_error(added), len(added))
    return float(np.exp(middle)), float(np.exp(low)), float(np.exp(high))


def _least(result: Result, labels: Iterable[str]) -> str:
    """Who has the least mean regret."""
    return min(labels, key=lambda label: float(result.final(label).mean()))
