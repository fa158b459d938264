"""Checks the contract of every registered policy. A new policy needs no edit here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import driftbandits
from driftbandits import Policy, Problem
from driftbandits.testing import POLICY_CHECKS
from driftbandits.testing.policies.lives import action_sets

POLICIES = driftbandits.registered()
PROBLEM = Problem(
    dim=3, horizon=2000, budget=2.0, change_points=(40, 90), ridge=0.5, noise=0.3, action_bound=2.0
)
# From this dimension on, factors are updated by rank-one changes if possible.
LARGER = Problem(dim=17, horizon=400, budget=2.0, change_points=(30, 60))

every_policy = pytest.mark.parametrize("cls", POLICIES.values(), ids=POLICIES.keys())


@every_policy
@pytest.mark.parametrize("problem", [PROBLEM, LARGER], ids=["few", "many"])
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_promise(check: Callable[[Policy], None], problem: Problem, cls: type[Policy]) -> None:
    check(cls.tuned(problem))


@every_policy
def test_is_offered_under_its_label(cls: type[Policy]) -> None:
    assert POLICIES[cls.label] is cls
    assert getattr(driftbandits, cls.__name__, cls) is cls


def test_all_but_the_floor_have_an_estimate() -> None:
    """So the checks of policies with an estimate leave out no other policy."""
    assert [label for label, cls in POLICIES.items() if not hasattr(cls, "theta")] == ["Random"]


def gains(cls: type[Policy], replication: int) -> tuple[float, float]:
    """Gain of a run of 400 rounds over a uniform choice, and the variance of a uniform choice."""
    theta = np.array([0.8, 0.4, -0.2])
    policy = cls.tuned(PROBLEM).fresh(replication)
    rng = np.random.default_rng(replication)
    gained = variance = 0.0
    for actions in action_sets(policy, 400, seed=11 + replication):
        chosen = policy.select(actions)
        means = actions @ theta
        gained += means[chosen] - means.mean()
        variance += means.var()
        policy.update(actions[chosen], means[chosen] + 0.1 * rng.standard_normal())
    return gained, variance


@pytest.mark.parametrize("cls", [cls for cls in POLICIES.values() if hasattr(cls, "theta")])
def test_a_policy_with_an_estimate_learns(cls: type[Policy]) -> None:
    """With a fixed parameter it beats a uniform choice. Five runs, because some policies draw."""
    assert np.mean([gains(cls, replication)[0] for replication in range(5)]) > 200


def test_the_floor_gains_nothing() -> None:
    """Random is a uniform choice, within 4 standard deviations (fails by chance: 6e-5)."""
    gained, variances = np.transpose([gains(driftbandits.Random, n) for n in range(5)])
    assert abs(gained.sum()) < 4 * np.sqrt(variances.sum())
