"""Compares factors with rank-one updates, and ridges that fade, with full sums."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracles
from driftbandits import DLinUCB, LinUCB, SWLinUCB, load
from driftbandits.environments import ClippedCube, Environment, Gaussian, RandomWalk
from driftbandits.least_squares.forgetting import FACTOR_AGE, UNIT
from driftbandits.policies.weighted.family import FOLLOW_FROM

TOLERANCE = 1e-8
RIDGE = 0.1


def relative(got: Any, expected: Any) -> float:
    difference = np.asarray(oracles.exact(got) - expected, dtype=float)
    return float(np.linalg.norm(difference) / np.linalg.norm(np.asarray(expected, dtype=float)))


def faded_ridge(gamma: float, every: int, rounds: int) -> float:
    """λ_t after ``rounds`` rounds: restored every ``every`` rounds, or at a hundredth of λ."""
    ridge, since = RIDGE, 0
    for _ in range(rounds):
        ridge, since = ridge * gamma, since + 1
        if since >= every or ridge < 0.01 * RIDGE:
            ridge, since = RIDGE, 0
    return ridge


GAMMA, WINDOW = 0.97, 25


def discounted(every: int) -> tuple[Any, Any, Any]:
    """D-LinUCB whose ridge is restored after a fixed number of rounds."""
    return (
        lambda dim: DLinUCB(dim=dim, ridge=RIDGE, gamma=GAMMA, restore_every=every),
        lambda ages: GAMMA**ages,
        lambda rounds: faded_ridge(GAMMA, every, rounds),
    )


CASES: dict[str, tuple[Any, Any, Any]] = {
    "LinUCB": (
        lambda dim: LinUCB(dim=dim, ridge=RIDGE),
        lambda ages: np.ones(len(ages)),
        lambda rounds: RIDGE,
    ),
    "SW-LinUCB": (
        lambda dim: SWLinUCB(dim=dim, ridge=RIDGE, window=WINDOW),
        lambda ages: (ages < WINDOW).astype(float),
        lambda rounds: RIDGE,
    ),
    **{f"D-LinUCB, restored every {m}": discounted(m) for m in (1, 3, 20, 1000)},
}


@pytest.mark.parametrize(("make", "weigh", "ridge_at"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("dim", [2, FOLLOW_FROM, 20])
def test_asked_after_every_round(
    make: Callable[[int], Any],
    weigh: Callable[[Any], Any],
    ridge_at: Callable[[int], float],
    dim: int,
) -> None:
    rng = np.random.default_rng(dim)
    policy = make(dim)
    actions = rng.standard_normal((140, dim))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    actions[40:70] = actions[40]  # the same action again and again
    rewards = rng.standard_normal(len(actions))
    for n in range(1, len(actions) + 1):
        policy.update(actions[n - 1], rewards[n - 1])
        policy.select(actions[:4])
        if n % 7:
            continue
        ages = n - np.arange(1.0, n + 1)
        ridge = ridge_at(n)
        # μ fades like the squares of the weights, and starts at λ.
        mu = ridge**2 / RIDGE
        truth = oracles.estimate(actions[:n], rewards[:n], weigh(ages), ridge=ridge, mu=mu)
        assert relative(policy.theta, truth.theta) < TOLERANCE
        assert relative(policy.widths(actions[:6]), truth.widths(actions[:6])) < TOLERANCE
        assert relative(policy.design, truth.V) < TOLERANCE


def unit_actions(rng: np.random.Generator, rounds: int, dim: int) -> Any:
    actions = rng.standard_normal((rounds, dim))
    return actions / np.linalg.norm(actions, axis=1, keepdims=True)


@pytest.mark.parametrize(("make", "weigh", "ridge_at"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("dim", [2, FOLLOW_FROM, 20])
def test_looked_at_after_every_update_where_nobody_decides(
    make: Callable[[int], Any],
    weigh: Callable[[Any], Any],
    ridge_at: Callable[[int], float],
    dim: int,
) -> None:
    """What is read is right, and the next decision is what it is where nobody has looked."""
    rng = np.random.default_rng(dim)
    actions, rewards = unit_actions(rng, 140, dim), rng.standard_normal(140)
    looked, plain = make(dim), make(dim)
    for n in range(1, len(actions) + 1):
        for policy in (looked, plain):
            policy.update(actions[n - 1], rewards[n - 1])
        theta = looked.theta
        if n % 7 == 0:
            ages, ridge = n - np.arange(1.0, n + 1), ridge_at(n)
            weights, mu = weigh(ages), ridge**2 / RIDGE
            truth = oracles.estimate(actions[:n], rewards[:n], weights, ridge=ridge, mu=mu)
            assert relative(theta, truth.theta) < TOLERANCE
            assert relative(looked.widths(actions[:6]), truth.widths(actions[:6])) < TOLERANCE
        if n % 35 == 0:
            scores = [policy.decide(actions[:4], rounds=0).scores for policy in (looked, plain)]
            np.testing.assert_array_equal(*scores)
    for name, array in plain.state().items():
        mine = looked.state()[name]
        if name == "factor":  # what is below its diagonal has no meaning
            mine, array = np.triu(mine), np.triu(array)
        np.testing.assert_array_equal(mine, array, err_msg=name)


@pytest.mark.parametrize("make", [case[0] for case in CASES.values()], ids=CASES.keys())
def test_a_saved_policy_is_looked_at_as_if_it_had_not_been(
    make: Callable[[int], Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    actions, policy = unit_actions(rng, 40, 20), make(20)
    for action in actions:
        policy.update(action, rng.standard_normal())
        _ = policy.theta
    policy.save(tmp_path / "policy.npz")
    loaded: Any = load(tmp_path / "policy.npz")
    for action in actions:
        for one in (policy, loaded):
            one.update(action, 0.5)
        np.testing.assert_array_equal(policy.theta, loaded.theta)


def test_a_factor_that_was_made_for_a_look_is_followed_while_it_serves() -> None:
    """Looking again is O(d²), and a look makes no later update slower for long."""
    rng = np.random.default_rng(0)
    policy = LinUCB(dim=FOLLOW_FROM, ridge=RIDGE)
    actions = unit_actions(rng, 33 + FOLLOW_FROM, FOLLOW_FROM)
    ages: list[float] = []
    for action in actions:
        policy.update(action, 1.0)
        if len(ages) < 3:
            _ = policy.theta
        ages.append(policy._state.counters[FACTOR_AGE])
    assert ages[:4] == [-2.0, -3.0, -4.0, -5.0]
    assert ages[-2:] == [-1.0 - len(actions) + 1, -1.0]
    policy.select(actions[:2])
    assert policy._state.counters[FACTOR_AGE] == 0.0


@pytest.mark.parametrize("every", [1, 3, 20, 1000])
@pytest.mark.parametrize("determinant", [False, True])
@pytest.mark.parametrize("dim", [1, 2, FOLLOW_FROM])
def test_the_blockwise_radius_with_a_fading_ridge(every: int, determinant: bool, dim: int) -> None:
    """A block is a whole number of intervals between restorations of λ."""
    rng = np.random.default_rng(dim)
    confidence: Any = "blockwise-determinant" if determinant else "blockwise"
    policy = DLinUCB(
        dim=dim, ridge=RIDGE, gamma=GAMMA, restore_every=every, confidence=confidence, delta=0.03
    )
    k = oracles.Bounds(
        dim=dim, ridge=RIDGE, noise=1.0, delta=0.03, theta_bound=1.0, action_bound=1.0
    )
    actions = rng.standard_normal((400, dim))
    actions /= np.linalg.norm(actions, axis=1, keepdims=True)
    restored, between = 0, min(every, 152)  # γ^152 is the first power below a hundredth
    for n in range(1, len(actions) + 1):
        policy.update(actions[n - 1], rng.standard_normal())
        if n - restored >= between:
            restored = n
        if n % 13:
            continue
        weights = GAMMA ** (n - np.arange(1.0, n + 1))
        gram = np.einsum("s,si,sj->ij", weights**2, actions[:n], actions[:n])
        expected = oracles.blockwise_radius(
            k,
            gamma=GAMMA,
            clock=n,
            restored=restored,
            between=between,
            weight_squares=(weights**2).sum(),
            gram_squared=oracles.exact(gram) if determinant else None,
        )
        assert policy.radius == pytest.approx(float(expected), rel=TOLERANCE)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["LinUCB", "SW-LinUCB", "D-LinUCB"])
def test_a_million_rounds_do_not_drift(name: str) -> None:
    """Updates and downdates, read after each round; a new factorisation agrees to 1e-8."""
    rounds, dim = 1_000_000 + FOLLOW_FROM // 2, FOLLOW_FROM  # between two restorations of λ
    policy: Any = {
        "LinUCB": LinUCB(dim=dim, ridge=RIDGE),
        "SW-LinUCB": SWLinUCB(dim=dim, ridge=RIDGE, window=500),
        "D-LinUCB": DLinUCB(dim=dim, ridge=RIDGE, gamma=0.999, restore_every=dim),
    }[name]
    environment = Environment(
        path=RandomWalk(step=0.001, dim=dim),
        actions=ClippedCube(dim=dim, count=4),
        noise=Gaussian(0.5),
        horizon=rounds,
    )
    for block in environment.blocks(seed=0, replication=0):
        policy.play(block, regret=np.empty(block.rounds))
    assert policy.round == rounds + 1
    policy.select(np.eye(dim))
    state = policy._state
    assert state.counters[FACTOR_AGE] > 0  # it was updated, and not just computed anew
    followed = np.triu(state.factor)
    unit = state.counters[UNIT]
    fresh = np.linalg.cholesky(policy.design * unit).T
    assert relative(followed, oracles.exact(fresh)) < TOLERANCE
    solved = np.linalg.solve(policy.design, policy.moment)
    assert relative(policy.theta, oracles.exact(solved)) < TOLERANCE


@pytest.mark.parametrize("dim", [FOLLOW_FROM, 30])
def test_long_runs_do_not_drift(dim: int) -> None:
    """20,000 rounds of updates and downdates, read after each; a new solve agrees to 1e-8."""
    rng = np.random.default_rng(0)
    for policy in (
        LinUCB(dim=dim, ridge=RIDGE),
        SWLinUCB(dim=dim, ridge=RIDGE, window=100),
        DLinUCB(dim=dim, ridge=RIDGE, gamma=0.99, restore_every=dim),
    ):
        for _ in range(20_000):
            action = rng.standard_normal(dim)
            policy.update(action / np.linalg.norm(action), rng.standard_normal())
            policy.select(np.eye(dim)[:1])
        fresh = np.linalg.solve(policy.design, policy.moment)
        assert relative(policy.theta, oracles.exact(fresh)) < TOLERANCE
