"""AdaptiveLinUCB: jumps of the level, and what is not one."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_oracle import Definition
from driftbandits import AdaptiveLinUCB
from driftbandits.core.storage import StateFileError
from driftbandits.environments import (
    Environment,
    Gaussian,
    PiecewiseConstant,
    WithLevel,
    canonical_basis,
)
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


@pytest.mark.parametrize("better", [-8.0, -0.5, 0.5, 8.0])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_a_new_arm_that_is_played_twice_is_no_jump(better: float, noise: float) -> None:
    for seed in range(10):
        rng, policy, arms = np.random.default_rng(seed), AdaptiveLinUCB(dim=3), np.eye(3)
        for t in range(100):
            policy.update(arms[t % 2], t % 2 + noise * rng.standard_normal())
        for _ in range(3):
            policy.update(arms[2], 1.0 + better + noise * rng.standard_normal())
        assert since(policy) == 0


def test_a_reward_out_of_order_shows_no_jump() -> None:
    policy = settled()
    policy.update(ARMS[1], 6.0)
    policy.update(ARMS[0], 5.0, round=50)
    assert since(policy) == 0


def test_means_start_anew_with_whole_rounds() -> None:
    """Also where the clock moves by fractions: all rewards of the latest round count."""
    policy = settled()
    policy.advance()
    for arm in (1, 0):
        policy.advance(rounds=0.25)
        policy.update(ARMS[arm], arm + 5.0, round=policy.round - 1.0)
    assert since(policy) == 101


@pytest.mark.parametrize("noise", [None, 0.1])
def test_after_amendments_the_new_rewards_are_no_jump(noise: float | None) -> None:
    rng, policy = np.random.default_rng(0), AdaptiveLinUCB(dim=2, noise=noise)
    rewards = np.arange(102) % 2 + 0.1 * rng.standard_normal(102)
    for t, reward in enumerate(rewards):
        policy.update(ARMS[t % 2], reward)
    for t in range(1, 102, 2):
        policy.amend(ARMS[1], old=rewards[t], new=rewards[t] + 10.0, round=t + 1)
    policy.update(ARMS[1], 11.0)
    assert since(policy) == 0


def test_after_a_coordinate_is_forgotten_its_next_reward_is_no_jump() -> None:
    rng, policy = np.random.default_rng(0), AdaptiveLinUCB(dim=2)
    for t in range(100):
        x = float(t % 2)
        policy.update([x, x], 10.0 * x + 0.1 * rng.standard_normal())
    policy.forget([0])
    state = policy.state()
    np.testing.assert_array_equal(state["earlier"][0], state["thetas"][-1])
    assert not state["earlier"][1:, 0].any()
    policy.update(ARMS[1], 10.0)
    assert since(policy) == 0


def test_a_saved_round_of_a_jump_must_be_possible() -> None:
    policy = settled()
    for wrong in (-1.0, 99.5, 101.0, 1e18):
        state = policy.state()
        state["counters"][SINCE] = wrong
        with pytest.raises(StateFileError):
            AdaptiveLinUCB(dim=2).restore(state)


def test_most_changes_of_the_parameter_are_not_taken_for_jumps() -> None:
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
    """Eight arms with little noise, whose level jumps eleven times."""
    levels = 3.0 * (-1.0) ** np.arange(12)[:, None] * np.linspace(0.3, 1.0, 12)[:, None]
    path = WithLevel(
        path=PiecewiseConstant([np.linspace(0.0, 0.7, 8)]),
        level=PiecewiseConstant(levels, tuple(range(501, 5502, 500))),
        intercept=False,
    )
    place = Environment(path=path, actions=canonical_basis(8), noise=Gaussian(0.15), horizon=6000)
    policies = {"notices": AdaptiveLinUCB(dim=8), "does not": AdaptiveLinUCB(dim=8, jump=1e12)}
    played = simulate(place, policies, replications=40, seed=7)
    gained = played.final("does not") - played.final("notices")
    assert gained.mean() > STANDARD_ERRORS * gained.std(ddof=1) / np.sqrt(len(gained))
