"""AdaptiveLinUCB: jumps of the level, and what is not one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from studies.elsewhere.everyday import with_level

from adaptive_oracle import Definition
from driftbandits import AdaptiveLinUCB
from driftbandits.environments import Gaussian, PiecewiseConstant
from driftbandits.policies.adaptive.state import LEVELS, SINCE
from driftbandits.simulation import simulate
from oracles import Event, Floats, Late
from test_adaptive_definition import assert_agrees
from test_policies_exact import apply

STANDARD_ERRORS = 3.0
ARMS = np.eye(2)


def since(policy: AdaptiveLinUCB) -> float:
    """The round of the rewards from which the running means started anew; 0 if they never did."""
    return float(policy._state.counters[SINCE])


def settled(*, jump: float = 12.0) -> AdaptiveLinUCB:
    """A policy that has seen 100 rewards of two arms at a level that stays."""
    rng, policy = np.random.default_rng(0), AdaptiveLinUCB(dim=2, jump=jump)
    for t in range(100):
        policy.update(ARMS[t % 2], t % 2 + 0.1 * rng.standard_normal())
    assert since(policy) == 0
    return policy


@pytest.mark.parametrize("order", ["in order", "late", "out of order"])
def test_the_definition_where_the_level_jumps(order: str) -> None:
    """The level jumps every 30 rounds, up and down; contexts vary, and some rewards come late."""
    rng, lag = np.random.default_rng(2), 4 if order == "late" else 0
    policy, truth = AdaptiveLinUCB(dim=2), Definition(2)
    levels = np.repeat(rng.uniform(-1.5, 1.5, 9), 30)
    actions = rng.uniform(-1, 1, (len(levels), 1, 2))
    rewards = actions @ [1.0, -1.0] + levels[:, None] + 0.1 * rng.standard_normal((len(levels), 1))

    def play(event: Event) -> None:
        apply(policy, event)
        truth.apply(event)

    for t in range(lag, len(levels) - 20):
        round = np.array([t + 1.0 - lag])
        play(Late(actions[t - lag], rewards[t - lag], round))
        if order == "out of order" and t % 3 == 0:
            early = int(rng.integers(max(0, t - 60), t + 1))
            play(Late(actions[early], rewards[early], np.array([early + 1.0])))
        policy.advance()
        truth.advance(1.0)
        if t % 10 == 0:
            assert_agrees(policy, truth, np.vstack([ARMS, -ARMS]))
    assert since(policy) == truth.since
    assert min(truth.jumps) < 0 < max(truth.jumps)


def test_a_jump_shows_in_two_rewards() -> None:
    for jump in (5.0, -5.0):
        policy = settled()
        policy.update(ARMS[1], 1.0 + jump)
        assert since(policy) == 0
        policy.update(ARMS[0], jump)
        assert since(policy) == 101


def test_an_outlier_is_no_jump() -> None:
    policy = settled()
    for arm, reward in ((1, 6.0), (0, 0.0), (1, 1.0), (0, -5.0), (1, 1.0)):
        policy.update(ARMS[arm], reward)
    assert since(policy) == 0


def test_a_change_of_the_parameter_is_seldom_taken_for_a_jump() -> None:
    taken = 0
    for seed in range(100):
        rng, policy = np.random.default_rng(seed), AdaptiveLinUCB(dim=3)
        for t in range(200):
            theta = np.array([1.0, 0.0, 0.0]) if t < 150 else np.array([-1.0, 1.0, 0.0])
            action = rng.uniform(-1, 1, 3)
            policy.update(action, action @ theta + 0.1 * rng.standard_normal())
        taken += since(policy) > 0
    assert taken < 50


def test_provisional_rewards_show_no_jump() -> None:
    policy = AdaptiveLinUCB(dim=2, provisional=True)
    for t in range(100):
        policy.update(ARMS[t % 2], t % 2 + 0.1 * np.sin(t) + 9.0 * (t > 50))
    assert since(policy) == 0


def test_rewards_from_before_a_jump_stay_out_of_the_running_means() -> None:
    """Late ones do, and so do amendments; but an amendment of a later reward counts."""
    policy = settled()
    for arm in (1, 0, 1):
        policy.update(ARMS[arm], arm - 5.0)

    def means() -> Floats:
        return np.array(policy._state.trackers[:LEVELS])

    before = means()
    policy.update(ARMS[0], 0.3, round=97)
    policy.amend(ARMS[0], old=0.3, new=0.4, round=97)
    np.testing.assert_array_equal(means()[:, [0, 1, 3, 4]], before[:, [0, 1, 3, 4]])
    policy.amend(ARMS[1], old=-4.0, new=-3.5, round=103)
    after = means()
    np.testing.assert_allclose(after[:, 1] - before[:, 1], 0.5, rtol=1e-12)


def test_jumps_are_not_looked_for_beyond_every_error() -> None:
    policy = settled(jump=1e12)
    for t in range(20):
        policy.update(ARMS[t % 2], t % 2 + 50.0)
    assert since(policy) == 0


@pytest.mark.thorough
def test_a_level_that_jumps_costs_less_if_jumps_are_noticed() -> None:
    """Five arms with little noise, whose level jumps ten times."""
    levels = 2.0 * (-1.0) ** np.arange(11)[:, None] * np.linspace(0.5, 1.0, 11)[:, None]
    path = PiecewiseConstant(levels, tuple(range(501, 5002, 500)))
    place = replace(with_level(path), noise=Gaussian(0.15))
    policies = {"notices": AdaptiveLinUCB(dim=6), "does not": AdaptiveLinUCB(dim=6, jump=1e12)}
    played = simulate(place, policies, replications=40, seed=7)
    gained = played.final("does not") - played.final("notices")
    assert gained.mean() > STANDARD_ERRORS * gained.std(ddof=1) / np.sqrt(len(gained))
