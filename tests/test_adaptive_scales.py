"""AdaptiveLinUCB: units of rewards and actions play no part; the noise level is found."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_streams import choices
from driftbandits.policies.adaptive_linucb import AdaptiveLinUCB


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


def test_a_noise_level_that_is_given_is_taken() -> None:
    policy = AdaptiveLinUCB(dim=2, noise=0.25, exploration=2.0)
    choices(policy)
    assert policy.noise_estimate == 0.25
    assert policy.radius == 0.5
