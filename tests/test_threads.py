"""Several threads on one policy: a call while another runs is refused, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
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
