"""Compares the weighted estimator with its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from driftbandits import WeightedLeastSquares
from oracles import Bounds, Floats

TOLERANCE = 1e-8

powers = st.floats(-6.0, 3.0).map(lambda exponent: float(10.0**exponent))


class Data:
    """Observations with weights over six decades and individual noise levels."""

    def __init__(self, seed: int, dim: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((count, dim))
        self.actions = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        self.rewards = rng.standard_normal(count)
        self.weights = 10.0 ** rng.uniform(-3, 3, count)
        self.noise = rng.uniform(0.0, 3.0, count)
        self.directions = rng.standard_normal((6, dim))
        self.candidate = rng.standard_normal(dim)

    def truth(self, *, ridge: float, mu: float) -> oracles.Truth:
        """The estimate from the definition."""
        return oracles.estimate(
            self.actions, self.rewards, self.weights, ridge=ridge, mu=mu, noise=self.noise
        )

    def observe(self, estimator: WeightedLeastSquares) -> None:
        """Give all observations to the estimator."""
        estimator.observe(self.actions, self.rewards, weights=self.weights, noise=self.noise)


def datasets() -> st.SearchStrategy[Data]:
    """Data of 1 to 50 dimensions."""
    return st.builds(Data, st.integers(0, 2**32), st.integers(1, 50), st.integers(1, 120))


def fitted(data: Data) -> WeightedLeastSquares:
    estimator = WeightedLeastSquares(dim=data.actions.shape[1])
    data.observe(estimator)
    return estimator


def assert_close(got: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    """Relative to the norm."""
    error = np.linalg.norm(np.asarray(oracles.exact(got) - expected, dtype=float))
    assert error <= tolerance * np.linalg.norm(np.asarray(expected, dtype=float))


@given(datasets(), powers, powers)
def test_any_weights_noise_ridge_and_mu(data: Data, ridge: float, mu: float) -> None:
    estimator, truth = fitted(data), data.truth(ridge=ridge, mu=mu)
    # Weights up to 1e3 over a ridge of 1e-6: rounding shows beyond a condition number of 1e8, and
    # sooner in widths, because Ṽ has even larger weights.
    tolerance = max(TOLERANCE, truth.rounding)
    of_widths = max(TOLERANCE, truth.rounding_of_widths(data.directions))
    assert_close(estimator.design(ridge=ridge), truth.V)
    assert_close(estimator.squared_design(mu=mu), truth.V_squared)
    assert_close(estimator.weight_square_sum, truth.weight_squares)
    assert_close(estimator.estimate(ridge=ridge), truth.theta, tolerance)
    got = estimator.widths(data.directions, ridge=ridge, mu=mu)
    assert_close(got, truth.widths(data.directions), of_widths)


@given(datasets(), powers, powers, st.integers(1, 10**6))
def test_every_radius(data: Data, ridge: float, mu: float, step: int) -> None:
    dim = data.actions.shape[1]
    k = Bounds(dim=dim, ridge=ridge, noise=1.0, delta=0.03, theta_bound=2.0, action_bound=1.0)
    truth, estimator = data.truth(ridge=ridge, mu=mu), fitted(data)
    options = {"ridge": ridge, "mu": mu, "delta": k.delta, "theta_bound": k.theta_bound}
    squares = truth.weight_squares
    expected = {
        "per-round": oracles.per_round_radius(k, mu=mu, weight_squares=squares),
        "anytime": oracles.anytime_radius(k, mu=mu, weight_squares=squares, step=step),
        "determinant": oracles.determinant_radius(k, mu=mu, V_squared=truth.V_squared),
        "anytime-determinant": oracles.anytime_determinant_radius(
            k, mu=mu, V_squared=truth.V_squared, step=step
        ),
    }
    for kind, value in expected.items():
        got = estimator.radius(kind=kind, step=step, **options)  # type: ignore[arg-type]
        assert got == pytest.approx(float(value), rel=TOLERANCE)
    assert expected["determinant"] <= expected["per-round"] * (1 + TOLERANCE)
    assert expected["anytime-determinant"] <= expected["anytime"] * (1 + TOLERANCE)


@given(datasets(), st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_distance_and_membership(data: Data, ridge: float, mu: float) -> None:
    estimator, truth = fitted(data), data.truth(ridge=ridge, mu=mu)
    distance = estimator.distance(data.candidate, ridge=ridge, mu=mu)
    assert distance == pytest.approx(float(truth.distance(data.candidate)), rel=1e-7)
    options: dict[str, Any] = {"ridge": ridge, "mu": mu, "delta": 0.1, "theta_bound": 1.0}
    inside = estimator.contains(data.candidate, **options)
    assert inside == (distance <= estimator.radius(**options))
    assert estimator.contains(estimator.estimate(ridge=ridge), **options)


def test_the_width_bounds_the_error_of_every_parameter_in_the_ellipsoid() -> None:
    """|⟨x, θ̂ − θ⟩| ≤ width(x) · distance(θ), and some θ attains it: the two norms are dual."""
    data = Data(seed=5, dim=4, count=30)
    estimator, truth = fitted(data), data.truth(ridge=0.3, mu=0.7)
    width = estimator.widths(data.directions[:1], ridge=0.3, mu=0.7)[0]
    inverse = oracles.solve(truth.V, oracles.exact(np.eye(4)))
    extreme = inverse @ truth.V_squared @ inverse @ oracles.exact(data.directions[0])
    theta = estimator.estimate(ridge=0.3) - np.asarray(extreme, dtype=float)
    distance = estimator.distance(theta, ridge=0.3, mu=0.7)
    error = abs(data.directions[0] @ (estimator.estimate(ridge=0.3) - theta))
    assert error == pytest.approx(width * distance, rel=1e-9)


@given(datasets(), st.floats(0.5, 1.0))
def test_exponential_forgetting_is_an_instance(data: Data, gamma: float) -> None:
    estimator = WeightedLeastSquares(dim=data.actions.shape[1])
    for action, reward in zip(data.actions, data.rewards, strict=True):
        estimator.discount(gamma)
        estimator.observe(action[None], [reward])
    ages = np.arange(len(data.rewards))[::-1]
    weights = oracles.exact(gamma) ** oracles.exact(ages)
    truth = oracles.estimate(data.actions, data.rewards, weights, ridge=0.5, mu=0.5)
    assert_close(estimator.design(ridge=0.5), truth.V)
    assert_close(estimator.squared_design(mu=0.5), truth.V_squared)
    assert_close(estimator.estimate(ridge=0.5), truth.theta)


@given(datasets(), st.integers(1, 50))
def test_a_sliding_window_is_an_instance(data: Data, window: int) -> None:
    estimator = WeightedLeastSquares(dim=data.actions.shape[1])
    for t in range(len(data.rewards)):
        estimator.observe(data.actions[t : t + 1], data.rewards[t : t + 1])
        if t >= window:
            gone = slice(t - window, t - window + 1)
            estimator.withdraw(data.actions[gone], data.rewards[gone])
    actions, rewards = data.actions[-window:], data.rewards[-window:]
    truth = oracles.estimate(actions, rewards, np.ones(len(rewards)), ridge=0.5, mu=0.5)
    assert_close(estimator.design(ridge=0.5), truth.V)
    assert_close(estimator.estimate(ridge=0.5), truth.theta)
    assert estimator.weight_square_sum == min(window, len(data.rewards))


@pytest.mark.parametrize("norm", [1e3, 1e6, 1e9])
def test_what_a_large_action_leaves_behind(norm: float) -> None:
    """Small observations count as if the large action had never been there."""
    rng = np.random.default_rng(5)
    small, large = 0.1 * rng.standard_normal((4, 3)), norm * rng.standard_normal((1, 3))
    rewards, estimator = rng.standard_normal(4), WeightedLeastSquares(dim=3)
    estimator.observe(small, rewards)
    estimator.observe(large, [1.0])
    estimator.withdraw(large, [1.0])
    truth = oracles.estimate(small, rewards, np.ones(4), ridge=1e-3, mu=1e-3)
    assert_close(estimator.design(ridge=1e-3), truth.V)
    assert_close(estimator.estimate(ridge=1e-3), truth.theta)


def _observation(**changes: Any) -> dict[str, Any]:
    good: dict[str, Any] = {"actions": np.eye(2), "rewards": [1.0, 2.0]}
    return good | changes


BAD_OBSERVATIONS = [
    ("actions", {"actions": np.eye(3)}),
    ("actions", {"actions": [1.0, 0.0]}),
    ("actions", {"actions": [[np.nan, 0.0], [0.0, 1.0]]}),
    ("rewards", {"rewards": [1.0]}),
    ("rewards", {"rewards": [1.0, np.inf]}),
    ("rewards", {"rewards": 1.0}),
    ("weights", {"weights": [1.0, 0.0]}),
    ("weights", {"weights": -1.0}),
    ("weights", {"weights": [1.0, 2.0, 3.0]}),
    ("noise", {"noise": [1.0, -0.1]}),
    ("noise", {"noise": np.nan}),
]


@pytest.mark.parametrize(("name", "changes"), BAD_OBSERVATIONS)
def test_bad_observations_are_refused(name: str, changes: dict[str, Any]) -> None:
    estimator = WeightedLeastSquares(dim=2)
    with pytest.raises(ValueError, match=name):
        estimator.observe(**_observation(**changes))
    np.testing.assert_array_equal(estimator.design(ridge=1.0), np.eye(2))
    assert estimator.weight_square_sum == 0.0


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "1"])
def test_bad_penalties_are_refused(value: Any) -> None:
    estimator = WeightedLeastSquares(dim=2)
    with pytest.raises(ValueError, match=r"ridge.*got"):
        estimator.estimate(ridge=value)
    with pytest.raises(ValueError, match=r"ridge.*got"):
        estimator.design(ridge=value)
    with pytest.raises(ValueError, match=r"mu.*got"):
        estimator.squared_design(mu=value)
    with pytest.raises(ValueError, match=r"mu.*got"):
        estimator.widths(np.eye(2), ridge=1.0, mu=value)
    with pytest.raises(ValueError, match=r"factor.*got"):
        estimator.discount(value)


def test_the_arrays_handed_over_are_not_kept_or_changed() -> None:
    actions: Floats = np.eye(2)
    estimator = WeightedLeastSquares(dim=2)
    estimator.observe(actions, [1.0, 2.0])
    estimator.widths(actions, ridge=1.0, mu=1.0)
    np.testing.assert_array_equal(actions, np.eye(2))
    actions[:] = 9.0
    np.testing.assert_allclose(estimator.estimate(ridge=1.0), [0.5, 1.0])
