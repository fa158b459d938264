"""Amended rewards, forgotten and added coordinates, merged policies, compared with full sums."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftbandits
import oracles
from driftbandits import (
    BOB,
    AdaptiveLinUCB,
    DetectRestartLinUCB,
    DLinTS,
    DLinUCB,
    DLogUCB,
    DRandLinUCB,
    DynamicLinUCB,
    LBWeightUCB,
    LinUCB,
    OracleRestartLinUCB,
    Problem,
    RestartUCB,
    SWLinUCB,
)
from driftbandits import events as happened
from driftbandits.policies.adaptive.policy import AdaptivePolicy
from oracles import Advance, Amend, Bounds, Change, Event, Exact, Forget, History, Late, Source

TOLERANCE = 1e-8
MERGED = 1e-12

Weigh = Callable[[History], Exact]


# The policies whose state is a sum, and the weights of that sum.
MEMBERS: list[tuple[Callable[..., Any], Weigh]] = [
    (LinUCB, History.undiscounted),
    (partial(DLinUCB, gamma=0.93), lambda h: h.discounted(0.93)),
    (partial(DLinTS, gamma=0.9), lambda h: h.discounted(0.9)),
    (partial(DRandLinUCB, gamma=0.9), lambda h: h.discounted(0.9)),
    (partial(LBWeightUCB, gamma=0.97), lambda h: h.discounted(0.97)),
    (partial(SWLinUCB, window=9), lambda h: h.windowed(9)),
    (partial(OracleRestartLinUCB, change_points=(6, 15)), lambda h: h.restarted((6, 15))),
    (partial(RestartUCB, length=11), lambda h: h.restarted(range(1, 500, 11))),
]
members = st.sampled_from(MEMBERS)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Bounds, Source, bool]:
    """The source of a stream, and whether time moves by fractions."""
    bounds = Bounds(
        dim=draw(st.integers(1, 24)),
        ridge=draw(st.sampled_from([1e-3, 0.1, 5.0])),
        noise=0.5,
        delta=0.01,
        theta_bound=1.0,
        action_bound=draw(st.sampled_from([0.5, 1.0])),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    source = Source(
        rng=rng,
        dim=bounds.dim,
        kind=draw(st.sampled_from(oracles.REGULAR)),
        action_bound=bounds.action_bound,
        reward_scale=1.0,
    )
    return bounds, source, draw(st.booleans())


def tell(policy: Any, event: Event | Change, history: History) -> None:
    """Make the call for an event; ``history`` is the history before the event."""
    policy.apply(recorded(event, history))


def recorded(event: Event | Change, history: History) -> happened.Event:
    """An event as the package records it."""
    if isinstance(event, Amend):
        i = event.observation
        known = history.actions[i], history.rounds[i], history.rewards[i]
        return happened.Amend(*known, event.new)
    if isinstance(event, Forget):
        return happened.Forget(event.coordinates)
    if isinstance(event, Advance):
        return happened.Advance(event.rounds)
    if isinstance(event, Late):
        return happened.Learn(event.actions, event.rewards, event.rounds)
    return happened.Update(event.actions, event.rewards)


def assert_close(got: Any, expected: Any, what: str, tolerance: float, scale: float) -> None:
    """Agreement relative to the norm, or to ``scale`` if terms have cancelled."""
    error = float(np.linalg.norm(np.asarray(oracles.exact(got) - expected, dtype=float)))
    assert error <= tolerance * scale, f"{what}: {error / scale:.2e}"


def assert_knows(
    policy: Any, history: History, weights: Exact, bounds: Bounds, tolerance: float = TOLERANCE
) -> None:
    """Compare the sums and outputs of a policy with those of the history."""
    truth = history.truth(weights, dim=bounds.dim, ridge=bounds.ridge)
    norm = float(np.linalg.norm(np.asarray(truth.V, dtype=float)))
    assert_close(policy.design, truth.V, "V", tolerance, norm)
    one_matrix = isinstance(policy, LBWeightUCB)
    squared = truth.V if one_matrix else truth.V_squared
    norm = float(np.linalg.norm(np.asarray(squared, dtype=float)))
    assert_close(policy.squared_design, squared, "V squared", tolerance, norm)
    seen = np.abs(np.array(history.rewards, dtype=float)) @ np.asarray(weights, dtype=float)
    scale = 1.0 + bounds.action_bound * float(seen)
    assert_close(policy.moment, truth.b, "b", tolerance, scale)
    rounding = max(tolerance, 1e3 * truth.rounding)
    size = float(np.linalg.norm(np.asarray(truth.theta, dtype=float)))
    assert_close(policy.theta, truth.theta, "theta", rounding, size + scale / bounds.ridge * 1e-4)


Stream = tuple[Bounds, Source, bool]
Member = tuple[Callable[..., Any], Weigh]


@given(streams(), members, st.integers(1, 60))
def test_a_replay_knows_what_the_sums_say(stream: Stream, member: Member, count: int) -> None:
    """In one compiled call: rewards on time, late and amended, and forgotten coordinates."""
    bounds, source, fractional = stream
    plain = oracles.random_events(source, count, fractional=fractional)
    make, weigh = member
    policy, history, events = make(**vars(bounds)), History(), list[happened.Event]()
    for event in oracles.with_changes(source, plain):
        events.append(recorded(event, history))
        history.apply(event)
        if source.rng.random() < 0.1:
            events.append(happened.Select(source.actions(3)))
    policy.replay(events)
    assert_knows(policy, history, weigh(history), bounds)


@given(streams(), members, st.integers(1, 60))
def test_amended_and_forgotten(stream: Stream, member: Member, count: int) -> None:
    bounds, source, fractional = stream
    plain = oracles.random_events(source, count, fractional=fractional)
    events = oracles.with_changes(source, plain)
    make, weigh = member
    policy, history = make(**vars(bounds)), History()
    for event in events:
        tell(policy, event, history)
        history.apply(event)
        if source.rng.random() < 0.1:
            policy.select(source.actions(3))
    assert_knows(policy, history, weigh(history), bounds)


@given(streams(), members, st.integers(1, 40), st.integers(0, 9))
def test_widened(stream: Stream, member: Member, count: int, more: int) -> None:
    """As if the new coordinates had been there, and zero, from the start."""
    bounds, source, fractional = stream
    dim = bounds.dim + more
    make, weigh = member
    policy, history = make(**vars(bounds)), History()
    for event in oracles.random_events(source, count, fractional=fractional):
        tell(policy, event, history)
        history.apply(event)
    kept = policy.state()
    wider = policy.widened(dim=dim)
    history.actions = [np.append(action, np.zeros(more)) for action in history.actions]
    later = Source(**{**vars(source), "dim": dim})
    for _ in range(int(source.rng.integers(6))):
        event = oracles.Update(later.actions(1), later.rewards(1))
        tell(wider, event, history)
        history.apply(event)
    assert_knows(wider, history, weigh(history), Bounds(**{**vars(bounds), "dim": dim}))
    assert wider.config == {**policy.config, "dim": dim}
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, kept[name])


@given(streams(), members, st.integers(0, 40), st.integers(0, 40))
def test_merged(stream: Stream, member: Member, first: int, second: int) -> None:
    """Each policy saw a part, up to a different round; merged they know everything."""
    bounds, source, fractional = stream
    make, weigh = member
    policies, histories = [make(**vars(bounds)) for _ in range(2)], [History(), History()]
    for policy, history, count in zip(policies, histories, (first, second), strict=True):
        for event in oracles.random_events(source, count, fractional=fractional):
            tell(policy, event, history)
            history.apply(event)
    together = History(clock=max(history.clock for history in histories))
    for history in histories:
        together.rounds += history.rounds
        together.actions += history.actions
        together.rewards += history.rewards
    kept = [policy.state() for policy in policies]
    merged = policies[0].merged(policies[1])
    assert merged.round == together.clock + 1
    assert_knows(merged, together, weigh(together), bounds, MERGED)
    for policy, state in zip(policies, kept, strict=True):
        for name, array in policy.state().items():
            np.testing.assert_array_equal(array, state[name])
    # It continues like a single policy.
    update = oracles.Update(source.actions(1), source.rewards(1))
    tell(merged, update, together)
    together.apply(update)
    assert_knows(merged, together, weigh(together), bounds, MERGED)


LEARN_HALF = """
import sys
import numpy as np
from driftbandits import DLinUCB
half, path = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
policy = DLinUCB(dim=20, gamma=0.99)
for t in range(1, 401):
    action, reward = rng.standard_normal(20) / 10, float(rng.standard_normal())
    if (t > 200) == half:  # the first process stops after its half, the second starts there
        policy.advance(rounds=t - policy.round) if t > policy.round else None
        policy.update(action, reward)
policy.save(path)
"""


def test_two_processes_that_learn_half_a_log_each_equal_one(tmp_path: Path) -> None:
    halves = []
    for half in range(2):
        path = tmp_path / f"{half}.npz"
        subprocess.run([sys.executable, "-c", LEARN_HALF, str(half), str(path)], check=True)
        halves.append(driftbandits.load(path))
    rng = np.random.default_rng(0)
    one = DLinUCB(dim=20, gamma=0.99)
    for _ in range(400):
        one.update(rng.standard_normal(20) / 10, float(rng.standard_normal()))
    for merged in (halves[0].merged(halves[1]), halves[1].merged(halves[0])):
        assert isinstance(merged, DLinUCB)
        assert merged.round == one.round
        for name in ("design", "squared_design", "moment", "theta", "radius"):
            np.testing.assert_allclose(getattr(merged, name), getattr(one, name), rtol=1e-12)


@pytest.mark.parametrize("restore_every", [2, 5, 7, 20])
@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_a_clock_that_catches_up_keeps_the_rounds_at_which_the_ridge_is_restored(
    gamma: float, restore_every: int
) -> None:
    """Odd rounds go to one policy, even rounds to the other, whose clock stops at round 13."""
    one, short, long = (DLinUCB(dim=2, gamma=gamma, restore_every=restore_every) for _ in range(3))
    for t in range(1, 32):
        action, reward = np.array([np.cos(t), np.sin(t)]), float(np.sin(3 * t))
        for policy in (one, long) if t > 13 else (one, long, short):
            policy.advance()
        for policy in (one, long) if t % 2 or t > 13 else (one, short):
            policy.update(action, reward, round=t)
    for merged in (short.merged(long), long.merged(short)):
        for name in ("design", "squared_design", "moment", "theta", "radius"):
            np.testing.assert_allclose(getattr(merged, name), getattr(one, name), rtol=1e-12)


def test_merging_refuses_another_class_or_configuration() -> None:
    one = DLinUCB(dim=2, gamma=0.9)
    with pytest.raises(TypeError, match="same class DLinUCB, got LinUCB"):
        one.merged(LinUCB(dim=2))
    with pytest.raises(ValueError, match=r"gamma = 0\.9 and 0\.8"):
        one.merged(DLinUCB(dim=2, gamma=0.8))
    assert one.merged(DLinUCB(dim=2, gamma=0.9, seed=3)).seed == 0


@pytest.mark.parametrize("cls", [AdaptiveLinUCB, BOB, DetectRestartLinUCB, DLogUCB, DynamicLinUCB])
def test_policies_that_are_no_sum_refuse_to_merge_and_say_why(cls: Any) -> None:
    policy = cls.tuned(Problem(dim=2, horizon=100, budget=1.0))
    with pytest.raises(
        TypeError, match=f"merged is not possible with {policy.label}: .* (order|random)"
    ):
        policy.merged(policy.copy())


@pytest.mark.parametrize("cls", [DetectRestartLinUCB, DynamicLinUCB])
def test_policies_that_cannot_amend_say_why(cls: Any) -> None:
    policy = cls.tuned(Problem(dim=2, horizon=100, budget=1.0))
    policy.update([1.0, 0.0], 1.0)
    with pytest.raises(TypeError, match=f"amend is not possible with {policy.label}: which"):
        policy.amend([1.0, 0.0], round=1, old=1.0, new=0.0)


def test_bob_cannot_be_widened_and_says_why() -> None:
    with pytest.raises(TypeError, match="widened is not possible with BOB: its blocks"):
        BOB(dim=2, horizon=100).widened(dim=3)


def test_an_amendment_of_what_the_window_does_not_hold_is_refused() -> None:
    policy = SWLinUCB(dim=2, window=5)
    for t in range(7):
        policy.update([1.0, 0.0], float(t))
    before = policy.state()
    with pytest.raises(ValueError, match="round 6 must have an observation"):
        policy.amend([1.0, 0.0], round=6, old=4.0, new=1.0)
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name])
    policy.amend([1.0, 0.0], round=6, old=5.0, new=1.0)
    policy.amend([1.0, 0.0], round=1, old=0.0, new=9.0)  # it has left the window: no change
    assert policy.moment[0] == pytest.approx(2 + 3 + 4 + 1 + 6)


BAD_AMENDMENTS: list[tuple[dict[str, Any], str]] = [
    ({"action": [1.0, 0.0, 0.0]}, r"actions must have shape \(K, 2\)"),
    ({"action": [3.0, 0.0]}, "norms of at most action_bound"),
    ({"round": 9}, "round must lie between 1 and the open round 2"),
    ({"old": float("nan")}, "old must be finite"),
    ({"new": "one"}, "new must be an array of numbers"),
    ({"new": 1e200}, "new must be at most"),
]


@pytest.mark.parametrize(("change", "message"), BAD_AMENDMENTS)
def test_bad_amendments_are_refused(change: dict[str, Any], message: str) -> None:
    policy = LinUCB(dim=2)
    policy.update([1.0, 0.0], 1.0)
    given: dict[str, Any] = {"action": [1.0, 0.0], "round": 1, "old": 1.0, "new": 2.0} | change
    with pytest.raises(ValueError, match=message):
        policy.amend(given.pop("action"), **given)
    assert policy.theta[0] == pytest.approx(1 / 1.1)


@pytest.mark.parametrize("coordinates", [[2], [-1], [0.5], "x"])
def test_bad_coordinates_are_refused(coordinates: Any) -> None:
    with pytest.raises(ValueError, match="coordinates must"):
        LinUCB(dim=2).forget(coordinates)


@pytest.mark.parametrize("dim", [0, 1, 2.5, True])
def test_a_policy_is_not_made_narrower(dim: Any) -> None:
    with pytest.raises(ValueError, match="dim must be an integer of at least 2"):
        LinUCB(dim=2).widened(dim=dim)


@pytest.mark.parametrize("label", sorted(driftbandits.registered()))
def test_a_forgotten_coordinate_is_as_unknown_as_at_the_start(label: str) -> None:
    """If each action has its own coordinate, forgetting one does not change the others."""
    policy: Any = driftbandits.registered()[label].tuned(
        Problem(dim=3, horizon=1000, budget=1.0, change_points=())
    )
    fresh, rng = policy.copy(), np.random.default_rng(0)
    for _ in range(60):
        k = int(rng.integers(3))
        policy.update(np.eye(3)[k], [0.2, 0.9, 0.4][k] + 0.05 * rng.standard_normal())
    policy.update(np.eye(3)[1], 0.9)  # stays in the shortest window too
    if not hasattr(policy, "theta"):
        return
    theta, widths = policy.theta, policy.widths(np.eye(3))
    policy.forget([1])
    assert policy.theta[1] == 0.0
    np.testing.assert_allclose(policy.theta[[0, 2]], theta[[0, 2]], rtol=1e-9)
    np.testing.assert_allclose(policy.widths(np.eye(3))[[0, 2]], widths[[0, 2]], rtol=1e-9)
    assert policy.widths(np.eye(3))[1] > widths[1]
    if not isinstance(policy, AdaptivePolicy):  # these learn the ridge
        expected = fresh.widths(np.eye(3))[1]
        assert policy.widths(np.eye(3))[1] == pytest.approx(expected, rel=1e-9)
