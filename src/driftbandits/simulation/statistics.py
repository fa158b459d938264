"""Means with intervals, from a few independent replications."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ..core.arrays import Array


def standard_error(values: Array) -> float:
    """Standard error s/√N of the mean of N values; NaN for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def student_quantile(count: int, *, level: float = 0.95) -> float:
    """Half-width of a two-sided interval in standard errors, for a mean of ``count`` values.

    This is the quantile (1 + level)/2 of Student's t with N - 1 degrees of freedom: 12.7 for two
    values, 1.98 for a hundred. NaN for a single value, which gives no interval.

    Examples:
        >>> round(student_quantile(2), 3), round(student_quantile(100), 3)
        (12.706, 1.984)
    """
    return float(special.stdtrit(count - 1, (1.0 + level) / 2.0)) if count > 1 else math.nan


def mean_interval(mean: float, error: float, count: int) -> tuple[float, float]:
    """The 95% interval of a mean, given its standard error over ``count`` values.

    Examples:
        >>> low, high = mean_interval(10.0, 1.0, 5)
        >>> round(low, 2), round(high, 2)
        (7.22, 12.78)
    """
    half = student_quantile(count) * error
    return mean - half, mean + half
