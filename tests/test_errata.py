"""Tests the errata in docs/explanation/mathematics.md about the paper and its released code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oracles
from driftbandits import DLinUCB
from driftbandits.experiments.as_published import DLinUCBAsPublished
from oracles import Bounds

ERRATUM = Bounds(dim=1, ridge=0.1, noise=1.0, delta=0.05, theta_bound=1.0, action_bound=1.0)


def test_erratum_1_noise_that_is_bounded_may_never_leave() -> None:
    """Rademacher noise, γ = ½: |Σ γ^{n−s} η_s| < 2, so the set holds in all rounds for ever.

    "Crossed sooner or later" is true only for unbounded noise.
    """
    gamma, k = 0.5, ERRATUM
    for n in range(1, 200):
        weights = gamma ** np.arange(float(n))
        squares = (weights**2).sum()
        largest = (weights.sum() + k.ridge) / math.sqrt(squares + k.ridge)  # all noise alike
        assert largest < oracles.per_round_radius(k, mu=k.ridge, weight_squares=squares)


def test_erratum_1_noise_without_bound_leaves_at_a_rate() -> None:
    """In every round θ leaves the set with a probability that does not fall with time.

    d = 1, a = 1, symmetric noise: if η_t has the sign of Σ_{s<t} and exceeds c, the sum does.
    """
    k, gamma = ERRATUM, 0.9
    limit = 1 / (1 - gamma**2)
    radius = float(oracles.per_round_radius(k, mu=k.ridge, weight_squares=limit))
    c = radius * math.sqrt(limit + k.ridge) + k.ridge
    rate = 0.5 * math.erfc(c / math.sqrt(2))
    rng = np.random.default_rng(0)
    total, left = np.zeros(20_000), np.zeros(20_000)
    for t in range(200):
        total = gamma * total + rng.standard_normal(len(total))
        if t >= 100:
            left += np.abs(total) > c
    share, error = left.mean() / 100, left.std() / 100 / math.sqrt(len(left))
    assert share > rate - 3 * error
    assert rate > 0


def test_theorem_1_holds_in_the_norm_of_its_statement_alone() -> None:
    """The last display of its proof has ‖·‖_{Ṽ⁻¹} instead of ‖·‖_{VṼ⁻¹V}, and is false.

    Before any reward θ̂ = 0 and V = Ṽ = λI. With λ = 0.01 and ‖θ‖ = S = 1 the printed norm is always
    10, and the radius is 2.5.
    """
    k = Bounds(dim=1, ridge=0.01, noise=1.0, delta=0.05, theta_bound=1.0, action_bound=1.0)
    radius = oracles.per_round_radius(k, mu=k.ridge, weight_squares=0.0)
    truth = oracles.estimate(np.zeros((1, 1)), [0.0], [1.0], ridge=k.ridge, mu=k.ridge)
    stated, printed = truth.distance(np.ones(1)), 1.0 / np.sqrt(truth.V_squared[0, 0])
    assert stated < 0.11 < radius < 9.99 < printed


def released_widths(gamma: float, ridge: float, rounds: int) -> tuple[float, float]:
    """Released widths over Algorithm 1's: in steady play, and the largest after it stops."""
    options: dict[str, Any] = {"dim": 2, "gamma": gamma, "ridge": ridge}
    released, written = DLinUCBAsPublished(**options), DLinUCB(**options)
    probe = np.array([[1.0, 0.0]])

    def ratio() -> float:
        return float(released.widths(probe)[0] / written.widths(probe)[0])

    for _ in range(rounds):
        for policy in (released, written):
            policy.update([1.0, 0.0], 0.0)
    steady, largest = ratio(), 0.0
    for _ in range(rounds):
        for policy in (released, written):
            policy.update([0.0, 1.0], 0.0)
        largest = max(largest, ratio())
    return steady, largest


@pytest.mark.parametrize(("gamma", "ridge"), [(0.9974, 0.1), (0.99, 1.0)])
def test_the_released_recursion_is_too_wide(gamma: float, ridge: float) -> None:
    """By √2 in steady play, by (2λ(1 − γ))^{−1/4} in a direction that is abandoned."""
    steady, abandoned = released_widths(gamma, ridge, round(8 / (1 - gamma)))
    # Up to terms of order 1 − γ, and up to the square root of the term under the root.
    assert steady == pytest.approx(math.sqrt(2), rel=0.02)
    assert abandoned == pytest.approx((2 * ridge * (1 - gamma)) ** -0.25, rel=0.05)
