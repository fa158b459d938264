"""Several threads on one policy: a call while another runs is refused, and nothing is lost."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, DLinUCB, Policy, SWLinUCB
from driftbandits.core.blocks import Block
from driftbandits.core.packing import BUSY

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
        lambda: SWLinUCB(dim=DIM, window=5000),  # whose arrays grow
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
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_every_decision_knows_its_own_round_and_every_late_reward_its_age() -> None:
    """The round was read before the call, and might be that of another thread's decision."""
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
