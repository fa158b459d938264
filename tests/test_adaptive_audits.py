"""AdaptiveLinUCB: when it audits itself, and that asking changes nothing."""

from __future__ import annotations

import math

import numpy as np

from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from oracles import Floats


def audits(rounds: int) -> Floats:
    """The rounds, counted from 0, in which it matters how wide audits are."""
    policy, other, found = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2, audit_radius=0.2), []
    probe = np.array([[1e-3, 0.0], [0.0, 1e-3]])
    for t in range(rounds):
        if not np.array_equal(policy.scores(probe), other.scores(probe)):
            found.append(t)
        for twin in (policy, other):
            twin.update([0.5, -0.5] if t % 2 else [0.3, 0.6], float(t % 3))
    return np.array(found)


def test_audits_come_evenly() -> None:
    """One in every 25 rounds, and in all phases of whatever recurs."""
    found = audits(8000)
    np.testing.assert_array_equal(found // 25, np.arange(320))
    for period in (2, 3, 5, 7, 12, 24, 25, 60):
        counts = np.bincount(found % period, minlength=period)
        # Places drawn at random would give counts of variance 320 (1 − 1/p)/p.
        deviation = math.sqrt(320 / period * (1 - 1 / period))
        assert np.abs(counts - 320 / period).max() < 4 * deviation


def test_scores_do_not_depend_on_how_often_they_are_asked_for() -> None:
    policy, rng = AdaptiveLinUCB(dim=3), np.random.default_rng(4)
    for t in range(120):
        actions = rng.uniform(-0.5, 0.5, (4, 3))
        first = policy.scores(actions)
        policy.select(rng.uniform(-0.5, 0.5, (2, 3)))
        np.testing.assert_array_equal(policy.scores(actions), first)
        policy.update(actions[t % 4], float(rng.standard_normal()))
