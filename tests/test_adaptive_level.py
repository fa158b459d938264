"""AdaptiveLinUCB: a moving level, and a fall of one arm that is not a fall of the level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from studies.elsewhere.everyday import with_level

from adaptive_oracle import Definition
from driftbandits import AdaptiveLinUCB, LinUCB
from driftbandits.environments import GeometricDelay, Swing
from driftbandits.simulation import simulate
from oracles import Update
from test_adaptive_definition import assert_agrees
from test_policies_exact import apply

STANDARD_ERRORS = 3.0


def test_the_definition_where_rewards_fall_while_the_level_moves() -> None:
    """Arms take turns while the level swings; then the played arm falls."""
    rng, arms = np.random.default_rng(4), np.eye(2)
    policy, truth = AdaptiveLinUCB(dim=2), Definition(2)
    moved = []
    for t in range(170):
        arm = arms[t % 2 if t < 150 else 0]
        level = 1.5 * np.sin(t / 30) if t < 150 else -6.0
        event = Update(arm[None], np.array([arm @ [1.0, 0.0] + level + rng.normal()]))
        apply(policy, event)
        truth.apply(event)
        moved.append(policy.level_moves)
        if t % 10 == 0 or t > 150:
            assert_agrees(policy, truth, arms)
    assert moved[149]
    assert truth.looks >= 1


def test_only_falls_are_looked_into() -> None:
    """While the level is taken to move, rewards jump, at any phase of its swing."""
    rng, arms = np.random.default_rng(9), np.eye(2)
    policy = AdaptiveLinUCB(dim=2)
    rises, falls = list[bool](), list[bool]()
    for t in range(800):
        arm = arms[t % 2]
        policy.update(arm, arm[0] + np.sin(t / 100) + 0.3 * rng.normal())
        if policy.level_moves:
            for jump, after in ((8.0, rises), (-8.0, falls)):
                jumped = policy.copy()
                jumped.update(arms[0], policy.level + 1.0 + jump)
                after.append(jumped.level_moves)
    assert len(rises) > 500
    assert np.mean(rises) > 0.95  # one surprise may take the evidence to zero in another way
    assert np.mean(falls) < 0.7  # none of the means is shorter if the shortest is in force


@pytest.mark.thorough
def test_a_fall_of_the_arm_that_is_played_is_looked_into() -> None:
    """Arms swap payoffs while the level swings slowly; only a look at the others can show it."""
    policies = {
        "looks": AdaptiveLinUCB(dim=6),
        "does not": AdaptiveLinUCB(dim=6, doubt=1e12),
    }
    place = with_level(Swing(size=0.25, period=2000), change=True)
    played = simulate(place, policies, replications=40, seed=5)
    gained = played.final("does not") - played.final("looks")
    assert gained.mean() > STANDARD_ERRORS * gained.std(ddof=1) / np.sqrt(len(gained))


@pytest.mark.thorough
def test_a_moving_level_is_told_apart_although_rewards_come_in_any_order() -> None:
    """Rewards are 100 rounds late on average, in which time the level swings by up to ±1.

    LinUCB never forgets, and the level averages out.
    """
    place = replace(with_level(Swing(size=1.0, period=288)), delays=GeometricDelay(100.0))
    policies = {
        "adaptive": AdaptiveLinUCB(dim=6),
        "LinUCB": LinUCB(dim=6, noise=0.5, action_bound=1.5),
    }
    played = simulate(place, policies, replications=40, seed=6)
    gained = played.final("LinUCB") - played.final("adaptive")
    assert gained.mean() > STANDARD_ERRORS * gained.std(ddof=1) / np.sqrt(len(gained))
