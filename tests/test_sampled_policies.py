"""D-RandLinUCB and D-LinTS: draws as defined, and propensities."""

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
    """Play the stream, and compare choices with the definition, using the same random numbers."""
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


def misses_at_some_round(radius: float, horizon: int, runs: int) -> int:
    """Runs in which |Σ γ^{n−s} η_s| exceeds β √Ṽ in some of T rounds; d = 1, γ = ½, λ = 0.1."""
    rng, total, squares = np.random.default_rng(8), np.zeros(runs), 0.0
    left = np.zeros(runs, dtype=bool)
    for _ in range(horizon):
        total = 0.5 * total + rng.standard_normal(runs)
        squares = 0.25 * squares + 1
        left |= np.abs(total) > radius * math.sqrt(squares + 0.1)
    return int(left.sum())


@both
def test_the_theory_needs_delta_over_the_square_of_the_horizon(cls: Any) -> None:
    """δ = 1/T (2 log T under the root) does not hold over T rounds with 1 − 1/T; δ = 1/T² does.

    The proof allows 1/T for the event that θ leaves the ellipsoid in any of T rounds.
    """
    horizon, runs = 1000, 4000
    once, twice = (
        cls(dim=1, gamma=0.5, theta_bound=0.0, delta=delta, scale="theory")
        for delta in (1 / horizon, 1 / horizon**2)
    )
    for policy in (once, twice):
        for _ in range(60):  # by then Σ w² has reached its limit 4/3
            policy.update([1.0], 0.0)
    under = math.log(1 + 4 / 3 / 0.1)
    assert once.radius == pytest.approx(math.sqrt(2 * math.log(horizon) + under), rel=1e-9)
    assert twice.radius == pytest.approx(math.sqrt(4 * math.log(horizon) + under), rel=1e-9)
    # 1/T of the runs is 4, with a standard deviation of 2.
    assert misses_at_some_round(once.radius, horizon, runs) > 4 + 6 * 2
    assert misses_at_some_round(twice.radius, horizon, runs) <= 4 + 3 * 2


def test_a_perturbation_that_is_not_shared_grows_with_the_number_of_actions() -> None:
    """Why D-LinTS pays a power of log K: its largest deviation is about √(2 log K) widths.

    For D-RandLinUCB it is |Z| widths for every K. For D-LinTS each deviation is N(0, a² width²), so
    the largest of K is at most √(2 log 2K) on average, and about that for orthogonal actions.
    """
    rng, largest = np.random.default_rng(3), []
    for count in (2, 16, 128):
        V = np.diag(rng.uniform(0.5, 30, count))
        root = np.diag(np.sqrt(rng.uniform(0.5, 20, count)))  # of Ṽ
        spread = np.linalg.solve(V, root)
        actions = np.eye(count)
        widths = np.linalg.norm(actions @ spread, axis=1)
        draws = rng.standard_normal((2000, count)) @ spread.T @ actions.T / widths
        mean = float(np.abs(draws).max(axis=1).mean())
        assert mean <= math.sqrt(2 * math.log(2 * count))
        largest.append(mean / math.sqrt(2 * math.log(count)))
    assert all(0.75 < ratio < 1.25 for ratio in largest)
