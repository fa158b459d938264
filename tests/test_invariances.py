"""Properties that follow from the mathematics for all data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftbandits import DLinUCB, LinUCB, SWLinUCB, WeightedLeastSquares
from oracles import Floats

seeds = st.integers(0, 2**32)
dims = st.integers(1, 20)


def draw(seed: int, dim: int, count: int) -> tuple[Floats, Floats]:
    """Actions in the unit ball, and rewards."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dim))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1), rng.random(count)


def play(policy: Any, actions: Floats, rewards: Floats) -> None:
    for action, reward in zip(actions, rewards, strict=True):
        policy.update(action, reward)


@given(seeds, dims, st.floats(1e-3, 1e3), st.sampled_from(["per-round", "determinant"]))
def test_scale_of_weights_and_penalties(seed: int, dim: int, alpha: float, kind: Any) -> None:
    actions, rewards = draw(seed, dim, 40)
    weights = np.random.default_rng(seed + 1).uniform(0.1, 2.0, 40)
    plain, scaled = WeightedLeastSquares(dim=dim), WeightedLeastSquares(dim=dim)
    plain.observe(actions, rewards, weights=weights)
    scaled.observe(actions, rewards, weights=alpha * weights)
    one: dict[str, Any] = {"ridge": 0.3, "mu": 0.7}
    other: dict[str, Any] = {"ridge": alpha * 0.3, "mu": alpha**2 * 0.7}
    # κ(V) is below 1e3 here, so rounding stays below 1e-12.
    np.testing.assert_allclose(
        scaled.estimate(ridge=other["ridge"]), plain.estimate(ridge=one["ridge"]), atol=1e-12
    )
    np.testing.assert_allclose(
        scaled.widths(actions, **other), plain.widths(actions, **one), rtol=1e-10
    )
    options: dict[str, Any] = {"delta": 0.1, "theta_bound": 1.0, "kind": kind}
    radii = scaled.radius(**other, **options), plain.radius(**one, **options)
    assert radii[0] == pytest.approx(radii[1], rel=1e-10)


@given(seeds, dims, st.integers(1, 60))
def test_a_window_as_long_as_the_history_is_linucb(seed: int, dim: int, rounds: int) -> None:
    actions, rewards = draw(seed, dim, rounds)
    options: dict[str, Any] = {"dim": dim, "ridge": 0.1}
    window = SWLinUCB(window=rounds, horizon=1, confidence="union", **options)
    plain = LinUCB(**options)
    for policy in (window, plain):
        play(policy, actions, rewards)
    np.testing.assert_array_equal(window.theta, plain.theta)
    np.testing.assert_array_equal(window.widths(actions), plain.widths(actions))
    # A union bound over one round is the per-round radius.
    np.testing.assert_array_equal(window.scores(actions), plain.scores(actions))


@given(seeds, dims)
def test_no_discount_is_linucb_in_the_limit(seed: int, dim: int) -> None:
    actions, rewards = draw(seed, dim, 50)
    plain = LinUCB(dim=dim)
    play(plain, actions, rewards)
    errors = []
    for forgotten in (1e-4, 1e-6, 1e-8, 1e-10):
        policy = DLinUCB(dim=dim, gamma=1 - forgotten)
        play(policy, actions, rewards)
        difference = policy.scores(actions) - plain.scores(actions)
        errors.append(float(np.abs(difference).max()))
        # The weights are 1 − O(50 · forgotten); V⁻¹ is at most 10, so it amplifies little.
        assert errors[-1] < 1e4 * forgotten + 1e-11
    assert errors[-1] < 1e-5 * max(errors[0], 1e-5)


@given(seeds, dims, st.floats(0.5, 0.999))
def test_canonical_actions_are_the_armed_bandit(seed: int, dim: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    arms, rewards = rng.integers(dim, size=60), rng.random(60)
    policy = DLinUCB(dim=dim, gamma=gamma, ridge=0.2)
    play(policy, np.eye(dim)[arms], rewards)
    weights = gamma ** np.arange(59, -1, -1.0)
    counts = np.bincount(arms, weights, dim)
    squares = np.bincount(arms, weights**2, dim)
    sums = np.bincount(arms, weights * rewards, dim)
    np.testing.assert_allclose(policy.theta, sums / (counts + 0.2), rtol=1e-12, atol=1e-14)
    widths = np.sqrt(squares + 0.2) / (counts + 0.2)
    np.testing.assert_allclose(policy.widths(np.eye(dim)), widths, rtol=1e-12)


@given(seeds, st.integers(1, 5), st.integers(1, 6), st.floats(0.5, 0.999))
def test_kronecker_actions_are_one_model_an_arm(
    seed: int, arms: int, size: int, gamma: float
) -> None:
    rng = np.random.default_rng(seed)
    contexts, rewards = draw(seed, size, 60)
    played = rng.integers(arms, size=60)
    joint = DLinUCB(dim=arms * size, gamma=gamma)
    models = [DLinUCB(dim=size, gamma=gamma) for _ in range(arms)]
    for context, reward, arm in zip(contexts, rewards, played, strict=True):
        joint.update(np.kron(np.eye(arms)[arm], context), reward)
        for index, model in enumerate(models):
            if index == arm:
                model.update(context, reward)
            else:
                model.advance()
    expected = np.concatenate([model.theta for model in models])
    np.testing.assert_allclose(joint.theta, expected, rtol=1e-10, atol=1e-12)
    widths = joint.widths(np.kron(np.eye(arms), contexts[:1]))
    own = [model.widths(contexts[:1])[0] for model in models]
    np.testing.assert_allclose(widths, own, rtol=1e-10)
