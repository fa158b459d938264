"""The conditions on late rewards that coverage needs, and what happens without each.

One dimension, a = 1 in every round, computed from the definition with numpy only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import oracles
from oracles import Bounds, Floats

RIDGE, DELTA = 0.1, 0.05
K = Bounds(dim=1, ridge=RIDGE, noise=1.0, delta=DELTA, theta_bound=1.0, action_bound=1.0)


def misses(noise: Floats, arrived: Any, weights: Floats, theta: float = 1.0) -> Floats:
    """Runs (n,) in which the per-round set of the rewards that have arrived (n, T) misses θ."""
    squares = (arrived * weights**2).sum(axis=1)
    error = (arrived * weights * noise).sum(axis=1) - RIDGE * theta
    radii = [float(oracles.per_round_radius(K, mu=RIDGE, weight_squares=s)) for s in squares]
    return np.asarray(np.abs(error) > np.array(radii) * np.sqrt(squares + RIDGE))


def assert_at_most(share: float, runs: int) -> None:
    """At most δ plus three standard errors: 1 in 1,000 fails by chance."""
    assert share <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / runs)


def test_independence_of_its_own_noise_is_not_enough() -> None:
    """Each of 400 rewards arrives if the noise of the others sums to more than 0: 7.7% miss at 5%.

    Whether a reward arrives is independent of its own noise, but later noise changes it.
    """
    noise = np.random.default_rng(0).standard_normal((10_000, 400))
    arrived = noise.sum(axis=1, keepdims=True) - noise > 0
    share = misses(noise, arrived, np.ones(400)).mean()
    # A standard error is 0.0022 at δ, and 0.0027 at 0.077.
    assert share > DELTA + 5 * 0.0022
    assert abs(share - 0.077) < 4 * 0.0027


def test_delays_may_depend_on_the_past() -> None:
    """Each reward arrives if the sum of earlier noise is above (or below) zero: at most δ miss."""
    noise = np.random.default_rng(1).standard_normal((10_000, 400))
    before = np.cumsum(noise, axis=1) - noise
    for arrived in (before > 0, np.abs(before) < 5, before < np.arange(400) / 20):
        for gamma in (1.0, 0.98):
            weights = gamma ** np.arange(399.0, -1.0, -1.0)
            assert_at_most(misses(noise, arrived, weights).mean(), len(noise))


def test_a_clock_that_follows_the_rewards_breaks_coverage() -> None:
    """Looking when the sum of recent noise is large is not the same as looking at a fixed round."""
    noise = np.random.default_rng(2).standard_normal((2_000, 3_000))
    gamma, total = 0.9, np.zeros(2_000)
    limit = 1 / (1 - gamma**2)
    radius = float(oracles.per_round_radius(K, mu=RIDGE, weight_squares=limit))
    missed = np.zeros(2_000, dtype=bool)
    for t in range(3_000):
        total = gamma * total + noise[:, t]
        missed |= np.abs(total - RIDGE) > radius * math.sqrt(limit + RIDGE)
    # If the clock stops there, the set misses in half of all runs; 5% are allowed.
    assert missed.mean() > 0.4


def arrival_order_misses(rounds: int, runs: int, *, watched: bool) -> float:
    """Share of runs that ever miss, for LinUCB whose rewards all arrive at the end, latest first.

    If ``watched``, the environment sees the noise. It offers a = 1 until the noise of some last
    rounds has a large sum, and only a = 0 after that. In the order of rounds the noise is
    sub-Gaussian given the past. In the order of arrival, those rounds come first.
    """
    rng, missed = np.random.default_rng(3), 0
    lengths = np.arange(1.0, rounds + 1)
    radius = np.array(
        [float(oracles.per_round_radius(K, mu=RIDGE, weight_squares=n)) for n in lengths]
    )
    far = radius * np.sqrt(lengths + RIDGE) + RIDGE
    for _ in range(runs):
        noise = rng.standard_normal(rounds)
        ends = range(1, rounds + 1) if watched else (rounds,)
        # Sums over the last n rounds before each end are prefix sums in the order of arrival.
        missed += any((np.abs(np.cumsum(noise[end - 1 :: -1])) > far[:end]).any() for end in ends)
    return missed / runs


def test_linucb_needs_noise_that_is_sub_gaussian_in_the_order_of_arrival() -> None:
    assert arrival_order_misses(600, 100, watched=True) > 0.4
    assert_at_most(arrival_order_misses(600, 400, watched=False), 400)


def clicks(rule: str, runs: int, rounds: int, timeout: int, gamma: float) -> tuple[Floats, Floats]:
    """θ̂, and whether the set misses p = 0.1, after ``rounds`` rounds, for ``runs`` runs."""
    rng = np.random.default_rng(4)
    clicked = rng.random((runs, rounds)) < 0.1
    age = np.arange(rounds - 1.0, -1.0, -1.0)
    mature = np.broadcast_to(age >= timeout, clicked.shape)
    arrived = mature | clicked if rule == "zeros after the timeout" else mature
    weights = gamma**age
    k = Bounds(**{**vars(K), "noise": 0.5})  # rewards in [0, 1] are ½-sub-Gaussian
    V = (arrived * weights).sum(axis=1) + RIDGE
    squares = (arrived * weights**2).sum(axis=1)
    theta = (arrived * clicked * weights).sum(axis=1) / V
    radius = [float(oracles.per_round_radius(k, mu=RIDGE, weight_squares=s)) for s in squares]
    return theta, V * np.abs(theta - 0.1) > np.array(radius) * np.sqrt(squares + RIDGE)


def test_zeros_after_a_timeout_select_the_successes() -> None:
    """Clicks arrive at once and failures 200 rounds later, so most arrived rewards are clicks."""
    theta, missed = clicks("zeros after the timeout", 60, 3_000, 200, 0.99)
    assert missed.all()
    assert theta.mean() > 0.4
    theta, missed = clicks("all held until the timeout", 60, 3_000, 200, 0.99)
    assert not missed.any()
    assert abs(theta.mean() - 0.1) < 0.02
