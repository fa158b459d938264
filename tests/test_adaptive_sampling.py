"""AdaptiveSampling: propensities in theory, in draws and in logs; the cost of randomness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_oracle import Definition
from adaptive_streams import assert_close, events
from driftbandits import AdaptiveLinUCB, AdaptiveSampling, Policy, load
from driftbandits.environments import (
    ActionSet,
    ClippedCube,
    Environment,
    Gaussian,
    ParameterPath,
    PiecewiseConstant,
    canonical_basis,
)
from driftbandits.environments.random_paths import RandomJumps
from driftbandits.simulation import Recording, simulate
from oracles import Floats, Late, Update
from test_policies_exact import apply


@settings(max_examples=8)
@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 5),
    floor=st.sampled_from([0.0, 0.01, 0.3]),
    temperature=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_propensities_by_their_definition(
    seed: int, dim: int, floor: float, temperature: float
) -> None:
    rng = np.random.default_rng(seed)
    policy = AdaptiveSampling(dim=dim, floor=floor, temperature=temperature)
    truth = Definition(dim)
    for step, event in enumerate(events(rng, dim, 60, fractional=False), start=1):
        apply(policy, event)
        truth.apply(event)
        if step % 10 == 0 or truth.place() < 1:
            actions = rng.standard_normal((7, dim)) / (3 * dim)
            chances = truth.chances(actions, temperature, floor)
            assert_close(policy.propensities(actions), chances, "propensities")


def test_propensities_in_audits() -> None:
    """Three arms; two of them are played only in the first rounds."""
    policy, truth, rng = AdaptiveSampling(dim=3), Definition(3), np.random.default_rng(3)
    arms, audits = np.eye(3), 0
    for t in range(200):
        arm = t % 3 if t < 18 else 0
        event = Update(arms[[arm]], [0.5, 0.3, 0.1][arm] + 0.2 * rng.standard_normal(1))
        apply(policy, event)
        truth.apply(event)
        if truth.decider(arms)[0] < truth.in_force(truth.moving):
            audits += 1
            chances = truth.chances(arms, 0.1, 0.01)
            assert_close(policy.propensities(arms), chances, "propensities")
    assert audits >= 2


def test_propensities_while_rewards_are_on_their_way() -> None:
    """Every reward comes eight rounds late."""
    policy, truth, rng = AdaptiveSampling(dim=3), Definition(3), np.random.default_rng(4)
    waiting: list[Floats] = []
    for t in range(60):
        actions = rng.standard_normal((5, 3))
        chances = truth.chances(actions, 0.1, 0.01)
        assert_close(policy.propensities(actions), chances, "propensities")
        waiting.append(actions[policy.decide(actions).index])
        truth.decide(waiting[-1])
        if t >= 8:
            action = waiting[t - 8][None]
            event = Late(action, action[0, :1] + rng.standard_normal(1), np.array([t - 7.0]))
            apply(policy, event)
            truth.apply(event)
    assert sum(w for _, w in truth.awaited) > 3


def trained(rounds: int = 60, **options: Any) -> AdaptiveSampling:
    policy, rng = AdaptiveSampling(dim=3, **options), np.random.default_rng(2)
    for _ in range(rounds):
        action = rng.uniform(-1, 1, 3)
        policy.update(action, action[0] + rng.standard_normal())
    return policy


@pytest.mark.parametrize(("temperature", "floor"), [(0.1, 0.01), (1.0, 0.01), (1.0, 0.0)])
def test_draws_follow_the_propensities(temperature: float, floor: float) -> None:
    """χ² of 40,000 draws from 8 actions: 5 standard deviations above its mean once in 1e5."""
    policy = trained(temperature=temperature, floor=floor)
    actions = np.random.default_rng(4).uniform(-1, 1, (8, 3))
    chances, draws = policy.propensities(actions), 40_000
    drawn = [policy.decide(actions, rounds=0).index for _ in range(draws)]
    counts, expected = np.bincount(drawn, minlength=8), draws * chances
    likely = expected > 5
    assert likely.sum() >= 3
    square = float(((counts - expected)[likely] ** 2 / expected[likely]).sum())
    freedom = int(likely.sum()) - 1
    assert square < freedom + 5 * math.sqrt(2 * freedom)
    assert (counts[~likely] <= 30).all()


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_no_probability_is_below_the_floor(count: int) -> None:
    policy = trained(floor=0.02)
    decision = policy.decide(np.random.default_rng(1).uniform(-1, 1, (count, 3)))
    assert decision.propensities.min() >= 0.02 / count * (1 - 1e-12)
    assert decision.propensities.sum() == pytest.approx(1, rel=1e-12)


def test_without_temperature_it_is_adaptive_linucb() -> None:
    """For τ → 0, if one action is clearly best; both see the same rewards."""
    sampled, plain = AdaptiveSampling(dim=2, floor=0.0, temperature=1e-9), AdaptiveLinUCB(dim=2)
    rng = np.random.default_rng(8)
    for _ in range(300):
        actions = rng.uniform(-1, 1, (6, 2))
        chosen, (second, first) = plain.select(actions), np.sort(plain.scores(actions))[-2:]
        assert sampled.select(actions) == chosen or first - second < 1e-6
        reward = actions[chosen, 0] + 0.3 * rng.standard_normal()
        for policy in (sampled, plain):
            policy.update(actions[chosen], reward)


def test_a_saved_policy_goes_on_with_its_draws(tmp_path: Any) -> None:
    policy = trained(temperature=2.0)
    policy.select(np.eye(3))
    policy.save(tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert [policy.select(np.eye(3)) for _ in range(40)] == [
        again.select(np.eye(3)) for _ in range(40)
    ]


@pytest.mark.parametrize(
    ("units", "scale", "constant"), [([1.0, 300.0], 1.0, 0.0), ([1.0, 1.0], 1e-3, 1000.0)]
)
def test_units_play_no_part(units: list[float], scale: float, constant: float) -> None:
    plain, other = AdaptiveSampling(dim=2), AdaptiveSampling(dim=2)
    rng = np.random.default_rng(6)
    for _ in range(120):
        action = rng.uniform(-1, 1, 2)
        reward = action[0] + 0.3 * rng.standard_normal()
        plain.update(action, reward)
        other.update(action * units, scale * reward + constant)
        actions = rng.uniform(-1, 1, (5, 2))
        chances = plain.propensities(actions)
        np.testing.assert_allclose(other.propensities(actions * units), chances, rtol=1e-5)


def inverse_propensity_errors(replication: int, rounds: int) -> tuple[float, float]:
    """Error of IPS for "always the last arm" on a log of the policy, and its standard error."""
    policy = AdaptiveSampling(dim=4, floor=0.2).fresh(replication)
    rng, arms, means = np.random.default_rng(replication), np.eye(4), np.array([0.6, 0.5, 0.3, 0.1])
    errors = np.empty(rounds)
    for t in range(rounds):
        now = means if t < rounds // 2 else means[::-1]
        decision = policy.decide(arms)
        reward = now[decision.index] + 0.3 * rng.standard_normal()
        policy.update(arms[decision.index], reward, round=decision.round)
        errors[t] = (reward / decision.propensity if decision.index == 3 else 0.0) - now[3]
    return float(errors.sum()), float((errors**2).sum())


def test_inverse_propensity_estimates_on_its_logs_are_unbiased() -> None:
    """The errors are a martingale: over 20 logs the sum is below 4 standard errors (6e-5)."""
    sums, squares = np.transpose([inverse_propensity_errors(n, 400) for n in range(20)])
    assert abs(sums.sum()) < 4 * math.sqrt(squares.sum())
    inside = np.abs(sums) < 1.96 * np.sqrt(squares)
    assert inside.sum() >= 15  # of 20 intervals of 95%; fewer once in 2000


def place(path: ParameterPath, actions: ActionSet, noise: float) -> Environment:
    return Environment(path=path, actions=actions, noise=Gaussian(noise), horizon=3000)


def environments() -> dict[str, Environment]:
    jumps = RandomJumps(dim=3, change_points=(1001, 2001))
    arms: Floats = np.array([[0.6, 0.4, 0.2, 0.1], [0.2, 0.4, 0.7, 0.1]])
    fresh = ClippedCube(dim=3, count=10)
    return {
        "fresh actions, jumps": place(jumps, fresh, 0.5),
        "fresh actions, no change": place(RandomJumps(dim=3, change_points=()), fresh, 1.0),
        "arms that change": place(PiecewiseConstant(arms, (1501,)), canonical_basis(4), 0.5),
        "arms, no change": place(PiecewiseConstant(arms[:1], ()), canonical_basis(4), 0.5),
    }


@pytest.mark.thorough
def test_randomness_costs_little() -> None:
    """At most 1.3 times the regret of AdaptiveLinUCB in geometric mean, at floor 0.01/K."""
    logs, variances = [], []
    for environment in environments().values():
        pair: dict[str, Policy] = {
            "plain": AdaptiveLinUCB(dim=environment.dim),
            "sampled": AdaptiveSampling(dim=environment.dim, floor=0.01),
        }
        result = simulate(
            environment, pair, replications=30, seed=11, record=Recording(regret=(3000,))
        )
        plain, sampled = result.final("plain"), result.final("sampled")
        logs.append(math.log(sampled.mean() / plain.mean()))
        spread = sampled / sampled.mean() - plain / plain.mean()
        variances.append(spread.var(ddof=1) / len(spread))
    error = math.sqrt(sum(variances)) / len(logs)
    assert np.mean(logs) < math.log(1.3) + 3 * error
