"""A million rounds of hard data: no drift from the sums, no loss of definiteness, no growth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oracles
from driftbandits import DLinUCB, LinUCB, SWLinUCB
from driftbandits.environments import Block
from oracles import Exact, Floats

DIM, BLOCK, BLOCKS = 5, 50_000, 20
ROUNDS = BLOCK * BLOCKS
GAMMA, WINDOW = 0.999, 1000
TOLERANCE = 1e-8
OPTIONS: dict[str, Any] = {"dim": DIM, "ridge": 0.1, "noise": 1.0}


def hidden_direction() -> Floats:
    """A unit vector along no axis; all actions are orthogonal to it."""
    normal = np.random.default_rng(1).standard_normal(DIM)
    return np.asarray(normal / np.linalg.norm(normal))


def block(index: int) -> tuple[Floats, Floats]:
    """Three directions, repeated and collinear, and rewards from 1 to 1e6 in size."""
    rng = np.random.default_rng([7, index])
    base = np.random.default_rng(2).standard_normal((3, DIM))
    base -= np.outer(base @ hidden_direction(), hidden_direction())
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    actions = base[rng.integers(3, size=BLOCK)] * rng.choice([-1.0, 0.5, 1.0], (BLOCK, 1))
    return actions, rng.choice([-1.0, 1.0], BLOCK) * 10 ** rng.uniform(0, 6, BLOCK)


def play(policy: Any, actions: Floats, rewards: Floats) -> None:
    """The rounds of a block, one action each, in compiled code."""
    count = len(rewards)
    block = Block(
        first=policy.round,
        actions=np.ascontiguousarray(actions[:, :, None]),
        parameters=np.zeros((count, DIM)),
        means=rewards[:, None].copy(),
        best=rewards,
        noise=np.zeros((count, 1)),
        longest=1.0,
    )
    policy.play(block, regret=np.empty(count))


def truth(weigh: Callable[[Floats], Exact], blocks: int) -> oracles.Truth:
    """Sums over the whole history, one block at a time, and a new solve."""
    V = np.longdouble(OPTIONS["ridge"]) * np.eye(DIM, dtype=np.longdouble)
    V_squared, b = V.copy(), np.zeros(DIM, dtype=np.longdouble)
    for index in range(blocks):
        actions, rewards = block(index)
        ages = blocks * BLOCK - 1.0 - np.arange(index * BLOCK, (index + 1) * BLOCK)
        part = oracles.estimate(actions, rewards, weigh(ages), ridge=1.0, mu=1.0)
        identity = np.eye(DIM, dtype=np.longdouble)
        V += part.V - identity
        V_squared += part.V_squared - identity
        b += part.b
    return oracles.Truth(V, V_squared, b, oracles.solve(V, b), np.longdouble(0), 0.0)


def checkpoints(policy: Any) -> Iterator[int]:
    """Play all blocks; stop after the first block, half-way and at the end."""
    for index in range(BLOCKS):
        play(policy, *block(index))
        assert np.isfinite(policy.theta).all()
        if index + 1 in (1, BLOCKS // 2, BLOCKS):
            yield index + 1


def relative(got: Any, expected: Exact) -> float:
    error = np.linalg.norm(np.asarray(oracles.exact(got) - expected, dtype=float))
    return float(error / np.linalg.norm(np.asarray(expected, dtype=float)))


CASES = {
    "D-LinUCB": (
        lambda: DLinUCB(gamma=GAMMA, **OPTIONS),
        lambda ages: oracles.exact(GAMMA) ** oracles.exact(ages),
    ),
    "SW-LinUCB": (
        lambda: SWLinUCB(window=WINDOW, **OPTIONS),
        lambda ages: oracles.exact(ages < WINDOW),
    ),
    "LinUCB": (lambda: LinUCB(**OPTIONS), lambda ages: np.ones(len(ages), np.longdouble)),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("make", "weigh"), CASES.values(), ids=CASES.keys())
def test_a_million_rounds(make: Callable[[], Any], weigh: Callable[[Floats], Exact]) -> None:
    policy = make()
    probes = np.vstack([np.eye(DIM), hidden_direction(), block(0)[0][:5]])
    for blocks in checkpoints(policy):
        expected = truth(weigh, blocks)
        design = policy.design
        # V is at least λI, up to the rounding of a sum of n unit terms.
        assert np.linalg.eigvalsh(design)[0] > 0.99 * OPTIONS["ridge"]
        assert (np.diag(policy._state.factor) > 0).all()
        assert relative(design, expected.V) < TOLERANCE
        assert relative(policy.moment, expected.b) < TOLERANCE
        assert relative(policy.theta, expected.theta) < TOLERANCE
        assert relative(policy.widths(probes), expected.widths(probes)) < TOLERANCE
    assert policy.round == ROUNDS + 1
    width = policy.widths(hidden_direction()[None])[0]
    assert width == pytest.approx(OPTIONS["ridge"] ** -0.5, rel=TOLERANCE)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_a_window_forgets_large_rewards_to_the_last_digit(scale: float) -> None:
    """Traces of rewards of size 1e6 in the sums must not show among small rewards."""
    policy = SWLinUCB(window=50, **OPTIONS)
    rng = np.random.default_rng(4)
    actions = rng.standard_normal((400, DIM))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    rewards = rng.standard_normal(400) * np.where(np.arange(400) % 100 < 50, 1e6, scale)
    for t in range(400):
        policy.update(actions[t], rewards[t])
        last = slice(max(0, t - 49), t + 1)
        ones = np.ones(last.stop - last.start)
        expected = oracles.estimate(actions[last], rewards[last], ones, ridge=0.1, mu=0.1)
        assert relative(policy.theta, expected.theta) < TOLERANCE, f"round {t + 1}"


@pytest.mark.parametrize("norm", [1e2, 1e3, 1e5])  # longer ones are refused at this ridge
def test_a_window_forgets_large_actions_to_the_last_digit(norm: float) -> None:
    """Traces of long actions in the sums must not show among short actions."""
    policy = SWLinUCB(window=20, action_bound=norm, **OPTIONS)
    rng = np.random.default_rng(6)
    actions = rng.standard_normal((200, DIM))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    actions *= np.where(np.arange(200) % 50 < 5, norm, 1.0)[:, None]
    rewards = rng.standard_normal(200)
    for t in range(200):
        policy.update(actions[t], rewards[t])
        last = slice(max(0, t - 19), t + 1)
        if np.linalg.norm(actions[last], axis=1).max() < 2.0:
            ones = np.ones(last.stop - last.start)
            expected = oracles.estimate(actions[last], rewards[last], ones, ridge=0.1, mu=0.1)
            assert relative(policy.design, expected.V) < TOLERANCE, f"round {t + 1}"
            assert relative(policy.theta, expected.theta) < TOLERANCE, f"round {t + 1}"


def test_memory_of_d_linucb_does_not_grow(tmp_path: Any) -> None:
    policy = DLinUCB(gamma=GAMMA, **OPTIONS)
    sizes = []
    for index in range(3):
        play(policy, *block(index))
        policy.save(tmp_path / "policy.npz")
        held = sum(array.nbytes for array in policy._state)
        sizes.append((held, (tmp_path / "policy.npz").stat().st_size))
    assert len(set(sizes)) == 1
    assert sizes[0][0] < 10_000


def test_memory_of_a_window_is_that_of_the_window() -> None:
    policy = SWLinUCB(window=100, **OPTIONS)
    actions, rewards = block(0)
    for action, reward in zip(actions[:3000], rewards, strict=False):
        policy.update(action, reward)
    assert len(policy._state.history) <= 256
    play(policy, actions, rewards)
    assert len(policy._state.history) <= 512


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
def test_weights_that_vanish_are_harmless(gamma: float) -> None:
    policy = DLinUCB(gamma=gamma, **OPTIONS)
    policy.update(np.eye(DIM), np.full(DIM, 1e6))
    policy.advance(rounds=10**7)
    np.testing.assert_array_equal(policy.theta, np.zeros(DIM))
    np.testing.assert_allclose(policy.widths(np.eye(DIM)), OPTIONS["ridge"] ** -0.5, rtol=1e-12)
