"""Events as values, tables of events, and the floor. The contract tests that a replay is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftbandits
from driftbandits import DLinUCB, LinUCB, Policy, Problem, SWLinUCB, events
from driftbandits.core import events as codes
from driftbandits.core.randomness import threefry
from driftbandits.events import (
    Advance,
    Amend,
    Decide,
    Event,
    Forget,
    Learn,
    Packed,
    Select,
    Update,
)
from driftbandits.testing.policies.lives import life
from oracles import Floats

POLICIES = driftbandits.registered()
every_policy = pytest.mark.parametrize("cls", POLICIES.values(), ids=POLICIES.keys())


def make(cls: type[Policy], dim: int, **options: Any) -> Policy:
    tuned = cls.tuned(Problem(dim=dim, horizon=400, budget=2.0, change_points=(30, 60)))
    return cls(**{**tuned.config, **options})


def some_actions(rng: np.random.Generator, count: int, dim: int) -> Floats:
    rows = rng.standard_normal((count, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def assert_same_bits(one: Policy, other: Policy) -> None:
    mine, theirs = one.state(), other.state()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name, strict=True)


@every_policy
@pytest.mark.parametrize("dim", [3, 20])
def test_asking_leaves_no_trace(cls: type[Policy], dim: int) -> None:
    """Not even in the rounding of later sums."""
    asked, plain = make(cls, dim), make(cls, dim)
    actions = some_actions(np.random.default_rng(0), 3, dim)
    for event in list(life(asked, 80)):
        asked.apply(event)
        plain.apply(event)
        for name in ("theta", "radius", "round", "config"):
            getattr(asked, name, None)
        for name in ("scores", "widths", "propensities"):
            if hasattr(asked, name) and not (name == "scores" and asked.refusal("scores")):
                getattr(asked, name)(actions)
        asked.state()
    for policy in (asked, plain):
        policy.select(actions)  # updates everything that is computed from the sums
        if hasattr(policy._state, "factor"):
            # Below the diagonal are leftovers of an earlier factorisation; nothing reads them.
            policy._state.factor[:] = np.triu(policy._state.factor)
        if hasattr(policy._state, "work"):
            policy._state.work[:] = 0.0  # scratch memory, unused between two calls
    assert_same_bits(asked, plain)


def test_propensities_of_a_full_window_are_those_of_the_decision() -> None:
    policy = SWLinUCB(dim=2, window=100, floor=0.2)
    actions = some_actions(np.random.default_rng(3), 5, 2)
    for n in range(64):  # as many as a new window has room for
        policy.update(actions[n % 5], float(n % 3))
    room = len(policy.state()["history"])
    assert room == policy.round - 1
    asked = policy.propensities(actions)
    assert len(policy.state()["history"]) == room
    np.testing.assert_array_equal(asked, policy.decide(actions).propensities)


def test_an_event_is_a_value() -> None:
    actions = np.eye(2)
    assert Decide(actions) == Decide(np.eye(2).tolist())
    assert Decide(actions) != Decide(actions, rounds=0.0)
    assert Decide(actions) != Select(actions)
    assert Learn([1.0, 0.0], 1.0, 3) == Learn([1.0, 0.0], 1.0, 3.0)
    with pytest.raises(AttributeError):
        Advance(1.0).rounds = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"an event of driftbandits\.events is needed, got 3"):
        LinUCB(dim=2).apply(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an event of driftbandits\.events is needed, got 3"):
        LinUCB(dim=2).replay([3])  # type: ignore[list-item]


GOOD = [Decide(np.eye(2)), Learn([1.0, 0.0], 1.0, 1), Advance(2.0)]
BAD: list[tuple[Event, str]] = [
    (Decide([[3.0, 0.0]]), "event 3: actions must have norms of at most action_bound = 1.0, got 3"),
    (Select(np.zeros((0, 2))), r"event 3: actions must have shape \(K, 2\) with K of at least 1"),
    (Decide(np.eye(2), rounds=-1.0), "event 3: rounds must be a finite number, 0 or above, got -1"),
    (Advance(0.0), "event 3: rounds must be a finite number above 0, got 0"),
    (Advance(np.inf), "event 3: rounds must be a finite number above 0, got inf"),
    (Learn([1.0, 0.0], 1.0, 5), "event 3: round must lie between 1 and the open round 4, got 5"),
    (Learn([1.0, 0.0], 1e200, 1), r"event 3: rewards must be at most 1e\+100"),
    (Update([1.0, 0.0], np.nan), "event 3: rewards must be finite"),
    (Amend([1.0, 0.0], 1, 1.0, np.inf), "event 3: new must be finite"),
    (Amend([1.0, 0.0], 0, 1.0, 0.0), "event 3: round must lie between 1"),
    (Decide(np.eye(3)), r"event 3: actions must have length 2, got shape \(3, 3\)"),
    (Forget([2]), "event 3: coordinates must lie from 0 to 1, got 2"),
]


@pytest.mark.parametrize(("event", "message"), BAD)
def test_where_one_event_cannot_be_none_is_applied(event: Event, message: str) -> None:
    policy = LinUCB(dim=2)
    policy.update([0.6, 0.8], 1.0)
    policy.restore(LinUCB(dim=2).state())
    before = policy.copy()
    with pytest.raises(ValueError, match=message):
        policy.replay([*GOOD, event])
    assert_same_bits(policy, before)


UNLIKE_CALLS: list[Event] = [
    Update(np.zeros((0, 2)), []),
    Learn(np.zeros((0, 2)), [], 1),
    Update([1.0, 0.0], [1.0]),
    Update([[1.0, 0.0]], 1.0),
    Learn([1.0, 0.0], [1.0], 1),
    Learn([1.0, 0.0], 1.0, None),
    Advance("2"),  # type: ignore[arg-type]
    Advance(True),
    Advance(None),  # type: ignore[arg-type]
    Decide(np.eye(2), "1"),  # type: ignore[arg-type]
    Decide(np.eye(2), True),
    Amend([1.0, 0.0], 1, "1", 2.0),  # type: ignore[arg-type]
    Amend([1.0, 0.0], 1, 1.0, None),  # type: ignore[arg-type]
    Amend([1.0, 0.0], 1, [1.0], 2.0),  # type: ignore[arg-type]
    Amend([1.0, 0.0], "1", 1.0, 2.0),  # type: ignore[arg-type]
    Update([1.0, 0.0], 10**400),
    Learn([1.0, 0.0], 1.0, 10**400),
    Forget([[0], [0, 1]]),
]


@pytest.mark.parametrize("event", UNLIKE_CALLS)
def test_what_a_call_refuses_a_replay_refuses(event: Event) -> None:
    """With a message of the same kind, and nothing changed by what came before it."""
    policy = LinUCB(dim=2)
    before = policy.copy()
    with pytest.raises(ValueError, match="event 3: "):
        policy.replay([*GOOD, event])
    assert_same_bits(policy, before)
    policy.replay(GOOD)
    before = policy.copy()
    with pytest.raises(ValueError, match="must"):
        policy.apply(event)
    assert_same_bits(policy, before)


def test_a_wrong_event_is_told_by_its_own_number() -> None:
    """Not by the number of rewards before it."""
    batch = Update(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="event 1: rewards must be finite"):
        LinUCB(dim=2).replay([batch, Update(np.eye(2), [1.0, np.nan])])
    with pytest.raises(ValueError, match="event 1: round 1 must have an observation"):
        SWLinUCB(dim=2, window=5).replay([batch, Amend([1.0, 0.0], 1, 0.5, 2.0)])


def test_what_is_no_event_is_told_by_its_number() -> None:
    with pytest.raises(TypeError, match=r"event 3: an event of driftbandits\.events is needed"):
        LinUCB(dim=2).replay([*GOOD, "decide"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="events must be a list of events, got Decide"):
        LinUCB(dim=2).replay(Decide(np.eye(2)))  # type: ignore[arg-type]


def test_an_amendment_that_finds_nothing_undoes_the_replay() -> None:
    policy = SWLinUCB(dim=2, window=5)
    before = policy.copy()
    with pytest.raises(ValueError, match="event 3: round 1 must have an observation of this"):
        policy.replay([*GOOD, Amend([1.0, 0.0], 1, 0.5, 2.0)])
    assert_same_bits(policy, before)


def test_an_operation_that_a_policy_does_not_offer_is_refused_in_replay() -> None:
    policy = driftbandits.DynamicLinUCB(dim=2)
    before = policy.copy()
    with pytest.raises(TypeError, match="event 3: amend is not possible with dLinUCB"):
        policy.replay([*GOOD, Amend([1.0, 0.0], 1, 1.0, 2.0)])
    assert_same_bits(policy, before)


def table(**changes: Any) -> Packed:
    """Two possible events."""
    whole = Packed(
        kinds=np.array([codes.DECIDE, codes.LEARN]),
        starts=np.array([0, 1]),
        counts=np.array([2, 1]),
        numbers=np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0]]),
        rows=np.eye(2),
    )
    return whole._replace(**changes)


def test_events_may_share_rows() -> None:
    replayed, called = LinUCB(dim=2), LinUCB(dim=2)
    replayed.replay(table())
    called.decide(np.eye(2))
    called.update([0.0, 1.0], 0.5, round=1)
    assert_same_bits(replayed, called)


BAD_TABLES: list[tuple[dict[str, Any], str]] = [
    ({"kinds": np.array([1.0, 4.0])}, "kinds must be integers"),
    ({"kinds": np.array([1, 9])}, "event 1: kinds must lie from 0 to 7, got 9"),
    ({"kinds": np.array([1, codes.ALSO])}, "event 1: a further reward of a batch must follow"),
    ({"starts": np.array([0, 2])}, "event 1: rows must lie within the 2 rows, got 2 to 2"),
    ({"starts": np.array([-1, 0])}, "event 0: rows must lie within"),
    ({"counts": np.array([2, 2**62])}, "event 1: rows must lie within"),
    ({"counts": np.array([2, 0])}, "event 1: counts must be 1, got 0"),
    ({"counts": np.array([2])}, "must have shapes"),
    ({"numbers": np.zeros((2, 2))}, "must have shapes"),
    ({"rows": np.eye(3)}, r"rows must have shape \(R, 2\), got \(3, 3\)"),
]


@pytest.mark.parametrize(("change", "message"), BAD_TABLES)
def test_tables_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    policy = LinUCB(dim=2)
    before = policy.copy()
    with pytest.raises(ValueError, match=message):
        policy.replay(table(**change))
    assert_same_bits(policy, before)


def test_no_events_change_nothing() -> None:
    policy = LinUCB(dim=2)
    outcomes = policy.replay([])
    assert [len(column) for column in outcomes] == [0, 0, 0]
    assert policy.round == 1


# --- The floor ------------------------------------------------------------------------------------


def test_threefry_gives_the_known_answers() -> None:
    """The answers that Random123 publishes for threefry2x32 with 20 rounds."""
    word = 0xFFFFFFFF
    compiled = getattr(threefry, "py_func", threefry)
    assert compiled(0, 0, 0, 0) == (0x6B200159, 0x99BA4EFE)
    assert compiled(word, word, word, word) == (0x1CB996FC, 0xBB002BE7)
    assert compiled(0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3) == (0xC4923A9C, 0x483DF7A0)
    assert threefry(0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3) == (0xC4923A9C, 0x483DF7A0)


def uniform_of(policy: Policy, index: int) -> float:
    """Draw number ``index`` of a policy's floor, from its definition."""
    key, words = int(policy.state()["floor"][0]), getattr(threefry, "py_func", threefry)
    high, low = words(key >> 32, key & 0xFFFFFFFF, index, 0)
    return float((high << 21 | low >> 11) / 2**53)


@every_policy
def test_the_floor_by_its_definition(cls: type[Policy]) -> None:
    """u < ε plays action ⌊K u/ε⌋; propensities are (1 − ε) p + ε/K, with p from the rule.

    If p has no closed form, it is the probability given the rule's draw.
    """
    floored, plain = (make(cls, 3, floor=floor, seed=9) for floor in (0.4, 0.0))
    rng = np.random.default_rng(1)
    for t in range(60):
        actions = some_actions(rng, 5, 3)
        stated, asked = plain.propensities(actions), floored.propensities(actions)
        rule, u = plain.decide(actions).index, uniform_of(floored, t)
        decision = floored.decide(actions)
        expected = int(5 * u / 0.4) if u < 0.4 else rule
        assert decision.index == expected
        chances = np.eye(5)[rule] if np.isnan(stated).any() else stated
        np.testing.assert_allclose(decision.propensities, 0.4 / 5 + 0.6 * chances, rtol=1e-12)
        np.testing.assert_allclose(asked, decision.propensities, rtol=1e-9)
        assert decision.propensity == decision.propensities[expected]
        for policy in (floored, plain):
            policy.update(actions[expected], 0.1 * t, round=t + 1)


def test_the_floor_plays_every_action_as_often_as_it_says() -> None:
    """Within 4.5 standard errors for each of five actions; fails by chance with 3e-5."""
    policy, count, floor, rounds = LinUCB(dim=2, floor=0.25), 5, 0.25, 20_000
    actions = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.2, 0.2], [0.1, 0.0]])
    outcomes = policy.replay([Decide(actions) for _ in range(rounds)])
    shares = np.bincount(outcomes.indices, minlength=count) / rounds
    expected = np.full(count, floor / count)
    expected[0] += 1 - floor
    errors = np.sqrt(expected * (1 - expected) / rounds)
    assert (np.abs(shares - expected) < 4.5 * errors).all()


def test_inverse_propensities_are_unbiased_for_a_rule_that_draws_itself() -> None:
    """The mean of 1[a = k]/p is one for every action with p > 0, within 4.5 standard errors.

    Without a floor the second action has p = 0: before any data, its width equals the first one's.
    """
    rounds, count = 20_000, 3
    actions = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    for floor in (0.0, 0.3):
        policy = driftbandits.DRandLinUCB(dim=2, gamma=0.9, floor=floor)
        outcomes = policy.replay([Decide(actions, rounds=0.0) for _ in range(rounds)])
        weights = np.zeros((rounds, count))
        weights[np.arange(rounds), outcomes.indices] = 1 / outcomes.propensities
        errors = weights.std(axis=0) / np.sqrt(rounds)
        possible = [0, 1, 2] if floor > 0 else [0, 2]
        assert (np.abs(weights.mean(axis=0) - 1) < 4.5 * errors)[possible].all()
        assert weights[:, 1].any() == (floor > 0)


def test_propensities_of_policies_that_draw_are_those_they_state() -> None:
    rng = np.random.default_rng(3)
    for cls, count in ((driftbandits.DRandLinUCB, 7), (driftbandits.DLinTS, 2)):
        policy: Any = cls(dim=3, gamma=0.9)
        for _ in range(30):
            actions = some_actions(rng, count, 3)
            stated = policy.propensities(actions)
            decision = policy.decide(actions)
            assert decision.propensity == pytest.approx(stated[decision.index], rel=1e-9)
            policy.update(actions[0], float(actions[0, 0]), round=decision.round)
    assert np.isnan(driftbandits.DLinTS(dim=3, gamma=0.9).decide(np.eye(3)).propensity)
    assert driftbandits.Random(dim=3).decide(np.eye(3)).propensity == pytest.approx(1 / 3)
    assert DLinUCB(dim=3, gamma=0.9).decide(np.eye(3)).propensity == 1.0


def test_forced_rounds_have_their_propensity() -> None:
    policy = driftbandits.DetectRestartLinUCB(dim=2, exploration=0.4)
    actions, seen = np.array([[1.0, 0.0], [0.1, 0.0]]), set()
    for _ in range(60):
        decision = policy.decide(actions)
        seen.add((decision.index, round(decision.propensity, 12)))
    assert seen == {(0, 0.8), (1, 0.2)}


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "x", None, True])
def test_a_floor_out_of_range_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="floor must"):
        LinUCB(dim=2, floor=value)


def test_replications_draw_from_streams_of_their_own() -> None:
    policy = LinUCB(dim=2, floor=0.5)
    actions = some_actions(np.random.default_rng(0), 10, 2)
    runs = [
        policy.fresh(replication).replay([Decide(actions, rounds=0.0)] * 40).indices.tolist()
        for replication in (0, 1, 1)
    ]
    assert runs[0] != runs[1]
    assert runs[1] == runs[2]


def test_the_module_offers_what_it_says() -> None:
    assert set(events.__all__) >= {"Decide", "Learn", "Amend", "Advance", "Forget", "Update"}
