"""LB-WeightUCB: its definition, its relation to D-LinUCB, and its tuning."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import oracles
from driftbandits import DLinUCB, Problem
from driftbandits.policies.weighted import family as weighted
from driftbandits.policies.weighted import state
from driftbandits.policies.weighted.lb_weight_ucb import LBWeightUCB
from oracles import History, Truth
from test_policies_exact import TOLERANCE, Case, apply, assert_agrees, cases, discounts


@given(cases(), discounts())
def test_lb_weight_ucb(case: Case, gamma: float) -> None:
    k, history = case.bounds, History()
    policy = LBWeightUCB(gamma=gamma, **case.options)
    for position, event in enumerate(case.events, start=1):
        apply(policy, event)
        history.apply(event)
        if position in (len(case.events) // 2, len(case.events)):
            truth = history.truth(history.discounted(gamma), dim=k.dim, ridge=k.ridge)
            radius = oracles.per_round_radius(k, mu=k.ridge, weight_squares=truth.weight_squares)
            one_matrix = replace(truth, V_squared=truth.V)
            assert_agrees(policy, one_matrix, radius, case.actions)
            assert_misses_by_definition(policy, one_matrix, radius)


def assert_misses_by_definition(policy: Any, truth: Truth, radius: np.longdouble) -> None:
    """The ellipsoid {‖θ̂ − θ‖_V ≤ β}: just inside and just outside, in some direction."""
    direction = np.ones(policy.dim)
    length = float(truth.distance(np.asarray(truth.theta, dtype=float) + direction))
    parameters = state.Parameters(*policy._parameters)
    for factor, missed in ((0.999, False), (1.001, True)):
        theta = np.asarray(truth.theta, dtype=float) + factor * float(radius) / length * direction
        assert weighted.misses(parameters, policy._state, theta) is missed


@given(cases(), discounts())
def test_one_matrix_explores_at_least_as_much_as_two(case: Case, gamma: float) -> None:
    one = LBWeightUCB(gamma=gamma, **case.options)
    two = DLinUCB(gamma=gamma, **case.options)
    for event in case.events:
        apply(one, event)
        apply(two, event)
    # When the open round closes, the early reward no longer has a weight above one.
    for policy in (one, two):
        policy.advance()
    wide, narrow = one.widths(case.actions), two.widths(case.actions)
    assert (wide >= narrow * (1 - TOLERANCE)).all()


def test_lb_weight_ucb_has_the_tuning_of_the_theorem() -> None:
    problem = Problem(dim=3, horizon=1200, budget=2.5, ridge=0.1)
    policy = LBWeightUCB.tuned(problem)
    assert policy.ridge == 3.0
    assert policy.gamma == pytest.approx(1 - math.sqrt(2.5 / 3600), rel=1e-14)
    assert LBWeightUCB.tuned(problem, ridge=0.5).ridge == 0.5


class OneMatrix(weighted.WeightedPolicy):
    """Another policy of the family, which discounts and takes widths from V."""

    tuned = classmethod(lambda cls, problem: cls(dim=problem.dim))

    def _make_parameters(self) -> state.Parameters:
        return self._parameters_with(gamma=0.5, radius=state.PER_ROUND)

    def _initial_state(self) -> state.State:
        return state.initial_state(dim=self.dim, ridge=self.ridge)


def test_any_member_of_the_family_may_have_one_matrix() -> None:
    """The family handles units: V = 1 + 1/2 + 1 is stored as 4 times that."""
    policy = OneMatrix(dim=1, ridge=1.0)
    for _ in range(2):
        policy.update([1.0], 1.0)
    assert policy.widths([[1.0]])[0] == pytest.approx(2.5**-0.5, rel=1e-14)
    expected = policy.theta[0] + policy.radius * 2.5**-0.5
    assert policy.scores([[1.0]])[0] == pytest.approx(expected, rel=1e-14)


def test_a_reward_of_the_open_round_leaves_only_the_wider_inclusion() -> None:
    """Ṽ ≤ V/γ holds for weights up to 1/γ, but Ṽ ≤ V needs weights of at most one."""
    rng = np.random.default_rng(4)
    broken = 0
    for _ in range(300):
        gamma, dim = rng.uniform(0.1, 0.99), int(rng.integers(1, 4))
        policy = DLinUCB(dim=dim, gamma=gamma, ridge=10.0 ** rng.uniform(-2, 1))
        for _ in range(int(rng.integers(1, 6))):
            policy.update(rng.uniform(-0.5, 0.5, dim), 0.0)
        policy.update(rng.uniform(-0.5, 0.5, dim), 0.0, round=policy.round)
        one, two = policy.design, policy.squared_design
        assert np.linalg.eigvalsh(one / gamma - two).min() >= -1e-9
        broken += bool(np.linalg.eigvalsh(one - two).min() < -1e-9)
    assert broken > 200
