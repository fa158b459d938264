"""The factor that follows by rank-one changes, and the ridge that fades, against whole sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oracles
from driftbandits import DLinUCB, LinUCB, SWLinUCB
from driftbandits.environments import ClippedCube, Environment, Gaussian, RandomWalk
from driftbandits.least_squares.forgetting import FACTOR_AGE, UNIT
from driftbandits.policies.weighted.family import FOLLOW_FROM

TOLERANCE = 1e-8
RIDGE = 0.1


def relative(got: Any, expected: Any) -> float:
    difference = np.asarray(oracles.exact(got) - expected, dtype=float)
    return float(np.linalg.norm(difference) / np.linalg.norm(np.asarray(expected, dtype=float)))


def faded_ridge(gamma: float, every: int, rounds: int) -> float:
    """λ_t after ``rounds`` rounds: put in place every ``every`` rounds, or at a hundredth of it."""
    ridge, since = RIDGE, 0
    for _ in range(rounds):
        ridge, since = ridge * gamma, since + 1
        if since >= every or ridge < 0.01 * RIDGE:
            ridge, since = RIDGE, 0
    return ridge


GAMMA, WINDOW = 0.97, 25


def discounted(every: int) -> tuple[Any, Any, Any]:
    """D-LinUCB with its ridge restored every so many rounds."""
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
        # μ fades as the square of the weights, and starts where λ does.
        mu = ridge**2 / RIDGE
        truth = oracles.estimate(actions[:n], rewards[:n], weigh(ages), ridge=ridge, mu=mu)
        assert relative(policy.theta, truth.theta) < TOLERANCE
        assert relative(policy.widths(actions[:6]), truth.widths(actions[:6])) < TOLERANCE
        assert relative(policy.design, truth.V) < TOLERANCE


@pytest.mark.parametrize("every", [1, 3, 20, 1000])
@pytest.mark.parametrize("determinant", [False, True])
@pytest.mark.parametrize("dim", [1, 2, FOLLOW_FROM])
def test_the_blockwise_radius_with_a_fading_ridge(every: int, determinant: bool, dim: int) -> None:
    """A block is a whole number of stretches between two restorations of λ."""
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
    """Up- and downdates, asked after each round; a fresh factorisation agrees to 1e-8."""
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
    assert state.counters[FACTOR_AGE] > 0  # it did follow, and was not made just now
    followed = np.triu(state.factor)
    unit = state.counters[UNIT]
    fresh = np.linalg.cholesky(policy.design * unit).T
    assert relative(followed, oracles.exact(fresh)) < TOLERANCE
    solved = np.linalg.solve(policy.design, policy.moment)
    assert relative(policy.theta, oracles.exact(solved)) < TOLERANCE


@pytest.mark.parametrize("dim", [FOLLOW_FROM, 30])
def test_long_runs_do_not_drift(dim: int) -> None:
    """20,000 rounds of up- and downdates, asked after each; a fresh solve agrees to 1e-8."""
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
