"""Radii of confidence ellipsoids for weighted least squares, one function per radius.

The ellipsoid is {θ : ‖θ − θ̂‖_{V Ṽ⁻¹ V} ≤ radius}, in the notation of
`driftbandits.least_squares.estimator`.
Each function says what its radius promises. ``weight_square_sum`` is Σ w²; for heteroscedastic
noise, pass Σ w²σ² instead, with ``noise`` = 1.
"""

from __future__ import annotations

import numpy as np

from ..core.compiling import precise_kernel


@precise_kernel
def per_round_radius(
    dim: int,
    ridge: float,
    mu: float,
    noise: float,
    delta: float,
    theta_bound: float,
    action_bound: float,
    weight_square_sum: float,
) -> float:
    """(λ/√μ) S + σ √(2 log(1/δ) + d log(1 + L² Σw² / (dμ))): Theorem 1 of Russac et al. (2019).

    Promises coverage 1 − δ at each fixed round, not at all rounds together: with forgetting, the
    theorem's "for all t" does not hold (docs/explanation/mathematics.md, erratum 1).
    """
    volume = trace_volume(dim, mu, action_bound, weight_square_sum)
    return mixture_radius(ridge, mu, noise, delta, theta_bound, volume)


@precise_kernel
def trace_volume(dim: int, mu: float, action_bound: float, weight_square_sum: float) -> float:
    """d log(1 + L² Σw² / (dμ)), which bounds log(det Ṽ / μ^d) by the trace of Ṽ."""
    return float(dim * np.log(1.0 + action_bound**2 * weight_square_sum / (dim * mu)))


@precise_kernel
def mixture_radius(
    ridge: float, mu: float, noise: float, delta: float, theta_bound: float, log_volume: float
) -> float:
    """(λ/√μ) S + σ √(2 log(1/δ) + log_volume), with log_volume = log(det Ṽ / μ^d) or a bound on it.

    With the determinant itself this is the Proposition on S_t in the appendix of Russac et al.
    (2019): never wider than `per_round_radius`, for the same promise.
    """
    bias = ridge / np.sqrt(mu) * theta_bound
    return float(bias + noise * np.sqrt(2.0 * np.log(1.0 / delta) + log_volume))


@precise_kernel
def anytime_delta(delta: float, step: float) -> float:
    """δ_t = δ / (1.7 t (1 + log t)²), whose sum over t = 1, 2, … is below δ (it is 0.9958 δ).

    Statements that each hold with probability 1 − δ_t therefore all hold with probability 1 − δ:
    per-round radii of all rounds (t counts rounds), or block-wise radii of all blocks (t counts
    blocks).
    """
    t = max(step, 1.0)
    return float(delta / (1.7 * t * (1.0 + np.log(t)) ** 2))


@precise_kernel
def published_window_radius(
    dim: int,
    ridge: float,
    noise: float,
    delta: float,
    theta_bound: float,
    action_bound: float,
    window: float,
) -> float:
    """√λ S + σ √(d log((1 + l L²/λ)/δ)): SW-LinUCB as published (Cheung et al., 2019).

    Constant in time. Its proof treats a sliding window as a growing one. For d ≥ 2 and at most one
    reward per round it is never below `per_round_radius`, and so keeps that promise. With several
    rewards per round it can be smaller: it knows the window, not the number of rewards.
    """
    spread = dim * np.log((1.0 + window * action_bound**2 / ridge) / delta)
    return float(np.sqrt(ridge) * theta_bound + noise * np.sqrt(spread))
