"""Compares radii with their formulas, written out again, and with each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from driftbandits.least_squares import radii as confidence
from oracles import Bounds

bounds = st.builds(
    Bounds,
    dim=st.integers(1, 50),
    ridge=st.floats(1e-6, 1e3),
    noise=st.floats(0.0, 10.0),
    delta=st.floats(1e-6, 0.9),
    theta_bound=st.floats(0.0, 10.0),
    action_bound=st.floats(0.1, 10.0),
)

# A handful of operations in double precision.
REL = 1e-12


@given(bounds, st.floats(1e-6, 1e3), st.floats(0.0, 1e6))
def test_per_round(k: Bounds, mu: float, squares: float) -> None:
    got = confidence.per_round_radius(
        k.dim, k.ridge, mu, k.noise, k.delta, k.theta_bound, k.action_bound, squares
    )
    expected = oracles.per_round_radius(k, mu=mu, weight_squares=squares)
    assert got == pytest.approx(float(expected), rel=REL)


@given(bounds, st.floats(0.0, 100.0))
def test_mixture(k: Bounds, volume: float) -> None:
    got = confidence.mixture_radius(k.ridge, k.ridge, k.noise, k.delta, k.theta_bound, volume)
    spread = math.sqrt(2 * math.log(1 / k.delta) + volume)
    assert got == pytest.approx(math.sqrt(k.ridge) * k.theta_bound + k.noise * spread, rel=REL)


@given(bounds, st.integers(1, 10**6))
def test_published_window(k: Bounds, window: int) -> None:
    got = confidence.published_window_radius(
        k.dim, k.ridge, k.noise, k.delta, k.theta_bound, k.action_bound, float(window)
    )
    expected = oracles.published_window_radius(k, window=window)
    assert got == pytest.approx(float(expected), rel=REL)


def test_the_anytime_levels_sum_to_less_than_delta() -> None:
    total = sum(confidence.anytime_delta(0.05, float(t)) for t in range(1, 200_001))
    # The terms decrease: the rest is at most ∫ 0.05 dt / (1.7 t (1 + log t)²) from 200,000 on.
    rest = 0.05 / (1.7 * (1 + math.log(200_000)))
    assert total + rest < 0.05
    # With 1.69 instead of 1.7 the sum would exceed δ, so 1.7 is the smallest constant with two
    # digits. The rest is at least the same integral from 200,001 on.
    least = 0.05 / (1.7 * (1 + math.log(200_001)))
    assert (total + least) * 1.7 / 1.69 > 0.05


def test_the_anytime_level_starts_at_its_first_step() -> None:
    first = confidence.anytime_delta(0.1, 1.0)
    assert confidence.anytime_delta(0.1, 0.0) == first == pytest.approx(0.1 / 1.7, rel=REL)
    assert confidence.anytime_delta(0.1, 2.0) < first


def test_the_published_window_radius_against_the_per_round_one() -> None:
    """For d ≥ 2 it is wider with one reward per round, and narrower with a hundred rewards."""
    k = Bounds(dim=2, ridge=0.1, noise=1.0, delta=0.01, theta_bound=1.0, action_bound=1.0)
    published = confidence.published_window_radius(2, 0.1, 1.0, 0.01, 1.0, 1.0, 10.0)
    assert published == pytest.approx(4.61, abs=0.005)
    batches = oracles.per_round_radius(k, mu=0.1, weight_squares=10 * 100)
    assert float(batches) == pytest.approx(5.44, abs=0.005)


@given(bounds.filter(lambda k: k.dim >= 2), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_published_window_radius_covers_one_reward_per_round(
    k: Bounds, window: int, rounds: int
) -> None:
    published = oracles.published_window_radius(k, window=window)
    per_round = oracles.per_round_radius(k, mu=k.ridge, weight_squares=min(rounds, window))
    assert published >= per_round * (1 - REL)
