"""Discount, window and restart length from the variation budget B, the dimension d and horizon T.

The published rules aim at a regret of d^{2/3} B^{1/3} T^{2/3}, whose proof fails
(docs/mathematics.md, erratum 2). The corrected ones aim at the rate that is proved,
d^{7/8} B^{1/4} T^{3/4} (Wang, Zhao and Zhou, AISTATS 2023). Where B is not known, leave it out:
the rules then use B = 1. For B = 0 they remember the whole horizon.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from ..core.arrays import non_negative, one_of, whole

Tuning = Literal["paper", "corrected"]
TUNINGS: tuple[Tuning, ...] = ("paper", "corrected")


def discount(
    *, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper"
) -> float:
    """γ = 1 − (B/(dT))^{2/3} as published, γ = 1 − max(1/T, √(B/(dT))) corrected.

    Examples:
        >>> round(discount(dim=2, horizon=6000, budget=1.5708), 6)
        0.997422
    """
    ratio = _ratio(dim, horizon, budget, tuning)
    if tuning == "corrected" or budget == 0:
        forgotten = max(1 / horizon, math.sqrt(ratio))
    else:
        forgotten = ratio ** (2 / 3)
    if forgotten >= 1:
        if ratio < 1:
            raise ValueError(f"horizon must be above 1 for a discount to exist, got {horizon}")
        raise ValueError(
            f"budget must be below dim * horizon = {dim * horizon} for a discount to exist, "
            f"got {budget}"
        )
    return 1 - forgotten


def window(*, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper") -> int:
    """l = (dT/B)^{2/3} as published, d^{1/4} √(T/(1 + B)) corrected, to the nearest integer.

    Examples:
        >>> window(dim=2, horizon=6000, budget=1.5708)
        388
    """
    ratio = _ratio(dim, horizon, budget, tuning)
    if budget == 0:
        return horizon
    length = ratio ** (-2 / 3) if tuning == "paper" else _corrected_length(dim, horizon, budget)
    return max(1, round(length))


def restart_length(
    *, dim: int, horizon: int, budget: float | None = None, tuning: Tuning = "paper"
) -> int:
    """H = (dT/B)^{2/3} as published, d^{1/4} √(T/(1 + B)) corrected: the same as the window's."""
    return window(dim=dim, horizon=horizon, budget=budget, tuning=tuning)


def corrected_ridge(*, dim: int) -> float:
    """λ = d, which the corrected rules go with."""
    whole("dim", dim, least=1)
    return float(dim)


def with_ridge(options: dict[str, Any], *, dim: int, tuning: Tuning) -> dict[str, Any]:
    """A policy's options, with λ = d where the tuning is corrected and they name no ridge."""
    if tuning == "corrected":
        return {"ridge": corrected_ridge(dim=dim), **options}
    return options


def _corrected_length(dim: int, horizon: int, budget: float | None) -> float:
    return float(dim**0.25) * math.sqrt(horizon / (1 + (1.0 if budget is None else budget)))


def _ratio(dim: int, horizon: int, budget: float | None, tuning: str) -> float:
    whole("dim", dim, least=1)
    whole("horizon", horizon, least=1)
    one_of("tuning", tuning, TUNINGS)
    if budget is not None:
        non_negative("budget", budget)
    return (1.0 if budget is None else budget) / (dim * horizon)
