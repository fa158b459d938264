"""AdaptiveLinUCB: when it audits itself, and that reading it changes nothing."""

from __future__ import annotations

import math

import numpy as np

from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from oracles import Floats


def audits(rounds: int) -> Floats:
    """The rounds, counted from 0, in which the width of audits matters.

    There are two arms. The second one is played only in the first rounds, so auditors have
    forgotten it.
    """
    policy, other, found = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2, audit_radius=0.2), []
    for t in range(rounds):
        if not np.array_equal(policy.scores(np.eye(2)), other.scores(np.eye(2))):
            found.append(t)
        for twin in (policy, other):
            twin.update([0.0, 1.0] if t < 8 and t % 2 else [1.0, 0.0], float(t % 3))
    return np.array(found)


def test_audits_come_evenly() -> None:
    """One in every 10 rounds, and in all phases of any cycle."""
    first, count = 1000, 800
    found = audits(first + 10 * count)
    found = found[found >= first]  # by then, the shorter memories have forgotten the second arm
    np.testing.assert_array_equal(found // 10, first // 10 + np.arange(count))
    for period in (2, 3, 5, 7, 12, 24, 25, 60):
        counts = np.bincount(found % period, minlength=period)
        # Random places would give counts with variance n (1 − 1/p)/p.
        deviation = math.sqrt(count / period * (1 - 1 / period))
        assert np.abs(counts - count / period).max() < 4 * deviation


def test_where_actions_are_fresh_nothing_is_audited() -> None:
    """The auditor knows all directions equally well, so the current expert decides."""
    policy, rng = AdaptiveLinUCB(dim=2), np.random.default_rng(0)
    never, different = AdaptiveLinUCB(dim=2, audit_every=1e9), 0
    for t in range(2000):
        actions = rng.uniform(-1, 1, (10, 2))
        different += t >= 200 and policy.select(actions) != never.select(actions)
        reward = actions[0, 0] + rng.standard_normal()
        for twin in (policy, never):
            twin.update(actions[0], reward)
    assert different == 0


def test_scores_do_not_depend_on_how_often_they_are_asked_for() -> None:
    policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(4)
    for t in range(120):
        actions = rng.uniform(-0.5, 0.5, (4, 3))
        first = policy.scores(actions)
        policy.select(rng.uniform(-0.5, 0.5, (2, 3)))
        np.testing.assert_array_equal(policy.scores(actions), first)
        policy.update(actions[t % 4], float(rng.standard_normal()))
