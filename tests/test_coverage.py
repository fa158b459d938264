"""Confidence sets contain the true parameter as often as they promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from driftbandits import DLinUCB, LinUCB, SWLinUCB, WeightedLeastSquares
from driftbandits.environments import Block
from oracles import Floats

DIM, COUNT = 2, 6


def misses(policy: Any, theta: Floats, rounds: int, seed: int, *, actions: int = COUNT) -> Floats:
    """A run in which the policy chooses; for each round, whether its set missed θ at the start."""
    rng = np.random.default_rng(seed)
    dim = policy.dim
    columns = rng.standard_normal((rounds, dim, actions))
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    means = np.einsum("i,tik->tk", theta, columns)
    missing = np.empty(rounds)
    block = Block(
        first=1,
        actions=columns,
        parameters=np.tile(theta, (rounds, 1)),
        means=means,
        best=means.max(axis=1),
        noise=policy.noise * rng.standard_normal((rounds, 1)),
        longest=1.0,
    )
    policy.play(block, regret=np.empty(rounds), missing=missing)
    return missing


def parameter(seed: int, dim: int = DIM) -> Floats:
    """A parameter of norm one, the largest allowed, so that the bias term is tight."""
    theta = np.random.default_rng([seed, 5]).standard_normal(dim)
    return np.asarray(theta / np.linalg.norm(theta))


def assert_at_most(failures: int, runs: int, delta: float) -> None:
    """A share of at most δ plus three standard errors: 1 in 1,000 fails by chance."""
    error = math.sqrt(delta * (1 - delta) / runs)
    assert failures / runs <= delta + 3 * error


@pytest.mark.parametrize("confidence", ["per-round", "determinant", "anytime"])
@pytest.mark.parametrize("gamma", [0.8, 0.97])
def test_d_linucb_at_a_fixed_round(confidence: Any, gamma: float) -> None:
    runs, delta, failures = 2000, 0.1, 0
    for seed in range(runs):
        policy = DLinUCB(dim=DIM, gamma=gamma, delta=delta, noise=0.5, confidence=confidence)
        failures += int(misses(policy, parameter(seed), 80, seed)[-1])
    assert_at_most(failures, runs, delta)


def test_any_weights_and_noise_of_its_own_level_at_a_fixed_round() -> None:
    runs, delta, failures = 2000, 0.1, 0
    for seed in range(runs):
        rng, theta = np.random.default_rng([seed, 6]), parameter(seed, dim=3)
        actions = rng.standard_normal((30, 3))
        actions /= np.linalg.norm(actions, axis=1, keepdims=True)
        noise, weights = rng.uniform(0.1, 2.0, 30), rng.uniform(0.1, 3.0, 30)
        estimator = WeightedLeastSquares(dim=3)
        rewards = actions @ theta + noise * rng.standard_normal(30)
        estimator.observe(actions, rewards, weights=weights, noise=noise)
        options: dict[str, Any] = {"delta": delta, "theta_bound": 1.0, "kind": "determinant"}
        failures += not estimator.contains(theta, ridge=0.5, mu=0.2, **options)
    assert_at_most(failures, runs, delta)


def test_linucb_over_all_rounds() -> None:
    """Without forgetting, the per-round radius does hold at all rounds together."""
    runs, delta = 300, 0.1
    policies = [LinUCB(dim=DIM, delta=delta, noise=0.5) for _ in range(runs)]
    failures = sum(
        bool(misses(policy, parameter(seed), 1000, seed).any())
        for seed, policy in enumerate(policies)
    )
    assert_at_most(failures, runs, delta)


def left_at_some_point(policy: Any, rounds: int, runs: int) -> int:
    """Runs of the erratum's example (one action, no choice) in which the set ever missed."""
    return sum(
        bool(misses(policy.fresh(), np.ones(1), rounds, seed, actions=1).any())
        for seed in range(runs)
    )


def erratum(**changes: Any) -> DLinUCB:
    """The example of erratum 1: d = 1, γ = 0.9, λ = 0.1, δ = 0.05."""
    return DLinUCB(dim=1, gamma=0.9, ridge=0.1, delta=0.05, noise=1.0, **changes)


def test_erratum_1_the_per_round_radius_does_not_hold_at_all_rounds() -> None:
    """In about 20% of runs of 1,000 rounds θ leaves the set; the printed theorem allows 5%."""
    runs = 1000
    share = left_at_some_point(erratum(), 1000, runs) / runs
    # Five standard errors (0.013 each) above δ refute the printed claim.
    assert share > 0.05 + 5 * 0.013
    assert share == pytest.approx(0.21, abs=0.06)


def test_erratum_1_the_per_round_radius_holds_at_each_round() -> None:
    runs = 2000
    failures = sum(
        int(misses(erratum(), np.ones(1), 120, seed, actions=1)[-1]) for seed in range(runs)
    )
    assert_at_most(failures, runs, 0.05)


@pytest.mark.thorough
def test_erratum_1_on_long_runs() -> None:
    """After 10,000 rounds nearly all runs have left the per-round set, and few the anytime set."""
    runs = 300
    assert left_at_some_point(erratum(), 10_000, runs) / runs > 0.75
    anytime = erratum(confidence="anytime")
    assert_at_most(left_at_some_point(anytime, 100_000, 100), 100, 0.05)


UNIFORM = ["anytime", "anytime-determinant", "blockwise", "blockwise-determinant"]


@pytest.mark.parametrize("confidence", UNIFORM)
@pytest.mark.parametrize("every", [1, 10])
def test_over_all_rounds_with_choices(confidence: Any, every: int) -> None:
    runs, delta = 300, 0.1
    policy = DLinUCB(
        dim=DIM, gamma=0.9, delta=delta, noise=0.5, confidence=confidence, restore_every=every
    )
    failures = sum(
        bool(misses(policy.fresh(), parameter(seed), 1000, seed).any()) for seed in range(runs)
    )
    assert_at_most(failures, runs, delta)


@pytest.mark.parametrize("confidence", UNIFORM)
def test_erratum_1_every_uniform_radius_holds_at_all_rounds(confidence: Any) -> None:
    runs = 1000
    assert_at_most(left_at_some_point(erratum(confidence=confidence), 1000, runs), runs, 0.05)


def test_blockwise_over_all_rounds_and_narrower_than_anytime() -> None:
    """d = 1, γ = 0.9974, 6000 rounds: the slow experiment's discount."""
    runs, rounds = 300, 6000
    options: dict[str, Any] = {"dim": 1, "gamma": 0.9974, "ridge": 0.1, "delta": 0.05}
    for every in (1, 100):
        policy = DLinUCB(confidence="blockwise", restore_every=every, **options)
        assert_at_most(left_at_some_point(policy, rounds, runs), runs, 0.05)
        mean: dict[str, float] = {}
        for confidence in ("blockwise", "anytime"):
            timed: Any = DLinUCB(confidence=confidence, restore_every=every, **options)
            radii = []
            for _ in range(rounds):
                timed.update([1.0], 0.0)
                radii.append(timed.radius)
            mean[confidence] = float(np.mean(radii))
        assert mean["blockwise"] < mean["anytime"] - 1.0


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_one_block_of_the_blockwise_radius(delta: float) -> None:
    """With one δ for every block, a block fails with probability at most δ, a run far more often.

    The first follows from Ville's inequality; the second is why the blocks share δ.
    """
    runs, blocks, gamma, ridge = 400, 100, 0.9, 0.1
    length = round(2 / -math.log(gamma))
    rng, total = np.random.default_rng(8), np.zeros(runs)
    left = np.zeros((blocks, runs), dtype=bool)
    for n in range(1, blocks * length):
        total = gamma * total + rng.standard_normal(runs)
        squares = (1 - gamma ** (2 * n)) / (1 - gamma**2)
        law = ridge * gamma ** (2 * (n % length))
        beta = math.sqrt(ridge) + math.sqrt(2 * math.log(1 / delta) + math.log(1 + squares / law))
        left[n // length] |= np.abs(total - ridge) > beta * math.sqrt(squares + ridge)
    assert_at_most(int(left.sum()), left.size, delta)
    assert left.any(axis=0).mean() > delta + 5 * math.sqrt(delta * (1 - delta) / runs)


def test_the_union_bound_of_a_window_over_its_horizon() -> None:
    runs, delta, horizon = 300, 0.1, 500
    failures = 0
    for seed in range(runs):
        policy = SWLinUCB(
            dim=DIM, window=20, delta=delta, noise=0.5, confidence="union", horizon=horizon
        )
        failures += bool(misses(policy, parameter(seed), horizon, seed).any())
    assert_at_most(failures, runs, delta)


def test_a_miss_is_what_the_estimator_says_it_is() -> None:
    """The tests above use the policies' check; it equals the estimator's check in every round."""
    policy = DLinUCB(dim=1, gamma=0.5, ridge=0.1, delta=0.9, noise=0.5)
    missing = misses(policy.fresh(), np.ones(1), 200, 3, actions=1)
    assert 0 < missing.sum() < 200
    rng, estimator = np.random.default_rng(3), WeightedLeastSquares(dim=1)
    columns = np.sign(rng.standard_normal((200, 1, 1)))
    noise = 0.5 * rng.standard_normal((200, 1))
    for t in range(200):
        inside = estimator.contains([1.0], ridge=0.1, mu=0.1, delta=0.9, theta_bound=1.0, noise=0.5)
        assert inside == (missing[t] == 0), f"round {t + 1}"
        estimator.discount(0.5)
        estimator.observe(columns[t], [columns[t, 0, 0] + noise[t, 0]])
