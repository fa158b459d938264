"""Several threads on one policy: a call during another call is refused, and nothing is lost."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, DLinUCB, LinUCB, Policy, Problem, SWLinUCB, registered
from driftbandits.core.blocks import Block
from driftbandits.core.packing import BUSY
from driftbandits.policies.linear import LinearPolicy
from driftbandits.testing.policies.lives import play

DIM = 20


def block(rounds: int) -> Block:
    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.2, 0.2, (1, DIM, 50))
    means = np.tile(actions[0, 0], (rounds, 1))
    return Block(
        first=1,
        actions=actions,
        parameters=np.zeros((rounds, DIM)),
        means=means,
        best=means.max(axis=1),
        noise=rng.standard_normal((rounds, 1)),
        longest=1.0,
    )


def test_what_runs_in_a_thread_is_not_disturbed() -> None:
    rounds = 20_000
    alone, shared = (DLinUCB(dim=DIM, gamma=0.99) for _ in range(2))
    played = block(rounds)
    regret, other = np.empty(rounds), np.empty(rounds)
    alone.play(played, regret=regret)
    alone.copy().update(np.full(DIM, 0.1), 1.0)  # compiled before the other thread runs
    thread = threading.Thread(target=lambda: shared.play(played, regret=other))
    thread.start()
    while thread.is_alive() and shared._packed[BUSY] == 0.0:
        pass
    with pytest.raises(RuntimeError, match="two threads use one policy"):
        shared.update(np.full(DIM, 0.1), 1.0)
    thread.join()
    np.testing.assert_array_equal(other, regret)
    np.testing.assert_array_equal(shared.theta, alone.theta)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DLinUCB(dim=DIM, gamma=0.99),
        lambda: SWLinUCB(dim=DIM, window=5000),  # its arrays grow
        lambda: AdaptiveLinUCB(dim=DIM),
    ],
    ids=["D-LinUCB", "SW-LinUCB", "AdaptiveLinUCB"],
)
def test_threads_lose_no_round(make: Callable[[], Policy]) -> None:
    policy, workers, each = make(), 4, 800
    rng = np.random.default_rng(1)
    actions = rng.uniform(-0.2, 0.2, (50, DIM))
    together = threading.Barrier(workers)

    def work(_: int) -> int:
        together.wait()
        done = 0
        for k in range(each):
            try:
                policy.update(actions[k % 50], 1.0)
                done += 1
            except RuntimeError:
                pass
        return done

    with ThreadPoolExecutor(workers) as pool:
        learned = sum(pool.map(work, range(workers)))
    assert policy.round == learned + 1
    assert all(np.isfinite(array).all() for array in policy.state().values())


@pytest.fixture
def hasty() -> Iterator[None]:
    """Make threads switch as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_every_decision_knows_its_own_round_and_every_late_reward_its_age() -> None:
    """Once the round was read before the call, and could belong to another thread's decision."""
    policy, workers, each = DLinUCB(dim=2, gamma=0.9), 3, 1500
    actions = np.eye(2)
    policy.decide(actions)
    together = threading.Barrier(workers)

    def work(_: int) -> list[int | float]:
        together.wait()
        rounds: list[int | float] = []
        for _ in range(each):
            with contextlib.suppress(RuntimeError):
                rounds.append(policy.decide(actions).round)
                policy.update(actions[0], 1.0, round=1)
        return rounds

    with ThreadPoolExecutor(workers) as pool:
        rounds = [number for made in pool.map(work, range(workers)) for number in made]
    assert sorted(rounds) == list(range(2, policy.round))  # type: ignore[arg-type]


@pytest.mark.usefixtures("hasty")
def test_a_late_reward_has_the_age_that_it_has_when_it_is_learned() -> None:
    policy, known = DLinUCB(dim=1, gamma=0.5, ridge=1.0), []
    stop = threading.Event()

    def close() -> None:
        while not stop.is_set() and policy.round < 500:
            with contextlib.suppress(RuntimeError):
                policy.advance()

    thread = threading.Thread(target=close)
    thread.start()
    for _ in range(3000):
        with contextlib.suppress(RuntimeError):
            policy.update([1.0], 1.0, round=1)
            known.append(1.0)
    stop.set()
    thread.join()
    weight = len(known) * 0.5 ** (policy.round - 2)
    assert policy.design[0, 0] == pytest.approx(1.0 + weight, rel=1e-9)


READS = (
    "theta",
    "radius",
    "design",
    "squared_design",
    "moment",
    "weights",
    "memory",
    "level",
    "noise_estimate",
)


@pytest.mark.parametrize("label", registered())
def test_nothing_is_read_while_another_call_runs(label: str) -> None:
    policy = registered()[label].tuned(Problem(dim=3, horizon=500, budget=1.0))
    play(policy, 20)
    reads = [name for name in READS if hasattr(policy, name) and name not in policy.config]
    reads += ["detections"] if policy.detections_counter >= 0 else []
    for name in reads:
        with policy._alone(), pytest.raises(RuntimeError, match="two threads use one policy"):
            getattr(policy, name)
        getattr(policy, name)
    for name in ("widths", "scores"):
        ask = getattr(policy, name, None)
        if ask is None or (name == "scores" and policy.refusal("scores")):
            continue
        with policy._alone(), pytest.raises(RuntimeError, match="two threads use one policy"):
            ask(np.eye(3))
        ask(np.eye(3))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "make",
    [
        lambda: LinUCB(dim=DIM),  # its factor has rank-one updates
        lambda: DLinUCB(dim=DIM, gamma=0.99, restore_every=20),
        lambda: SWLinUCB(dim=DIM, window=100),
    ],
    ids=["LinUCB", "D-LinUCB", "SW-LinUCB"],
)
def test_what_is_read_was_true_at_some_moment_and_reading_changes_nothing(
    make: Callable[[], LinearPolicy],
) -> None:
    """Without a lock, θ̂ was read while it was written, and an old factor was used."""
    rng = np.random.default_rng(2)
    rows, rewards = rng.uniform(-0.2, 0.2, (600, DIM)), rng.normal(size=600)
    alone, shared = make(), make()
    known = [alone.theta]
    for row, reward in zip(rows, rewards, strict=True):
        alone.update(row, reward)
        known.append(alone.theta)
    stop, read = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            with contextlib.suppress(RuntimeError):
                read.append(shared.theta)

    thread = threading.Thread(target=look)
    thread.start()
    while not read:
        time.sleep(0.001)
    for row, reward in zip(rows, rewards, strict=True):
        while True:
            try:
                shared.update(row, reward)
                break
            except RuntimeError:
                pass
    stop.set()
    thread.join()
    # A factor made for a look follows until the next: its rounding depends on who looked when.
    for theta in np.unique(read, axis=0):
        assert np.abs(np.array(known) - theta).max(axis=1).min() < 1e-10
    for policy in (shared, alone):
        policy.select(rows[:2])
    np.testing.assert_array_equal(shared.theta, alone.theta)


def test_no_call_comes_between_the_parts_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """If arrays have to grow, a batch takes several compiled calls, but is still one round."""
    policy, alone = (SWLinUCB(dim=2, window=500) for _ in range(2))
    rows, rewards = np.tile([[0.6, 0.2]], (300, 1)), np.arange(300.0)
    alone.update(rows, rewards)
    make_room, refused = SWLinUCB._make_room, []

    def gap(self: Policy, rounds: float, *, claimed: bool = False) -> None:
        intrude(self, claimed)
        make_room(self, rounds, claimed=claimed)
        intrude(self, claimed)

    def intrude(self: Policy, begun: bool) -> None:
        if begun:
            with pytest.raises(RuntimeError, match="two threads"):
                self.update(np.array([0.0, 1.0]), 5.0)
            refused.append(1)

    monkeypatch.setattr(SWLinUCB, "_make_room", gap)
    policy.update(rows, rewards)
    assert refused
    for name, array in alone.state().items():
        np.testing.assert_array_equal(policy.state()[name], array, err_msg=name)
    policy.update(np.array([0.0, 1.0]), 5.0)  # it is free again


@pytest.mark.parametrize("count", [1, 100])
def test_a_policy_that_finds_no_memory_can_still_be_used(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = SWLinUCB(dim=2, window=500)
    for _ in range(64):
        policy.update([0.5, 0.5], 1.0)

    def no_memory(self: Policy, state: object, rounds: float) -> None:
        raise MemoryError

    rows, rewards = np.full((count, 2), 0.5), np.ones(count)
    with monkeypatch.context() as patch:
        patch.setattr(SWLinUCB, "_grown", no_memory)
        with pytest.raises(MemoryError):
            policy.update(rows, rewards)
    assert policy.round == 65
    policy.update(rows, rewards)
    assert policy.round == 66
