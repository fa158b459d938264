"""D-RandLinUCB and D-LinTS: draws by definition, and propensities."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from draws import Stream, some_actions
from driftbandits.policies.weighted.d_lints import DLinTS
from driftbandits.policies.weighted.d_rand_linucb import DRandLinUCB
from oracles import Exact, Floats, History, Truth, exact
from test_policies_exact import TOLERANCE, Case, apply, assert_chooses, cases, discounts

Scale = float | str


def draws_by_definition(
    policy: Any, case: Case, gamma: float, scale: Scale, scores: Callable[..., Exact]
) -> None:
    """Play the stream, and compare choices with those of the definition and the same numbers."""
    k, history = case.bounds, History()
    for position, event in enumerate(case.events, start=1):
        apply(policy, event)
        history.apply(event)
        if position % 7 == 0 or position == len(case.events):
            truth = history.truth(history.discounted(gamma), dim=k.dim, ridge=k.ridge)
            beta = oracles.per_round_radius(k, mu=k.ridge, weight_squares=truth.weight_squares)
            a = math.sqrt(14) * beta if scale == "theory" else exact(scale) * k.noise
            expected = scores(truth, a, Stream(policy), case.actions)
            chosen = policy.select(case.actions)
            assert_chooses(chosen, expected, TOLERANCE * (1 + truth.rounding / TOLERANCE))


def rand_scores(truth: Truth, a: Any, numbers: Stream, actions: Floats) -> Exact:
    return truth.scores(actions, np.longdouble(a * numbers.normal()))


def sampled_scores(truth: Truth, a: Any, numbers: Stream, actions: Floats) -> Exact:
    z = a * exact([numbers.normal() for _ in range(actions.shape[1])])
    theta = truth.theta + oracles.solve(truth.V, oracles.cholesky(truth.V_squared) @ z)
    return np.asarray(exact(actions) @ theta)


scales = st.sampled_from([1.0, 0.3, "theory"])


@given(cases(), discounts(), scales)
def test_d_rand_linucb(case: Case, gamma: float, scale: Any) -> None:
    policy = DRandLinUCB(gamma=gamma, scale=scale, **case.options)
    draws_by_definition(policy, case, gamma, scale, rand_scores)


@given(cases(), discounts(), scales)
def test_d_lints(case: Case, gamma: float, scale: Any) -> None:
    policy = DLinTS(gamma=gamma, scale=scale, **case.options)
    draws_by_definition(policy, case, gamma, scale, sampled_scores)


def trained(cls: Any, *, dim: int = 3, rounds: int = 25, **options: Any) -> Any:
    policy = cls(dim=dim, gamma=0.95, ridge=0.5, **options)
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        action = rng.standard_normal(dim) / (3 * math.sqrt(dim))
        policy.update(action, action[0] + rng.standard_normal())
    return policy


both = pytest.mark.parametrize("cls", [DRandLinUCB, DLinTS])


@both
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("scale", [1.0, "theory"])
def test_propensities_are_the_frequencies_of_choices(cls: Any, count: int, scale: Any) -> None:
    policy, actions, trials = trained(cls, scale=scale), some_actions(count), 20_000
    simulated = 10_000 if cls is DLinTS and count > 2 else math.inf
    exact_ones = math.isinf(simulated)
    propensities = (policy.propensities if exact_ones else policy.estimated_propensities)(actions)
    assert propensities.shape == (count,)
    assert propensities.sum() == pytest.approx(1, abs=1e-12)
    chosen = np.zeros(trials, dtype=int)
    copies = policy.copy()
    for n in range(trials):
        copies._reseed(n)
        chosen[n] = copies.select(actions)
    shares = np.bincount(chosen, minlength=count) / trials
    errors = np.sqrt(propensities * (1 - propensities) * (1 / trials + 1 / simulated))
    assert (abs(shares - propensities) <= 4 * errors + 1e-12).all()


@both
def test_asking_for_propensities_leaves_the_state_as_it_is(cls: Any) -> None:
    policy = trained(cls)
    before = policy.state()
    policy.propensities(some_actions(2))
    policy.propensities(some_actions(6))
    if cls is DLinTS:
        policy.estimated_propensities(some_actions(6))
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@both
def test_propensities_refuse_what_select_refuses(cls: Any) -> None:
    policy = trained(cls)
    for actions in (np.zeros((0, 3)), np.zeros((2, 2)), [[math.nan, 0, 0]], [[2.0, 0, 0]]):
        with pytest.raises(ValueError, match="actions"):
            policy.propensities(actions)
        if cls is DLinTS:
            with pytest.raises(ValueError, match="actions"):
                policy.estimated_propensities(actions)


@pytest.mark.parametrize("count", [2, 9, 40])
def test_exact_propensities_by_brute_force(count: int) -> None:
    policy, actions, points = trained(DRandLinUCB, noise=0.7), some_actions(count), 100_001
    z = 0.7 * np.array([NormalDist().inv_cdf((n + 0.5) / points) for n in range(points)])
    lines = actions @ policy.theta + z[:, None] * policy.widths(actions)
    shares = np.bincount(lines.argmax(axis=1), minlength=count) / points
    np.testing.assert_allclose(policy.propensities(actions), shares, atol=2 / points)


@both
def test_equal_actions_are_played_as_the_first_of_them(cls: Any) -> None:
    policy, action = trained(cls), some_actions(1)[0]
    np.testing.assert_array_equal(policy.propensities([action, action]), [1.0, 0.0])


@both
def test_without_noise_the_best_guess_is_played(cls: Any) -> None:
    policy, actions = trained(cls, noise=0.0), some_actions(2)
    best = np.eye(2)[np.argmax(actions @ policy.theta)]
    np.testing.assert_array_equal(policy.propensities(actions), best)
    assert best[policy.select(actions)] == 1.0


@both
def test_replications_draw_their_own_numbers(cls: Any) -> None:
    policy, actions = trained(cls), some_actions(5)
    runs = {tuple(policy.fresh(n).select(actions) for _ in range(1)) for n in range(30)}
    assert len(runs) > 1
    assert policy.fresh(3).select(actions) == policy.fresh(3).select(actions)
