"""What every registered policy promises; a new one is tested here without an edit."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import driftbandits
from driftbandits import Policy, Problem
from oracles import Floats

POLICIES = driftbandits.registered()
PROBLEM = Problem(
    dim=3, horizon=2000, budget=2.0, change_points=(40, 90), ridge=0.5, noise=0.3, action_bound=2.0
)

every_policy = pytest.mark.parametrize("cls", POLICIES.values(), ids=POLICIES.keys())


def policies_with(*names: str) -> pytest.MarkDecorator:
    """Every policy that has all of these properties or methods."""
    having = {k: cls for k, cls in POLICIES.items() if all(hasattr(cls, name) for name in names)}
    return pytest.mark.parametrize("cls", having.values(), ids=having.keys())


def test_all_but_the_floor_have_an_estimate() -> None:
    """So that the tests of policies with an estimate leave out no other policy."""
    assert [label for label, cls in POLICIES.items() if not hasattr(cls, "theta")] == ["Random"]


def state_of(policy: Policy) -> dict[str, Any]:
    """A copy of the state."""
    return {name: array.copy() for name, array in policy._state._asdict().items()}


def assert_same_state(policy: Policy, expected: dict[str, Any]) -> None:
    """Bit for bit."""
    state = policy._state._asdict()
    assert state.keys() == expected.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name, strict=True)


def action_sets(rounds: int, count: int = 6, seed: int = 3) -> Floats:
    """Action sets (T, K, d) within the problem's bound."""
    sets = np.random.default_rng(seed).standard_normal((rounds, count, PROBLEM.dim))
    return np.asarray(sets / np.linalg.norm(sets, axis=2, keepdims=True) * PROBLEM.action_bound)


def run(policy: Policy, rounds: int, seed: int = 3) -> list[int]:
    """Play against a parameter that jumps, with a late reward now and then."""
    rng = np.random.default_rng(seed)
    choices = []
    for t, actions in enumerate(action_sets(rounds, seed=seed)):
        theta = np.array([0.6, -0.5, 0.2]) * (1 if t < rounds // 2 else -1)
        chosen = policy.select(actions)
        reward = actions[chosen] @ theta + 0.3 * rng.standard_normal()
        if t % 7 == 3:
            late = policy.round
            policy.advance()
            policy.update(actions[chosen], reward, round=late)
        else:
            policy.update(actions[chosen], reward)
        choices.append(chosen)
    return choices


@every_policy
def test_is_labelled_and_described(cls: type[Policy]) -> None:
    assert POLICIES[cls.label] is cls
    assert cls.summary
    assert cls.__doc__
    assert getattr(driftbandits, cls.__name__, cls) is cls


@every_policy
def test_choices_are_indices_and_inputs_stay_as_they_are(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    actions = action_sets(1)[0]
    before = actions.copy()
    chosen = policy.select(actions)
    assert isinstance(chosen, int)
    assert 0 <= chosen < len(actions)
    policy.update(actions[chosen], 1.0)
    policy.update(actions[:2], [1.0, 2.0])
    np.testing.assert_array_equal(actions, before)


@every_policy
def test_one_action_leaves_no_choice(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    for actions in action_sets(20, count=1):
        assert policy.select(actions) == 0
        policy.update(actions[0], 0.5)


@every_policy
def test_any_layout_of_actions_is_taken(cls: type[Policy]) -> None:
    trained = cls.tuned(PROBLEM)
    run(trained, 30)
    actions = action_sets(1)[0]
    wide = np.zeros((12, 6))
    wide[::2, ::2] = actions
    layouts = (actions, actions.tolist(), np.asfortranarray(actions), wide[::2, ::2])
    choices = {trained.copy().select(layout) for layout in layouts}
    assert len(choices) == 1
    rounded = actions.astype(np.float32)
    assert trained.copy().select(rounded) == trained.copy().select(rounded.astype(float))


@every_policy
def test_the_clock(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    actions = action_sets(1)[0]
    assert policy.round == 1
    assert isinstance(policy.round, int)
    policy.update(actions[0], 1.0)
    assert policy.round == 2
    policy.update(actions[:3], [1.0, 2.0, 3.0])
    assert policy.round == 3
    policy.advance()
    policy.advance(rounds=4)
    assert policy.round == 8
    policy.update(actions[0], 1.0, round=2)
    policy.update(actions[:2], [1.0, 2.0], round=[8, 1])
    policy.update(actions[:2], [1.0, 2.0], round=5)
    assert policy.round == 8
    policy.advance(rounds=0.5)
    assert policy.round == 8.5
    policy.update(actions[0], 1.0)
    assert policy.round == 9.5


@every_policy
def test_the_same_run_twice_is_the_same_run(cls: type[Policy]) -> None:
    one, other = cls.tuned(PROBLEM), cls.tuned(PROBLEM)
    assert run(one, 120) == run(other, 120)
    assert_same_state(one, state_of(other))


@every_policy
def test_asking_changes_no_decision(cls: type[Policy]) -> None:
    asked, plain = cls.tuned(PROBLEM), cls.tuned(PROBLEM)
    for policy in (asked, plain):
        run(policy, 40)
    actions = action_sets(1)[0]
    for name in ("theta", "radius", "round", "config"):
        getattr(asked, name, None)
    for name in ("scores", "widths"):
        if hasattr(asked, name):
            assert getattr(asked, name)(actions).shape == (len(actions),)
    repr(asked)
    assert run(asked, 40, seed=9) == run(plain, 40, seed=9)


@every_policy
@pytest.mark.parametrize("floor", [0.0, 0.03])
def test_propensities_are_those_of_the_next_decision(cls: type[Policy], floor: float) -> None:
    """They sum to one, asking changes nothing, and with a floor none is below ε/K or unknown."""
    base = cls.tuned(PROBLEM)
    policy = cls(**{**base.config, "floor": floor})
    run(policy, 40)
    before = state_of(policy)
    for actions in action_sets(20, seed=8):
        stated = policy.propensities(actions)
        assert_same_state(policy, before)
        decision = policy.decide(actions)
        np.testing.assert_allclose(stated, decision.propensities, rtol=1e-9)
        np.testing.assert_array_equal(decision.propensity, decision.propensities[decision.index])
        if floor > 0:
            assert decision.propensities.min() >= floor / len(actions) * (1 - 1e-12)
        if not np.isnan(stated).any():
            assert stated.sum() == pytest.approx(1, rel=1e-12)
        policy.update(actions[decision.index], 0.3, round=decision.round)
        before = state_of(policy)


@policies_with("scores", "widths")
def test_a_linear_policy_plays_the_largest_score(cls: type[Policy]) -> None:
    policy: Any = cls.tuned(PROBLEM)
    run(policy, 60)
    for actions in action_sets(20, seed=8):
        scores = policy.scores(actions)
        assert policy.select(actions) == int(np.argmax(scores))
        optimistic = actions @ policy.theta + policy.radius * policy.widths(actions)
        np.testing.assert_allclose(scores, optimistic, rtol=1e-12, atol=1e-12)
        assert (policy.widths(actions) > 0).all()


@policies_with("theta")
def test_what_is_handed_out_is_a_copy(cls: type[Policy]) -> None:
    policy: Any = cls.tuned(PROBLEM)
    run(policy, 20)
    theta = policy.theta
    before = theta.copy()
    theta[:] = 99.0
    np.testing.assert_array_equal(policy.theta, before)


@every_policy
def test_configuration_is_frozen_prints_itself_and_is_json(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    with pytest.raises(AttributeError):
        policy.dim = 7  # type: ignore[misc]
    rebuilt = eval(repr(policy), {cls.__name__: cls})  # noqa: S307
    assert rebuilt.config == policy.config
    again = cls(**json.loads(json.dumps(policy.config)))
    assert again.config == policy.config
    assert repr(again) == repr(policy)
    make: Any = cls
    with pytest.raises(TypeError):
        make(3)


@every_policy
def test_a_copy_is_independent(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    run(policy, 50)
    twin = policy.copy()
    before = state_of(policy)
    first = run(twin, 50, seed=5)
    assert_same_state(policy, before)
    assert run(policy, 50, seed=5) == first
    assert_same_state(policy, state_of(twin))


def gains(cls: type[Policy], replication: int) -> tuple[float, float]:
    """What a run of 400 rounds gains over an even choice, and the variance of an even choice."""
    theta = np.array([0.8, 0.4, -0.2])
    policy = cls.tuned(PROBLEM).fresh(replication)
    rng = np.random.default_rng(replication)
    gained = variance = 0.0
    for actions in action_sets(400, seed=11 + replication):
        chosen = policy.select(actions)
        means = actions @ theta
        gained += means[chosen] - means.mean()
        variance += means.var()
        policy.update(actions[chosen], means[chosen] + 0.1 * rng.standard_normal())
    return gained, variance


@policies_with("theta")
def test_a_policy_with_an_estimate_learns(cls: type[Policy]) -> None:
    """Against a fixed parameter it beats an even choice; some draw at random, hence five runs."""
    assert np.mean([gains(cls, replication)[0] for replication in range(5)]) > 200


def test_the_floor_gains_nothing() -> None:
    """Random is an even choice, to four of its standard deviations (a chance of 6e-5)."""
    gained, variances = np.transpose([gains(driftbandits.Random, n) for n in range(5)])
    assert abs(gained.sum()) < 4 * np.sqrt(variances.sum())


@every_policy
@pytest.mark.parametrize("dim", [1, 2, 50])
def test_any_dimension(cls: type[Policy], dim: int) -> None:
    policy = cls.tuned(Problem(dim=dim, horizon=1000, budget=1.0))
    rng = np.random.default_rng(dim)
    for _ in range(15):
        actions = rng.standard_normal((4, dim))
        actions /= np.linalg.norm(actions, axis=1, keepdims=True)
        chosen = policy.select(actions)
        policy.update(actions[chosen], rng.standard_normal())
    for array in policy._state:
        assert np.isfinite(array).all()


@every_policy
def test_zero_actions_are_actions(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    for _ in range(10):
        assert policy.select(np.zeros((3, 3))) in range(3)
        policy.update(np.zeros(3), 0.0)
    for array in policy._state:
        assert np.isfinite(array).all()


@every_policy
def test_long_silence_ends_in_a_working_policy(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    run(policy, 30)
    policy.advance(rounds=10**9)
    assert policy.select(action_sets(1)[0]) in range(6)
    policy.update(action_sets(1)[0][0], 1.0, round=1)
    for array in policy._state:
        assert np.isfinite(array).all()


@every_policy
def test_copies_and_pickles_are_whole_and_apart(cls: type[Policy]) -> None:
    policy = cls.tuned(PROBLEM)
    run(policy, 20)
    before = state_of(policy)
    for twin in (copy.deepcopy(policy), copy.copy(policy), pickle.loads(pickle.dumps(policy))):
        assert_same_state(twin, before)
        assert twin.config == policy.config
        twin.update(np.eye(policy.dim)[0] * policy.action_bound, 1.0)
        assert twin.round == policy.round + 1
        assert_same_state(policy, before)
