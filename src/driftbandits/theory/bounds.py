"""Regret bounds as functions. Each docstring names the conditions, and where the proof is.

Notation: d dimension, T horizon, B variation budget, Γ number of changes, λ ridge, σ noise, δ
probability that the bound fails, L bound on ‖a‖, S bound on ‖θ‖, M bound on |⟨a, θ⟩|.

`d_linucb_bound` and `sw_linucb_bound` are the paper's bounds; their proofs have gaps.
`d_linucb_proved_bound` and `sw_linucb_proved_bound` are proved in docs/explanation/mathematics.md.
"""

from __future__ import annotations

import math

from ..core.arrays import non_negative, open_unit, positive, whole
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
    mean_bound: float | None = None,
    lag: int | None = None,
) -> float:
    """The paper's Theorem 2 for D-LinUCB, with the repair of erratum 5.

        2LDB + (4L³S/λ) γ^D/(1−γ) T
        + 2√2 max(M, β_T) √(dT) √(T log(1/γ) + log(1 + L²/(dλ(1−γ))))

    D is ``lag``, by default ⌈log T/(1−γ)⌉. M is ``mean_bound``, a bound on |⟨a, θ⟩|, by default
    LS; the paper assumes 1.

    Not proved in general: the first term (docs/explanation/mathematics.md, erratum 2) and the
    uniformity in time of β (erratum 1). Proved for the canonical actions ±e₁, …, ±e_d, with
    probability 1 − Tδ. `d_linucb_proved_bound` holds for all actions.
    """
    _check(dim, horizon, ridge, delta, theta_bound, action_bound)
    non_negative("budget", budget)
    depth = _lag(horizon, gamma, lag)
    beta = _discounted_radius(dim, horizon, gamma, ridge, noise, delta, theta_bound, action_bound)
    drift = 2 * action_bound * depth * budget
    tail = _tail(horizon, gamma, ridge, theta_bound, action_bound, depth)
    growth = _discounted_growth(dim, horizon, gamma, ridge, action_bound)
    largest = max(_mean_bound(mean_bound, theta_bound, action_bound), beta)
    return float(drift + tail + 2 * math.sqrt(2 * dim * horizon * growth) * largest)


def d_linucb_proved_bound(
    *,
    dim: int,
    horizon: int,
    gamma: float,
    budget: float | None = None,
    changes: int | None = None,
    ridge: float = 0.1,
    noise: float = 1.0,
    delta: float = 0.01,
    theta_bound: float = 1.0,
    action_bound: float = 1.0,
    mean_bound: float | None = None,
    lag: int | None = None,
) -> float:
    """A bound for ``DLinUCB(delta=δ/T)`` that holds with probability 1 − δ.

        bias + 2√2 max(M, β_T) √(dT) √(T log(1/γ) + log(1 + L²/(dλ(1−γ))))

    with β_T at δ/T. If both B and Γ are given, the smaller bias counts:

        bias = 2L²B (1 + √γ) / (√λ (1−γ)^{3/2})               for a budget B
        bias = 2MDΓ + (4L³S/λ) γ^D/(1−γ) T                    for Γ changes

    Conditions: those of docs/explanation/mathematics.md, with every reward on time. The first bias
    is ours. The second is by the argument of Russac, Cappé and Garivier (2020). Both proofs are on
    that page.

    Args:
        dim: d.
        horizon: T.
        gamma: Discount γ in (0, 1).
        budget: B, a bound on Σ ‖θ_{t+1} − θ_t‖.
        changes: Γ, a bound on the number of rounds t with θ_{t+1} ≠ θ_t.
        ridge: λ.
        noise: σ.
        delta: Probability δ that the bound fails; the policy runs with δ/T.
        theta_bound: S.
        action_bound: L.
        mean_bound: M, a bound on |⟨a, θ⟩|; by default LS.
        lag: D ≥ 1, the rounds after a change that count as lost; by default ⌈log T/(1−γ)⌉.
    """
    _check(dim, horizon, ridge, delta, theta_bound, action_bound)
    _check_drift(budget, changes)
    depth = _lag(horizon, gamma, lag)
    largest = _mean_bound(mean_bound, theta_bound, action_bound)
    beta = _discounted_radius(
        dim, horizon, gamma, ridge, noise, delta / horizon, theta_bound, action_bound
    )
    bias = math.inf
    if budget is not None:
        spread = (1 + math.sqrt(gamma)) / (1 - gamma) ** 1.5
        bias = 2 * action_bound**2 * budget * spread / math.sqrt(ridge)
    if changes is not None:
        tail = _tail(horizon, gamma, ridge, theta_bound, action_bound, depth)
        bias = min(bias, 2 * largest * depth * changes + tail)
    growth = _discounted_growth(dim, horizon, gamma, ridge, action_bound)
    return float(bias + 2 * math.sqrt(2 * dim * horizon * growth) * max(largest, beta))


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
    mean_bound: float | None = None,
) -> float:
    """The paper's bound for SW-LinUCB with the union radius, with the repair of erratum 5.

        2LBl + 2√2 max(M, β_T) √(dT) √⌈T/l⌉ √log(1 + L²l/(λd))

    M is ``mean_bound``, a bound on |⟨a, θ⟩|, by default LS; the paper assumes 1.

    Not proved in general: the first term (docs/explanation/mathematics.md, erratum 2). Proved for
    the canonical actions ±e₁, …, ±e_d. `sw_linucb_proved_bound` holds for all actions.
    """
    _check(dim, horizon, ridge, delta, theta_bound, action_bound)
    non_negative("budget", budget)
    largest = _mean_bound(mean_bound, theta_bound, action_bound)
    variance = _window_variance(
        dim, horizon, window, ridge, noise, delta, theta_bound, action_bound, largest
    )
    return float(2 * action_bound * budget * window + variance)


def sw_linucb_proved_bound(
    *,
    dim: int,
    horizon: int,
    window: int,
    budget: float | None = None,
    changes: int | None = None,
    ridge: float = 0.1,
    noise: float = 1.0,
    delta: float = 0.01,
    theta_bound: float = 1.0,
    action_bound: float = 1.0,
    mean_bound: float | None = None,
) -> float:
    """A bound for ``SWLinUCB(confidence="union", horizon=T)`` that holds with probability 1 − δ.

        bias + 2√2 max(M, β_T) √(dT) √⌈T/l⌉ √log(1 + L²l/(λd))

    If both B and Γ are given, the smaller bias counts:

        bias = (2L²B/√λ) (⅔ l^{3/2} + ½ l^{1/2})              for a budget B
        bias = 2MlΓ                                           for Γ changes

    It also holds for ``RestartUCB(length=l, delta=δ/⌈T/l⌉)``. Conditions and arguments are as in
    `d_linucb_proved_bound`.
    """
    _check(dim, horizon, ridge, delta, theta_bound, action_bound)
    _check_drift(budget, changes)
    largest = _mean_bound(mean_bound, theta_bound, action_bound)
    variance = _window_variance(
        dim, horizon, window, ridge, noise, delta, theta_bound, action_bound, largest
    )
    bias = math.inf
    if budget is not None:
        spread = 2 / 3 * window**1.5 + math.sqrt(window) / 2
        bias = 2 * action_bound**2 * budget * spread / math.sqrt(ridge)
    if changes is not None:
        bias = min(bias, 2 * largest * window * changes)
    return float(bias + variance)


def published_rate(*, dim: int, horizon: int, budget: float) -> float:
    """d^{2/3} B^{1/3} T^{2/3}, without logarithms or constant.

    Claimed for D-LinUCB, SW-LinUCB and RestartUCB, but the proof fails
    (docs/explanation/mathematics.md, erratum 2). It is proved for canonical actions. For other
    algorithms, a rate of the same order in T is proved.
    """
    _check_rate(dim, horizon, budget)
    return float(dim ** (2 / 3) * budget ** (1 / 3) * horizon ** (2 / 3))


def corrected_rate(*, dim: int, horizon: int, budget: float) -> float:
    """d^{3/4} B^{1/4} T^{3/4} + d√T, without logarithms or constant.

    Conditions: λ = d, the corrected tuning, and a radius that holds at all T rounds. Wang, Zhao and
    Zhou (2023) prove it for LB-WeightUCB. For D-LinUCB, SW-LinUCB and RestartUCB it follows from
    the proof in docs/explanation/mathematics.md.
    """
    _check_rate(dim, horizon, budget)
    return float(dim**0.75 * budget**0.25 * horizon**0.75 + dim * math.sqrt(horizon))


def refined_rate(*, dim: int, horizon: int, budget: float) -> float:
    """d^{5/8} B^{1/4} T^{3/4} + d√T, without logarithms or constant.

    Proved in docs/explanation/mathematics.md for D-LinUCB, LB-WeightUCB, SW-LinUCB and RestartUCB,
    at λ = d, the refined tuning and a radius that holds at all T rounds.
    """
    _check_rate(dim, horizon, budget)
    return float(dim**0.625 * budget**0.25 * horizon**0.75 + dim * math.sqrt(horizon))


def _discounted_radius(
    dim: int,
    horizon: int,
    gamma: float,
    ridge: float,
    noise: float,
    delta: float,
    theta_bound: float,
    action_bound: float,
) -> float:
    """β_T of D-LinUCB with every reward on time."""
    squares = (1 - gamma ** (2 * horizon)) / (1 - gamma**2)
    return float(
        per_round_radius(dim, ridge, ridge, noise, delta, theta_bound, action_bound, squares)
    )


def _discounted_growth(
    dim: int, horizon: int, gamma: float, ridge: float, action_bound: float
) -> float:
    """T log(1/γ) + log(1 + L²/(dλ(1−γ))), which bounds log(det V_T / λ^d)/d."""
    memory = math.log(1 + action_bound**2 / (dim * ridge * (1 - gamma)))
    return horizon * math.log(1 / gamma) + memory


def _tail(
    horizon: int,
    gamma: float,
    ridge: float,
    theta_bound: float,
    action_bound: float,
    depth: int,
) -> float:
    """(4L³S/λ) γ^D/(1−γ) T: the bias from rounds more than D ago."""
    kept = gamma**depth / (1 - gamma)
    return 4 * action_bound**3 * theta_bound / ridge * kept * horizon


def _window_variance(
    dim: int,
    horizon: int,
    window: int,
    ridge: float,
    noise: float,
    delta: float,
    theta_bound: float,
    action_bound: float,
    mean_bound: float,
) -> float:
    """2√2 max(M, β_T) √(dT) √⌈T/l⌉ √log(1 + L²l/(λd)), with β_T at δ/T."""
    whole("window", window, least=1)
    seen = float(min(horizon, window))
    beta = per_round_radius(
        dim, ridge, ridge, noise, delta / horizon, theta_bound, action_bound, seen
    )
    growth = math.ceil(horizon / window) * math.log(1 + action_bound**2 * window / (ridge * dim))
    return 2 * math.sqrt(2 * dim * horizon * growth) * max(mean_bound, beta)


def _lag(horizon: int, gamma: float, lag: int | None) -> int:
    open_unit("gamma", gamma)
    if lag is not None:
        whole("lag", lag, least=1)
        return lag
    return max(1, math.ceil(math.log(horizon) / (1 - gamma)))


def _mean_bound(mean_bound: float | None, theta_bound: float, action_bound: float) -> float:
    if mean_bound is None:
        return theta_bound * action_bound
    non_negative("mean_bound", mean_bound)
    return mean_bound


def _check(
    dim: int,
    horizon: int,
    ridge: float,
    delta: float,
    theta_bound: float,
    action_bound: float,
) -> None:
    whole("dim", dim, least=1)
    whole("horizon", horizon, least=1)
    positive("ridge", ridge)
    open_unit("delta", delta)
    non_negative("theta_bound", theta_bound)
    positive("action_bound", action_bound)


def _check_drift(budget: float | None, changes: int | None) -> None:
    if budget is None and changes is None:
        raise ValueError("budget or changes must be given, got neither")
    if budget is not None:
        non_negative("budget", budget)
    if changes is not None:
        whole("changes", changes, least=0)


def _check_rate(dim: int, horizon: int, budget: float) -> None:
    whole("dim", dim, least=1)
    whole("horizon", horizon, least=1)
    non_negative("budget", budget)
