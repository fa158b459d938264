"""Late rewards in a window: exact in any order, and as cheap in a longer window."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracles
from driftbandits import BOB, StateFileError, SWLinUCB, load
from oracles import History, Late, Update

DIM, WINDOW = 3, 60


def draw(rng: np.random.Generator, clock: float) -> Update | Late:
    """A reward on time, or up to four late ones; some are later than the window."""
    count = int(rng.integers(1, 5))
    actions = rng.uniform(-0.5, 0.5, (count, DIM))
    rewards = rng.normal(size=count)
    if clock < 1 or rng.random() < 0.4:
        return Update(actions[:1], rewards[:1])
    rounds = np.maximum(clock + 1 - np.floor(rng.uniform(0, 1.3 * WINDOW, count)), 1.0)
    return Late(actions, rewards, rounds)


@pytest.mark.parametrize("seed", range(3))
def test_rewards_in_any_order_count_while_their_rounds_are_in_the_window(seed: int) -> None:
    rng, history = np.random.default_rng(seed), History()
    policy = SWLinUCB(dim=DIM, window=WINDOW, ridge=0.5)
    for step in range(1200):
        event = draw(rng, history.clock)
        history.apply(event)
        if isinstance(event, Late):
            policy.update(event.actions, event.rewards, round=event.rounds)
        else:
            policy.update(event.actions[0], float(event.rewards[0]))
        if rng.random() < 0.1:
            policy.advance(rounds=0.5)
            history.apply(oracles.Advance(0.5))
        if step % 60 == 59:
            truth = history.truth(history.windowed(WINDOW), dim=DIM, ridge=0.5)
            np.testing.assert_allclose(policy.design, truth.V.astype(float), rtol=1e-12)
            np.testing.assert_allclose(policy.theta, truth.theta.astype(float), rtol=1e-10)
    policy.advance(rounds=WINDOW + 1)
    np.testing.assert_array_equal(policy.moment, np.zeros(DIM))


def _changed(policy: Any, call: Callable[[], None]) -> int | None:
    """Rows that a call has changed, or None if an array had to grow."""
    before = policy.state()
    call()
    after = policy.state()
    names = ("history", "belated")
    if any(before[name].shape != after[name].shape for name in names):
        return None
    return sum(int((before[name] != after[name]).any(axis=1).sum()) for name in names)


@pytest.mark.parametrize("window", [100, 1600])
def test_a_late_reward_moves_few_rows(window: int) -> None:
    """At most one row on each level of a tree, when it arrives and when it leaves."""
    rng = np.random.default_rng(1)
    policy = SWLinUCB(dim=DIM, window=window)
    action = np.array([0.1, 0.2, 0.3])
    for _ in range(window):
        policy.update(action, 1.0)
    for _ in range(window):
        policy.update(action, float(rng.normal()), round=policy.round - int(rng.integers(window)))
    levels, seen = math.ceil(math.log2(window)) + 2, []
    for _ in range(50):
        late = policy.round - window + 1
        moved = _changed(policy, partial(policy.update, action, rng.normal(), round=late))
        seen.append(moved)
        assert moved is None or moved <= levels
        held = policy.state()["belated"][0, 0]
        moved = _changed(policy, policy.advance)
        left = held - policy.state()["belated"][0, 0]
        assert moved is not None
        assert moved <= 1 + left * levels
    assert seen.count(None) <= 1


def test_saved_with_late_rewards_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    policy = SWLinUCB(dim=DIM, window=WINDOW)

    def go_on(which: Any, seed: int) -> None:
        draws = np.random.default_rng(seed)
        for _ in range(150):
            event = draw(draws, which.round - 1)
            late = event.rounds if isinstance(event, Late) else None
            which.update(event.actions, event.rewards, round=late)

    go_on(policy, int(rng.integers(9)))
    assert policy.state()["belated"][0, 0] > 10
    policy.save(tmp_path / "policy.npz")
    again = load(tmp_path / "policy.npz")
    for which in (policy, again):
        go_on(which, 7)
    for name, array in policy.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


@pytest.mark.parametrize("count", [-1.0, 2.5, 1e6])
def test_a_count_of_late_rows_that_cannot_be_is_refused(count: float) -> None:
    policy = SWLinUCB(dim=DIM, window=WINDOW)
    state = policy.state()
    state["belated"][0, 0] = count
    with pytest.raises(StateFileError, match="belated"):
        policy.restore(state)


def test_what_was_late_is_forgotten_at_a_restart() -> None:
    policy = BOB(dim=1, horizon=100)  # in blocks of 10 rounds
    for _ in range(8):
        policy.update([1.0], 1.0)
    for round in (3, 1, 5):
        policy.update([1.0], 1.0, round=round)
    policy.advance(rounds=30)
    np.testing.assert_array_equal(policy.moment, [0.0])
    policy.update([1.0], 1.0)
    np.testing.assert_array_equal(policy.moment, [1.0])


def late_and_on_time() -> tuple[SWLinUCB, History]:
    """Six rounds with rewards; the rewards of rounds 4 and 2 came last."""
    policy, history = SWLinUCB(dim=2, window=10), History()
    rng = np.random.default_rng(3)
    rows, rewards = rng.uniform(-0.5, 0.5, (6, 2)), rng.normal(size=6)
    for _ in range(6):
        policy.advance()
        history.apply(oracles.Advance(1.0))
    for t in (0, 2, 4, 5, 3, 1):
        event = Late(rows[t : t + 1], rewards[t : t + 1], np.array([t + 1.0]))
        policy.update(event.actions, event.rewards, round=event.rounds)
        history.apply(event)
    assert policy.state()["belated"][0, 0] == 2
    return policy, history


def assert_true(policy: Any, history: History) -> None:
    truth = history.truth(history.windowed(10), dim=policy.dim, ridge=policy.ridge)
    np.testing.assert_allclose(policy.design, truth.V.astype(float), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(policy.moment, truth.b.astype(float), rtol=1e-13, atol=1e-14)


def all_leave_in_time(policy: Any, history: History) -> None:
    """Compare in every round until all rewards have left."""
    for _ in range(12):
        assert_true(policy, history)
        policy.advance()
        history.apply(oracles.Advance(1.0))
    np.testing.assert_array_equal(policy.moment, np.zeros(policy.dim))


def test_late_rewards_can_be_amended() -> None:
    policy, history = late_and_on_time()
    for place in (0, 4, 5):  # one in order, two late
        old, history.rewards[place] = history.rewards[place], 7.0
        action, round = history.actions[place], history.rounds[place]
        policy.amend(action, round=round, old=old, new=7.0)
        with pytest.raises(ValueError, match="must have an observation"):
            policy.amend(action, round=round, old=old, new=7.0)
    all_leave_in_time(policy, history)


def test_late_rewards_are_merged() -> None:
    policy, history = late_and_on_time()
    other = SWLinUCB(dim=2, window=10)
    other.update([0.5, 0.5], 1.0)
    other.advance(rounds=2)
    for event in (Late(np.full((1, 2), 0.25), np.ones(1), np.array([t])) for t in (3.0, 2.0)):
        other.update(event.actions, event.rewards, round=event.rounds)
        history.apply(event)
    history.apply(Late(np.full((1, 2), 0.5), np.ones(1), np.ones(1)))
    all_leave_in_time(policy.merged(other), history)
    policy, history = late_and_on_time()
    all_leave_in_time(policy, history)


def test_late_rewards_are_widened_and_forgotten_along_a_coordinate() -> None:
    policy, history = late_and_on_time()
    wider = policy.widened(dim=3)
    wide = History(history.clock, history.steps, history.rounds, [], history.rewards)
    wide.actions = [np.append(action, 0.0) for action in history.actions]
    all_leave_in_time(wider, wide)
    policy, history = late_and_on_time()
    policy.forget([0])
    history.actions = [action * [0.0, 1.0] for action in history.actions]
    all_leave_in_time(policy, history)


@pytest.mark.parametrize("steps", [3, 5, 7, 11])
def test_at_fractions_of_a_round_a_row_leaves_when_it_stops_counting(steps: int) -> None:
    """A row is in the sums as long as a late reward of its round would count."""
    policy, late = SWLinUCB(dim=1, window=3), SWLinUCB(dim=1, window=3)
    for one in (policy, late):
        one.advance(rounds=1 / steps)
    round = policy.round
    policy.update([1.0], 1.0, round=round)
    for _ in range(4 * steps):
        twin = late.copy()
        twin.update([1.0], 1.0, round=round)
        assert policy.moment[0] == twin.moment[0]
        for one in (policy, late):
            one.advance(rounds=1 / steps)
