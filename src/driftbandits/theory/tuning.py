"""Discount, window and restart length from the variation budget B, the dimension d and horizon T.

There are three rules. Each minimises a bound, up to constants and logarithms:

    "paper"      d^{2/3} B^{1/3} T^{2/3}             as published; the proof fails
    "corrected"  d^{3/4} B^{1/4} T^{3/4} + d√T       at λ = d; Wang, Zhao and Zhou (AISTATS 2023)
    "refined"    d^{5/8} B^{1/4} T^{3/4} + d√T       at λ = d; docs/explanation/mathematics.md

The last two need a radius that holds at all T rounds, such as the per-round radius at δ/T. If B is
unknown, leave it out: the rules then use B = 1. For B = 0 they remember the whole horizon.
"""

from __future__ import annotations

import math
from typing import Literal

from ..core.arrays import non_negative, one_of, whole

Tuning = Literal["paper", "corrected", "refined"]
TUNINGS: tuple[Tuning, ...] = ("paper", "corrected", "refined")


def discount(
    *, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper"
) -> float:
    """The discount γ for a variation budget.

        paper       1 − γ = (B/(dT))^{2/3}
        corrected   1 − γ = max(1/T, √(B/(dT)))
        refined     1 − γ = max(1/T, d^{−3/4} √(B/T))

    Examples:
        >>> round(discount(dim=2, horizon=6000, budget=1.5708), 6)
        0.997422
    """
    forgotten = _forgotten(dim, horizon, budget, tuning)
    if forgotten < 1:
        return 1 - forgotten
    if horizon == 1:
        raise ValueError("horizon must be above 1 for a discount to exist, got 1")
    limit = dim**1.5 * horizon if tuning == "refined" else dim * horizon
    raise ValueError(f"budget must be below {limit:g} for a discount to exist, got {budget}")


def window(*, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper") -> int:
    """The window l for a variation budget, to the nearest integer.

        paper       l = (dT/B)^{2/3}
        corrected   l = min(T, √(dT/B))
        refined     l = min(T, d^{3/4} √(T/B))

    Examples:
        >>> window(dim=2, horizon=6000, budget=1.5708)
        388
        >>> window(dim=2, horizon=6000, budget=1.5708, tuning="corrected")
        87
    """
    return max(1, round(1 / _forgotten(dim, horizon, budget, tuning)))


def restart_length(
    *, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper"
) -> int:
    """The rounds H between two restarts for a variation budget: the same rules as for `window`."""
    return window(dim=dim, horizon=horizon, budget=budget, tuning=tuning)


def corrected_ridge(*, dim: int) -> float:
    """λ = d, the ridge for the corrected and the refined rules."""
    whole("dim", dim, least=1)
    return float(dim)


def with_ridge(ridge: float, *, dim: int, tuning: Tuning) -> float:
    """λ = d for the corrected and the refined tuning, and ``ridge`` for the paper's."""
    return ridge if tuning == "paper" else corrected_ridge(dim=dim)


def _forgotten(dim: int, horizon: int, budget: float | None, tuning: Tuning) -> float:
    """The share that is forgotten per round: 1 − γ, 1/l or 1/H."""
    whole("dim", dim, least=1)
    whole("horizon", horizon, least=1)
    one_of("tuning", tuning, TUNINGS)
    drift = 1.0 if budget is None else budget
    non_negative("budget", drift)
    if drift == 0:
        return 1 / horizon
    if tuning == "paper":
        return float((drift / (dim * horizon)) ** (2 / 3))
    size = dim**1.5 if tuning == "refined" else dim
    return max(1 / horizon, math.sqrt(drift / (size * horizon)))
