"""Compares dLinUCB with a pool that keeps every observation and every failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import oracles
from driftbandits import DynamicLinUCB
from driftbandits.policies.dynamic_linucb import BADNESS, MODELS, POOL, add_model
from oracles import Bounds, Floats, Pool, PoolSettings

TOLERANCE = 1e-8


def stream(seed: int, dim: int, rounds: int, segments: int) -> tuple[Floats, Floats, Floats]:
    """Action sets (T, K, d), parameters that jump (T, d) and noise (T,)."""
    rng = np.random.default_rng(seed)
    actions = rng.standard_normal((rounds, 5, dim))
    actions /= np.maximum(np.linalg.norm(actions, axis=2, keepdims=True), 1.0)
    thetas = rng.standard_normal((segments, dim))
    thetas /= np.linalg.norm(thetas, axis=1, keepdims=True)
    parameters = np.repeat(thetas, -(-rounds // segments), axis=0)[:rounds]
    return actions, parameters, rng.standard_normal(rounds)


def build(settings: PoolSettings) -> DynamicLinUCB:
    """The policy with the oracle's settings."""
    constants = {name: value for name, value in vars(settings).items() if name != "bounds"}
    return DynamicLinUCB(**vars(settings.bounds), **constants)


def follow(policy: DynamicLinUCB, pool: Pool, data: Any, noise: float) -> None:
    """Both see the rewards of the policy's choices, and must agree in every round."""
    for actions, theta, shock in zip(*data, strict=True):
        expected = pool.leader().scores(actions)
        chosen = policy.select(actions)
        gap = float(expected.max() - expected[chosen])
        assert gap <= TOLERANCE * float(abs(expected).max())
        reward = float(actions[chosen] @ theta + noise * shock)
        policy.update(actions[chosen], reward)
        pool.learn(actions[chosen], reward)
        assert policy.detections == tuple(pool.detections)
    leader = pool.leader()
    np.testing.assert_allclose(
        policy.theta, np.asarray(leader.truth().theta, dtype=float), rtol=TOLERANCE, atol=1e-10
    )
    assert policy.radius == pytest.approx(float(leader.radius()), rel=TOLERANCE)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 4),
    segments=st.integers(1, 4),
    noise=st.floats(0.01, 0.3),
    memory=st.sampled_from([10, 30, 200]),
)
def test_same_choices_detections_and_estimates(
    seed: int, dim: int, segments: int, noise: float, memory: int
) -> None:
    bounds = Bounds(dim=dim, ridge=0.1, noise=noise, delta=0.01, theta_bound=1.0, action_bound=1.0)
    constants = PoolSettings(bounds=bounds, memory=memory)
    data = stream(seed, dim, 120, segments)
    follow(build(constants), Pool(constants), data, noise)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), delta1=st.floats(0.05, 0.4), delta2=st.floats(0.05, 0.5))
def test_quick_tempers_detect_often(seed: int, delta1: float, delta2: float) -> None:
    """Loose margins and wrong noise: pools grow, and models come and go."""
    bounds = Bounds(dim=2, ridge=1.0, noise=0.02, delta=0.1, theta_bound=0.1, action_bound=1.0)
    constants = PoolSettings(
        bounds=bounds, memory=15, delta1=delta1, delta1_tilde=delta1 / 4, delta2=delta2
    )
    pool, policy = Pool(constants), build(constants)
    follow(policy, pool, stream(seed, 2, 150, 8), 0.3)
    assert policy.detections


def test_a_change_is_detected_and_recorded() -> None:
    policy = DynamicLinUCB(dim=1, noise=0.1)
    pool = Pool(
        PoolSettings(
            bounds=Bounds(
                dim=1, ridge=0.1, noise=0.1, delta=0.01, theta_bound=1.0, action_bound=1.0
            )
        )
    )
    for t in range(300):
        reward = 1.0 if t < 200 else -1.0
        policy.update([1.0], reward)
        pool.learn(np.ones(1), reward)
    assert policy.detections == tuple(pool.detections)
    assert policy.detections[0] > 200


def test_the_tolerance_is_the_quantile_that_erfinv_gives() -> None:
    bounds = Bounds(dim=1, ridge=1, noise=0.7, delta=0.1, theta_bound=1, action_bound=1)
    constants = PoolSettings(bounds=bounds, delta1=0.03)
    expected = np.sqrt(2) * 0.7 * special.erfinv(1 - 0.03)
    assert constants.tolerance == pytest.approx(expected, rel=1e-12)
    assert oracles.exact(build(constants)._parameters[8]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("badness", "leaves"), [({}, 0), ({3: 0.5, 7: 0.5}, 3), ({15: 0.5}, 15)])
def test_in_a_full_pool_the_worst_model_makes_room_and_of_equals_the_oldest(
    badness: dict[int, float], leaves: int
) -> None:
    state = DynamicLinUCB(dim=1)._initial_state()
    state.counters[MODELS] = POOL
    state.thetas[:, 0] = np.arange(POOL)
    for model, value in badness.items():
        state.facts[model, BADNESS] = value
    add_model(state)
    assert state.counters[MODELS] == POOL
    assert [*state.thetas[: POOL - 1, 0]] == [m for m in range(POOL) if m != leaves]
