"""AdaptiveLinUCB: units of rewards and actions do not matter; it finds the noise level."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_streams import choices
from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from driftbandits.policies.adaptive.noise import degrees_of_freedom
from driftbandits.policies.adaptive.state import TAIL_ABOVE, TAIL_BELOW
from oracles import Floats


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.5, 7.0, 1e6, 1e30])
def test_the_scale_of_rewards_plays_no_part(scale: float) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    assert choices(scaled, rewards=scale) == choices(plain)
    assert scaled.noise_estimate == pytest.approx(scale * plain.noise_estimate, rel=1e-9)
    assert scaled.detections == plain.detections
    np.testing.assert_allclose(scaled.theta, scale * plain.theta, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 7.0, 1e6, [1.0, 300.0], [1e-9, 1e9]])
def test_the_scale_of_features_plays_no_part(scale: float | list[float]) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    assert choices(scaled, actions=np.array(scale)) == choices(plain)
    np.testing.assert_allclose(scaled.theta, plain.theta / np.array(scale), rtol=1e-7)


@pytest.mark.parametrize("constant", [-3.0, 1.0, 1000.0, 1e6])
def test_a_constant_added_to_all_rewards_plays_no_part(constant: float) -> None:
    plain, shifted = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    assert choices(shifted, constant=constant) == choices(plain)
    np.testing.assert_allclose(shifted.theta, plain.theta, rtol=1e-5)
    assert shifted.level - constant == pytest.approx(plain.level, abs=1e-6)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    exponents=st.lists(st.integers(-20, 20), min_size=3, max_size=3),
    constant=st.integers(-64, 64),
)
def test_choices_are_the_same_in_other_units(
    seed: int, exponents: list[int], constant: int
) -> None:
    """Sparse features, arms and a moving level. Units are powers of two, so nothing is rounded."""
    rng, scale = np.random.default_rng(seed), 2.0 ** np.array(exponents)
    plain, scaled = AdaptiveLinUCB(dim=3), AdaptiveLinUCB(dim=3)
    for t in range(120):
        actions = rng.integers(-4, 5, (5, 3)) / 4.0
        k = plain.select(actions)
        assert scaled.select(actions * scale) == k
        reward = math.sin(t / 9) + actions[k, 0] - actions[k, 2] + 0.3 * rng.standard_normal()
        reward = round(reward * 2**20) / 2**20
        plain.update(actions[k], reward)
        scaled.update(actions[k] * scale, reward + constant)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**100])
def test_the_unit_plays_no_part_if_the_first_reward_is_amended(unit: float) -> None:
    def chosen(unit: float) -> list[int]:
        rng, policy, found = np.random.default_rng(1), AdaptiveLinUCB(dim=1), []
        for t in range(1, 201):
            actions = rng.standard_normal((5, 1))
            found.append(policy.select(actions))
            reward = unit * (actions[found[-1], 0] + 0.5 * rng.standard_normal())
            policy.update(actions[found[-1]], reward)
            if t == 1:
                policy.amend(actions[found[-1]], round=1, old=reward, new=reward + unit)
        return found

    assert chosen(unit) == chosen(1.0)


def test_actions_of_any_norm_are_taken() -> None:
    policy = AdaptiveLinUCB(dim=2)
    assert policy.select([[1e20, 0.0], [0.0, 1e-20]]) in (0, 1)
    policy.update([1e20, 0.0], 1.0)
    policy.update([0.0, 1e-20], 2.0)
    assert np.isfinite(policy.theta).all()


def test_the_noise_level_is_found() -> None:
    for level in (0.01, 1.0, 50.0):
        policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(1)
        found = []
        for _ in range(2000):
            action = rng.uniform(-0.5, 0.5, 3)
            policy.update(action, action.sum() + level * rng.standard_normal())
            found.append(policy.noise_estimate**2)
        # The first rewards are far larger than noise of 0.01, and have to fade: four memories of
        # 100. The relative standard error is 0.1 in each round, and 0.035 over 1600 rounds.
        assert np.mean(found[400:]) == pytest.approx(level**2, rel=0.1)


@pytest.mark.parametrize("told", [None, 0.1, 5.0])
def test_the_tails_are_found_whatever_noise_level_is_told(told: float | None) -> None:
    def found(draw: Callable[[np.random.Generator], float]) -> Floats:
        policy, rng = AdaptiveLinUCB(dim=1, noise=told), np.random.default_rng(2)
        for _ in range(6000):
            policy.update([1.0], draw(rng))
        return np.asarray(policy._state.counters[[TAIL_BELOW, TAIL_ABOVE]])

    # Half the kurtosis of 3 on each side. A memory of 1000 is worth 2000 rewards, so the standard
    # error is √((52.5 − 1.5²)/2000) = 0.16. Estimating the level too subtracts 0.05.
    normal = found(lambda rng: 0.5 + rng.standard_normal())
    assert normal == pytest.approx([1.5, 1.5], abs=0.53)
    # Clicks in 5% of the rounds have squares of 0.95/0.05 = 19 at a click, below 25, and 0.05/0.95
    # without: fourth powers of 18.05 and 0.003 on average; an error of 19²·√(0.0475/2000) = 1.8.
    below, above = found(lambda rng: float(rng.random() < 0.05))
    assert above == pytest.approx(18.05, abs=5.4)
    assert below < 1.5 / 2  # half of a normal law, even if the given noise level is too small


def test_the_lighter_tail_decides() -> None:
    """Outliers on both sides make the tails of the law heavy; outliers on one side do not."""

    def freedom(draw: Callable[[np.random.Generator], float]) -> float:
        policy, rng = AdaptiveLinUCB(dim=1), np.random.default_rng(4)
        for _ in range(2000):
            policy.update([1.0], draw(rng))
        return float(degrees_of_freedom(policy._state))

    assert freedom(lambda rng: float(rng.random() < 0.05)) > 90
    assert freedom(lambda rng: float(rng.random() < 0.1) * rng.lognormal(0.0, 0.7)) > 90
    assert freedom(lambda rng: rng.standard_t(3)) < 8
    assert freedom(lambda rng: rng.standard_normal() * (5 if rng.random() < 0.05 else 1)) < 8


def test_a_noise_level_that_is_given_is_taken() -> None:
    policy = AdaptiveLinUCB(dim=2, noise=0.25, exploration=2.0)
    choices(policy)
    assert policy.noise_estimate == 0.25
    assert policy.radius == 0.5


@pytest.mark.parametrize("dim", [2, 3, 5, 10])
@pytest.mark.parametrize("tiny", [1e-6, 1e-9, 1e-12, 1e-20, 1e-40])
def test_a_feature_may_grow_from_next_to_nothing(dim: int, tiny: float) -> None:
    """Late rewards as well: no round closes between the large action and the next choice."""
    rng, policy = np.random.default_rng(dim), AdaptiveLinUCB(dim=dim)
    regret = 0.0
    for t in range(250):
        actions = rng.standard_normal((5, dim))
        actions[:, 0] *= tiny if t < 50 else 1.0
        decision, means = policy.decide(actions), actions.sum(axis=1)
        regret += float(means.max() - means[decision.index]) * (t >= 100)
        reward = means[decision.index] + 0.1 * rng.standard_normal()
        policy.update(actions[decision.index], reward, round=decision.round)
    assert policy.noise_estimate < 0.5
    assert regret < 30.0  # random choices lose more than 1 per round
    np.testing.assert_allclose(policy.theta, np.ones(dim), atol=0.2)
