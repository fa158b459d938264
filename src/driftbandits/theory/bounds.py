"""Regret bounds, as functions. Each says what is proved of it.

Notation: d dimension, T horizon, B variation budget, λ ridge, σ noise, δ confidence, L bound on
actions, S bound on parameters.
"""

from __future__ import annotations

import math

from ..core.arrays import open_unit, positive, whole
from ..least_squares.radii import per_round_radius


def d_linucb_bound(
    *,
    dim: int,
    horizon: int,
    budget: float,
    gamma: float,
    ridge: float = 0.1,
    noise: float = 1.0,
    delta: float = 0.01,
    theta_bound: float = 1.0,
    action_bound: float = 1.0,
    lag: float | None = None,
) -> float:
    """The paper's Theorem 2, as it states it.

        2LDB + (4L³S/λ) γ^D/(1−γ) T + 2√2 β_T √(dT) √(T log(1/γ) + log(1 + L²/(dλ(1−γ))))

    with the analysis parameter D = ``lag``, log T/(1−γ) unless given. Its proof has two gaps: the
    first term (docs/mathematics.md, erratum 2) and the uniformity in time of β (erratum 1).
    """
    _check(dim, horizon, ridge, delta)
    open_unit("gamma", gamma)
    depth = math.log(horizon) / (1 - gamma) if lag is None else lag
    weight_square_sum = (1 - gamma ** (2 * horizon)) / (1 - gamma**2)
    beta = per_round_radius(
        dim, ridge, ridge, noise, delta, theta_bound, action_bound, weight_square_sum
    )
    drift = 2 * action_bound * depth * budget
    tail = 4 * action_bound**3 * theta_bound / ridge * gamma**depth / (1 - gamma) * horizon
    growth = horizon * math.log(1 / gamma) + math.log(
        1 + action_bound**2 / (dim * ridge * (1 - gamma))
    )
    return float(drift + tail + 2 * math.sqrt(2 * dim * horizon * growth) * beta)


def sw_linucb_bound(
    *,
    dim: int,
    horizon: int,
    budget: float,
    window: int,
    ridge: float = 0.1,
    noise: float = 1.0,
    delta: float = 0.01,
    theta_bound: float = 1.0,
    action_bound: float = 1.0,
) -> float:
    """The paper's bound for SW-LinUCB with the union radius, as its appendix states it.

        2LBl + 2√2 β_T √(dT) √⌈T/l⌉ √log(1 + L²l/(λd))

    Its first term has the gap of docs/mathematics.md, erratum 2.
    """
    _check(dim, horizon, ridge, delta)
    whole("window", window, least=1)
    seen = float(min(horizon, window))
    beta = per_round_radius(
        dim, ridge, ridge, noise, delta / horizon, theta_bound, action_bound, seen
    )
    growth = math.ceil(horizon / window) * math.log(1 + action_bound**2 * window / (ridge * dim))
    drift = 2 * action_bound * budget * window
    return float(drift + 2 * math.sqrt(2 * dim * horizon * growth) * beta)


def published_rate(*, dim: int, horizon: int, budget: float) -> float:
    """d^{2/3} B^{1/3} T^{2/3}, claimed without logarithms or constant; the proof fails."""
    return float(dim ** (2 / 3) * budget ** (1 / 3) * horizon ** (2 / 3))


def corrected_rate(*, dim: int, horizon: int, budget: float) -> float:
    """d^{7/8} B^{1/4} T^{3/4}, without logarithms or constant.

    Proved for discounting, windows and restarts alike (Zhao, Zhang, Jiang and Zhou, 2020, revised;
    Touati and Vincent, 2020); Wang, Zhao and Zhou (2023) lower the power of d to 3/4 for
    discounting.
    """
    return float(dim ** (7 / 8) * budget ** (1 / 4) * horizon ** (3 / 4))


def _check(dim: int, horizon: int, ridge: float, delta: float) -> None:
    whole("dim", dim, least=1)
    whole("horizon", horizon, least=1)
    positive("ridge", ridge)
    open_unit("delta", delta)
