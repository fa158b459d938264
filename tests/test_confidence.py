"""Radii against their formulas, written out once more, and what they promise of each other."""

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
    levels = (confidence.anytime_delta(0.05, float(t)) for t in range(1, 200_000))
    # ∫ dt / (2 t (1 + log t)²) from T on is 1 / (2 (1 + log T)).
    tail = 0.05 / (2 * (1 + math.log(199_999)))
    assert sum(levels) + tail < 0.05


def test_the_anytime_level_never_exceeds_half_of_delta() -> None:
    assert confidence.anytime_delta(0.1, 0.0) == confidence.anytime_delta(0.1, 1.0) == 0.05
    assert confidence.anytime_delta(0.1, 2.0) < 0.05
