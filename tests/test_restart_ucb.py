"""RestartUCB: its definition and its tuning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from driftbandits import Problem
from driftbandits.policies.weighted.restart_ucb import RestartUCB
from oracles import Exact, History, Truth
from test_policies_exact import Case, cases, replay


@given(cases(), st.integers(1, 40), st.sampled_from(["per-round", "determinant"]))
def test_restart_ucb(case: Case, length: int, confidence: Any) -> None:
    k = case.bounds

    def weigh(history: History) -> Exact:
        blocks = int(history.clock // length)
        return history.restarted([1 + m * length for m in range(1, blocks + 1)])

    def radius(_: History, truth: Truth) -> np.longdouble:
        if confidence == "determinant":
            return oracles.determinant_radius(k, mu=k.ridge, V_squared=truth.V_squared)
        return oracles.per_round_radius(k, mu=k.ridge, weight_squares=truth.weight_squares)

    policy = RestartUCB(length=length, confidence=confidence, **case.options)
    replay(policy, case, weigh, radius)


def test_rewards_from_before_the_last_restart_change_nothing() -> None:
    policy = RestartUCB(dim=2, length=10)
    policy.advance(rounds=25)
    before = policy.state()
    policy.update([1.0, 0.0], 7.0, round=20)
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name])
    policy.update([1.0, 0.0], 7.0, round=21)
    assert policy.theta[0] > 0


def test_restart_ucb_has_all_tunings() -> None:
    problem = Problem(dim=2, horizon=6000, budget=1.5)
    assert RestartUCB.tuned(problem).length == round((12000 / 1.5) ** (2 / 3))
    corrected = RestartUCB.tuned(problem, tuning="corrected")
    assert corrected.length == round(math.sqrt(12000 / 1.5))
    refined = RestartUCB.tuned(problem, tuning="refined")
    assert refined.length == round(2**0.75 * math.sqrt(6000 / 1.5))
    assert corrected.ridge == refined.ridge == 2.0
