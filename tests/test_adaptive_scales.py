"""AdaptiveLinUCB: units of rewards and actions play no part; the noise level is found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from adaptive_streams import choices
from driftbandits.policies.adaptive.bank import KURTOSIS
from driftbandits.policies.adaptive.policy import AdaptiveLinUCB


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.5, 7.0, 1e6, 1e30])
def test_the_scale_of_rewards_plays_no_part(scale: float) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2)
    assert choices(scaled, rewards=scale) == choices(plain)
    assert scaled.noise_estimate == pytest.approx(scale * plain.noise_estimate, rel=1e-9)
    assert scaled.detections == plain.detections
    np.testing.assert_allclose(scaled.theta, scale * plain.theta, rtol=1e-8)


@pytest.mark.parametrize(("scale", "bound"), [(1e-6, 1.0), (1e-3, 1e-3), (7.0, 10.0), (1e6, 1e6)])
def test_the_scale_of_actions_plays_no_part(scale: float, bound: float) -> None:
    plain, scaled = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2, action_bound=bound)
    assert choices(scaled, actions=scale) == choices(plain)
    np.testing.assert_allclose(scaled.theta, plain.theta / scale, rtol=1e-8)


def test_the_noise_level_is_found() -> None:
    for level in (0.01, 1.0, 50.0):
        policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(1)
        found = []
        for _ in range(2000):
            action = rng.uniform(-0.5, 0.5, 3)
            policy.update(action, action.sum() + level * rng.standard_normal())
            found.append(policy.noise_estimate**2)
        # The first rewards, larger than noise of 0.01 by far, have to fade: four memories of 100.
        # The relative standard error is 0.1 at each round, 0.035 over 1600 of them.
        assert np.mean(found[400:]) == pytest.approx(level**2, rel=0.1)


@pytest.mark.parametrize("told", [None, 0.1, 5.0])
def test_the_kurtosis_is_found_whatever_noise_level_is_told(told: float | None) -> None:
    def found(draw: Callable[[np.random.Generator], float]) -> float:
        policy, rng = AdaptiveLinUCB(dim=1, noise=told), np.random.default_rng(2)
        for _ in range(6000):
            policy.update([1.0], draw(rng))
        return float(policy._state.counters[KURTOSIS])

    # Over 2000 rewards, which a memory of 1000 comes to: √(96/2000) = 0.22 for the mean fourth
    # power of normal ones. That the level is estimated along with it takes 0.1 away.
    assert found(lambda rng: 0.5 + rng.standard_normal()) == pytest.approx(3.0, abs=0.75)
    # Clicks in 5% of the rounds have (1 − 3·0.05·0.95)/(0.05·0.95) = 18.1, and squares of
    # 0.95/0.05 = 19 at a click, below 25; an error of 19²·√(0.0475/2000) = 1.8.
    assert found(lambda rng: float(rng.random() < 0.05)) == pytest.approx(18.1, abs=5.4)


def test_a_noise_level_that_is_given_is_taken() -> None:
    policy = AdaptiveLinUCB(dim=2, noise=0.25, exploration=2.0)
    choices(policy)
    assert policy.noise_estimate == 0.25
    assert policy.radius == 0.5
