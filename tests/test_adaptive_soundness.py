"""AdaptiveLinUCB: finite and positive definite, whatever the rewards and actions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from driftbandits import Policy
from driftbandits.core.linalg import symmetric
from driftbandits.environments import Block
from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from driftbandits.policies.adaptive.state import CHANGES
from oracles import Floats


def assert_sound(policy: AdaptiveLinUCB) -> None:
    """All numbers finite, weights sum to one, and inverses correct and positive definite."""
    state = policy._state
    for array in state:
        assert np.isfinite(array).all()
    assert policy.weights.sum() == pytest.approx(1.0, rel=1e-9)
    assert (policy.weights > 0).all()
    for row in range(2 * len(policy.weights)):
        assert_inverse(state, row)


def assert_inverse(state: Any, row: int) -> None:
    """P⁻¹ is Σ w x xᵀ plus a positive diagonal Λ, for features that were not zero at some time."""
    known = np.flatnonzero(state.features[1])
    if state.facts[row, CHANGES] < 0 or len(known) == 0:
        return
    grid = np.ix_(known, known)
    scale = np.sqrt(state.features[0] / np.maximum(state.features[1], 1))[known]
    G = symmetric(state.grams[row, 0])[grid] / np.outer(scale, scale)
    P = symmetric(state.inverses[row])[grid] * np.outer(scale, scale)
    assert np.linalg.eigvalsh(P)[0] > 0
    ridge = np.linalg.inv(P) - G
    size = np.abs(G).max() + np.abs(ridge).max()
    rounding = 1e-13 * np.linalg.cond(P) + 1e-10
    assert np.abs(ridge - np.diag(np.diag(ridge))).max() < rounding * size
    assert np.diag(ridge).min() > -rounding * size


REWARDS = {
    "zero": lambda rng, mean: 0.0,
    "constant": lambda rng, mean: 3.0,
    "constant, tiny": lambda rng, mean: 3e-6,
    "without noise": lambda rng, mean: mean,
    "large": lambda rng, mean: 1e6 * (mean + rng.standard_normal()),
    "small": lambda rng, mean: 1e-6 * (mean + rng.standard_normal()),
    "of all sizes": lambda rng, mean: rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 6),
    "mostly zero": lambda rng, mean: float(rng.random() < 0.02),
    "Cauchy": lambda rng, mean: float(rng.standard_cauchy()),
}
ACTIONS = {
    "fresh": lambda rng, dim: rng.standard_normal((4, dim)),
    "one": lambda rng, dim: np.ones((1, dim)),
    "collinear": lambda rng, dim: np.outer([1.0, -1.0, 0.5], np.ones(dim)),
    "basis": lambda rng, dim: np.eye(dim),
    "with zero": lambda rng, dim: np.vstack([np.zeros(dim), rng.standard_normal(dim)]),
}


@pytest.mark.parametrize("dim", [1, 2, 7, 50])
@pytest.mark.parametrize("offer", ACTIONS.values(), ids=ACTIONS.keys())
@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS.keys())
def test_survives(reward: Any, offer: Any, dim: int) -> None:
    policy, rng = AdaptiveLinUCB(dim=dim), np.random.default_rng(dim)
    theta = rng.standard_normal(dim) / math.sqrt(dim)
    for t in range(400 if dim < 50 else 150):
        actions = offer(rng, dim)
        actions = actions / np.maximum(np.linalg.norm(actions, axis=1, keepdims=True), 1.0)
        k = policy.select(actions)
        policy.update(actions[k], reward(rng, float(actions[k] @ theta)))
        if t in (0, 1, dim, 120):
            assert_sound(policy)
    assert_sound(policy)


def test_only_zeros_and_then_rewards() -> None:
    policy = AdaptiveLinUCB(dim=2)
    for _ in range(50_000):
        policy.update([0.0, 0.0], 0.0)
    for t in range(200):
        policy.update([1.0, 0.0] if t % 2 else [0.0, 1.0], 1e6 * (t % 2))
    assert_sound(policy)
    np.testing.assert_allclose(policy.theta, [1e6, 0.0], rtol=1e-2, atol=1e4)


def test_rewards_without_rounds_do_not_pile_up_rounding() -> None:
    policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(2)
    policy.advance(rounds=100)
    for _ in range(5000):
        action = rng.uniform(-0.5, 0.5, 3)
        policy.update(action, float(action.sum() + rng.standard_normal()), round=100)
    assert_sound(policy)


def play(policy: Policy, actions: Floats, means: Floats, noise: Floats) -> None:
    """Play rounds with the action sets (n, d, K) in compiled code."""
    block = Block(
        first=int(policy.round),
        actions=actions,
        parameters=np.zeros((len(means), actions.shape[1])),
        means=means,
        best=means.max(axis=1),
        noise=noise,
        longest=1.0,
    )
    policy.play(block, regret=np.empty(len(means)))


@pytest.mark.parametrize("blocks", [2, pytest.param(50, marks=pytest.mark.thorough)])
def test_a_million_rounds(blocks: int) -> None:
    """Actions without one direction, rewards of size 1e6, and sometimes a jump."""
    policy, rng = AdaptiveLinUCB(dim=4), np.random.default_rng(3)
    base = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for block in range(blocks):
        mix = rng.standard_normal((20_000, 3, 5))
        mix /= np.maximum(np.linalg.norm(mix, axis=1, keepdims=True), 1.0)
        actions = np.ascontiguousarray(np.einsum("ij,njk->nik", base[:, :3], mix))
        theta = np.random.default_rng(block // 5).standard_normal(4) * 1e6
        means = np.ascontiguousarray(np.einsum("i,nik->nk", theta, actions))
        play(policy, actions, means, 1e6 * rng.standard_normal((20_000, 1)))
        assert_sound(policy)
    assert policy.round == 20_000 * blocks + 1
    estimate, truth = base[:, :3].T @ policy.theta, base[:, :3].T @ theta
    assert np.linalg.norm(estimate - truth) < 0.2 * np.linalg.norm(truth)
