"""Compares regret bounds and rates with their formulas and with the regret of policies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from driftbandits import DLinUCB, SWLinUCB
from driftbandits.environments import Block
from driftbandits.policies.weighted.lb_weight_ucb import LBWeightUCB
from driftbandits.policies.weighted.restart_ucb import RestartUCB
from driftbandits.theory import bounds, tuning
from oracles import Bounds, Floats

REL = 1e-12
settings = st.builds(
    Bounds,
    dim=st.integers(1, 50),
    ridge=st.floats(1e-6, 1e3),
    noise=st.just(0.0) | st.floats(1e-100, 10.0),
    delta=st.floats(1e-6, 0.9),
    theta_bound=st.just(0.0) | st.floats(1e-100, 10.0),
    action_bound=st.floats(0.1, 10.0),
)
horizons = st.integers(1, 10**6)
# Smaller values, except zero, are refused.
budgets = st.just(0.0) | st.floats(1e-100, 1e3)


# --- Formulas -----------------------------------------------------------------------------------


def discounted_spread(k: Bounds, horizon: int, gamma: float, delta: float, largest: float) -> float:
    """2√2 max(M, β_T) √(dT) √(T log(1/γ) + log(1 + L²/(dλ(1−γ)))), with β_T at ``delta``."""
    at = Bounds(**{**vars(k), "delta": delta})
    squares = (1 - gamma ** (2 * horizon)) / (1 - gamma**2)
    beta = float(oracles.per_round_radius(at, mu=k.ridge, weight_squares=squares))
    memory = math.log(1 + k.action_bound**2 / (k.dim * k.ridge * (1 - gamma)))
    growth = horizon * math.log(1 / gamma) + memory
    return 2 * math.sqrt(2) * max(largest, beta) * math.sqrt(k.dim * horizon * growth)


@given(settings, horizons, budgets, st.floats(0.1, 1 - 1e-6), st.integers(1, 10**4))
def test_d_linucb_bounds(k: Bounds, horizon: int, budget: float, gamma: float, lag: int) -> None:
    options: dict[str, Any] = {"horizon": horizon, "gamma": gamma, **vars(k)}
    L, S, largest = k.action_bound, k.theta_bound, k.action_bound * k.theta_bound
    tail = 4 * L**3 * S / k.ridge * gamma**lag / (1 - gamma) * horizon
    published = 2 * L * lag * budget + tail
    published += discounted_spread(k, horizon, gamma, k.delta, largest)
    got = bounds.d_linucb_bound(budget=budget, lag=lag, **options)
    assert got == pytest.approx(published, rel=REL)
    spread = discounted_spread(k, horizon, gamma, k.delta / horizon, largest)
    by_budget = 2 * L**2 * budget * (1 + math.sqrt(gamma)) / math.sqrt(k.ridge * (1 - gamma) ** 3)
    by_changes = 2 * largest * lag * 3 + tail
    for given_, bias in (
        ({"budget": budget}, by_budget),
        ({"changes": 3}, by_changes),
        ({"budget": budget, "changes": 3}, min(by_budget, by_changes)),
    ):
        proved = bounds.d_linucb_proved_bound(lag=lag, **given_, **options)
        assert proved == pytest.approx(bias + spread, rel=1e-9)


@given(settings, horizons, budgets, st.integers(1, 10**4))
def test_sw_linucb_bounds(k: Bounds, horizon: int, budget: float, window: int) -> None:
    options: dict[str, Any] = {"horizon": horizon, "window": window, **vars(k)}
    L, largest = k.action_bound, k.action_bound * k.theta_bound
    seen = min(horizon, window)
    beta = float(oracles.union_window_radius(k, horizon=horizon, weight_squares=seen))
    growth = math.ceil(horizon / window) * math.log(1 + L**2 * window / (k.ridge * k.dim))
    spread = 2 * math.sqrt(2) * max(largest, beta) * math.sqrt(k.dim * horizon * growth)
    got = bounds.sw_linucb_bound(budget=budget, **options)
    assert got == pytest.approx(2 * L * budget * window + spread, rel=REL)
    by_budget = 2 * L**2 * budget / math.sqrt(k.ridge)
    by_budget *= 2 / 3 * window**1.5 + 0.5 * math.sqrt(window)
    proved = bounds.sw_linucb_proved_bound(budget=budget, **options)
    assert proved == pytest.approx(by_budget + spread, rel=REL)
    proved = bounds.sw_linucb_proved_bound(changes=2, **options)
    assert proved == pytest.approx(2 * largest * window * 2 + spread, rel=REL)


def test_the_default_lag_is_a_whole_number_of_rounds() -> None:
    options: dict[str, Any] = {"dim": 2, "horizon": 6000, "budget": 1.5, "gamma": 0.997422}
    lag = math.ceil(math.log(6000) / (1 - 0.997422))
    assert bounds.d_linucb_bound(**options) == bounds.d_linucb_bound(lag=lag, **options)


@given(st.integers(1, 100), horizons, budgets)
def test_rates(dim: int, horizon: int, budget: float) -> None:
    options: dict[str, Any] = {"dim": dim, "horizon": horizon, "budget": budget}
    published = (dim * horizon) ** (2 / 3) * budget ** (1 / 3)
    assert bounds.published_rate(**options) == pytest.approx(published, rel=REL)
    still = dim * math.sqrt(horizon)
    corrected = (dim**3 * budget * horizon**3) ** 0.25 + still
    assert bounds.corrected_rate(**options) == pytest.approx(corrected, rel=REL)
    refined = (dim**5 * budget**2 * horizon**6) ** 0.125 + still
    assert bounds.refined_rate(**options) == pytest.approx(refined, rel=REL)


def test_rates_without_drift() -> None:
    """A stationary problem still costs d√T."""
    options: dict[str, Any] = {"dim": 4, "horizon": 900, "budget": 0.0}
    assert bounds.corrected_rate(**options) == bounds.refined_rate(**options) == 4 * 30
    assert bounds.published_rate(**options) == 0.0


@pytest.mark.parametrize("name", ["corrected", "refined"])
@given(dim=st.integers(1, 200), horizon=st.integers(10**2, 10**8), exponent=st.floats(-4, 1))
def test_the_tunings_reach_their_rates(name: Any, dim: int, horizon: int, exponent: float) -> None:
    """At λ = d, the bound at the tuned memory is the rate times a power of log T.

    For budgets up to horizon^{1 − ε}. The constant comes from β: (√λ S + σ √(…))/√d ≤ 6 √log T.
    """
    budget = dim * 10**exponent
    options: dict[str, Any] = {"dim": dim, "horizon": horizon, "budget": budget}
    if budget > horizon / 4:
        return
    rate = {"corrected": bounds.corrected_rate, "refined": bounds.refined_rate}[name](**options)
    gamma = tuning.discount(tuning=name, **options)
    window = tuning.window(tuning=name, **options)
    common: dict[str, Any] = {"ridge": float(dim), "delta": 0.01, **options}
    logarithms = math.log(horizon) + math.log(100)
    assert bounds.d_linucb_proved_bound(gamma=gamma, **common) < 20 * rate * logarithms
    assert bounds.sw_linucb_proved_bound(window=window, **common) < 20 * rate * logarithms


BAD: list[tuple[str, dict[str, Any]]] = [
    ("dim", {"dim": 0}),
    ("horizon", {"horizon": 0}),
    ("budget", {"budget": -1.0}),
    ("changes", {"changes": -1}),
    ("gamma", {"gamma": 1.0}),
    ("ridge", {"ridge": 0.0}),
    ("delta", {"delta": 1.0}),
    ("theta_bound", {"theta_bound": -1.0}),
    ("action_bound", {"action_bound": 0.0}),
    ("mean_bound", {"mean_bound": -1.0}),
    ("lag", {"lag": 0}),
]


@pytest.mark.parametrize(("name", "changed"), BAD)
def test_bad_arguments(name: str, changed: dict[str, Any]) -> None:
    options = {"dim": 2, "horizon": 100, "gamma": 0.9, "budget": 1.0} | changed
    with pytest.raises(ValueError, match=f"{name} must.*{changed[name]}"):
        bounds.d_linucb_proved_bound(**options)


@pytest.mark.parametrize("rate", [bounds.published_rate, bounds.corrected_rate])
@pytest.mark.parametrize("changed", [{"dim": 0}, {"horizon": 0}, {"budget": -1.0}])
def test_bad_arguments_of_rates(rate: Callable[..., float], changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(changed))} must"):
        rate(**({"dim": 2, "horizon": 100, "budget": 1.0} | changed))


def test_a_proved_bound_needs_to_know_something_of_the_drift() -> None:
    with pytest.raises(ValueError, match="budget or changes must be given"):
        bounds.sw_linucb_proved_bound(dim=2, horizon=100, window=5)


# --- Simulation ---------------------------------------------------------------------------------


def regret(policy: Any, actions: Floats, theta: Floats, noise: Floats) -> float:
    """Dynamic regret of a run: actions (T, K, d), θ (T, d), noise (T,)."""
    columns = np.ascontiguousarray(np.swapaxes(actions, 1, 2))
    means = np.ascontiguousarray(np.einsum("ti,tik->tk", theta, columns))
    out = np.empty(len(theta))
    block = Block(
        first=1,
        actions=columns,
        parameters=np.ascontiguousarray(theta),
        means=means,
        best=means.max(axis=1),
        noise=noise[:, None],
        longest=float(np.linalg.norm(actions, axis=2).max()),
    )
    policy.play(block, regret=out)
    return float(out[-1])  # it is cumulative


def test_erratum_5_theorem_2_needs_a_radius_of_one_or_more() -> None:
    """Ten rounds, each with a new direction, no drift: the published bound 5.37 is too small."""
    dim = 10
    options: dict[str, Any] = {"dim": dim, "gamma": 1 - 1e-6, "ridge": 1e-4, "noise": 1e-3}
    options |= {"theta_bound": math.sqrt(10), "delta": 0.01}
    k = Bounds(dim=dim, ridge=1e-4, noise=1e-3, delta=0.01, theta_bound=10**0.5, action_bound=1.0)
    published = discounted_spread(k, dim, 1 - 1e-6, 0.01, 0.0)
    published += 4 * math.sqrt(10) / 1e-4 * (1 - 1e-6) ** 10**9 / 1e-6 * dim  # D → ∞ costs nothing
    assert published == pytest.approx(5.37, abs=0.01)
    repaired = bounds.d_linucb_bound(horizon=dim, budget=0.0, mean_bound=1.0, lag=10**9, **options)
    rng = np.random.default_rng(4)
    actions = np.stack([np.eye(dim), -np.eye(dim)], axis=1)
    runs = [
        regret(
            DLinUCB(**options),
            actions,
            np.tile(rng.choice([-1.0, 1.0], dim), (dim, 1)),
            1e-3 * rng.standard_normal(dim),
        )
        for _ in range(500)
    ]
    # At least three of ten directions are guessed wrong, and each costs 2: probability 94.5%, with
    # a standard error of 1% here.
    assert np.mean(np.array(runs) > published) == pytest.approx(0.945, abs=0.04)
    assert max(runs) <= repaired


def drifting(rng: np.random.Generator, rounds: int, dim: int, bound: float) -> tuple[Floats, int]:
    """A path of norm at most ``bound`` (T, d), by jumps or by drift, and its number of changes."""
    changes = int(rng.integers(0, min(4, rounds)))
    theta = np.cumsum(rng.standard_normal((rounds, dim)) * 10 ** rng.uniform(-4, 0), axis=0)
    if rng.random() < 0.5:
        starts = np.sort(rng.choice(rounds - 1, changes, replace=False)) + 1
        levels = rng.standard_normal((changes + 1, dim))
        theta = levels[np.searchsorted(starts, np.arange(rounds), side="right")]
    theta *= bound / np.linalg.norm(theta, axis=1).max()
    return theta, int((np.diff(theta, axis=0) != 0).any(axis=1).sum())


def test_proved_bounds_on_small_problems() -> None:
    """Small noise, small ridges, few rounds: here a term missing from a proof would show.

    Every bound may fail with probability δ = 1e-6; none of these 1,200 runs does. With β instead of
    max(M, β) some of them would.
    """
    rng, refuted = np.random.default_rng(7), 0
    for _ in range(300):
        dim, rounds, count = (
            int(rng.integers(low, high)) for low, high in ((1, 6), (2, 80), (2, 6))
        )
        S, L = 10 ** rng.uniform(-1, 1, 2)
        k: dict[str, Any] = {
            "dim": dim,
            "ridge": 10 ** rng.uniform(-8, 2),
            "noise": 10 ** rng.uniform(-5, 0.5),
            "theta_bound": S,
            "action_bound": L,
        }
        theta, changes = drifting(rng, rounds, dim, S)
        actions = rng.standard_normal((rounds, count, dim))
        actions *= L / np.linalg.norm(actions, axis=2, keepdims=True)
        if rng.random() < 0.3:  # a direction is played, left alone, and offered again
            actions[:, :, 0] *= (np.arange(rounds) % 7 < 2)[:, None]
        noise = k["noise"] * rng.standard_normal(rounds)
        gamma, length = 1 - 10 ** rng.uniform(-6, -0.1), int(rng.integers(1, rounds + 1))
        total, known = 1e-6, {"horizon": rounds, "delta": 1e-6, **k}
        budget = float(np.linalg.norm(np.diff(theta, axis=0), axis=1).sum())
        drift: list[dict[str, Any]] = [{"budget": budget}, {"changes": changes}]
        union = {**k, "delta": total / rounds}
        restarted = {**k, "delta": total / math.ceil(rounds / length)}
        discounting = min(bounds.d_linucb_proved_bound(gamma=gamma, **b, **known) for b in drift)
        forgetting = min(bounds.sw_linucb_proved_bound(window=length, **b, **known) for b in drift)
        without = bounds.d_linucb_proved_bound(gamma=gamma, budget=budget, mean_bound=0.0, **known)
        refuted += regret(DLinUCB(gamma=gamma, **union), actions, theta, noise) > without
        for policy, bound in (
            (DLinUCB(gamma=gamma, **union), discounting),
            (LBWeightUCB(gamma=gamma, **union), discounting),
            (RestartUCB(length=length, **restarted), forgetting),
            (
                SWLinUCB(window=length, confidence="union", horizon=rounds, delta=total, **k),
                forgetting,
            ),
        ):
            assert regret(policy, actions, theta, noise) <= bound
    assert refuted > 0


@pytest.mark.parametrize("kind", ["drift", "jumps", "still"])
def test_proved_bounds_where_they_say_something(kind: str) -> None:
    """Over 100,000 rounds the bounds are far below the largest possible regret, and hold."""
    rounds, rng = 100_000, np.random.default_rng(5)
    angle = {
        "drift": np.linspace(0.0, 0.01, rounds),
        "jumps": 2.0 * (np.arange(rounds) >= 60_000),
        "still": np.zeros(rounds),
    }[kind]
    theta = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    actions = rng.standard_normal((rounds, 3, 2))
    actions /= np.linalg.norm(actions, axis=2, keepdims=True)
    noise = 0.1 * rng.standard_normal(rounds)
    gamma, window = {
        "drift": (0.9999, 10_000),
        "jumps": (0.998, 3_000),
        "still": (0.9999, rounds),
    }[kind]
    drift: dict[str, dict[str, Any]] = {
        "drift": {"budget": 0.0101},
        "jumps": {"changes": 1},
        "still": {"changes": 0},
    }
    k: dict[str, Any] = {"dim": 2, "ridge": 2.0, "noise": 0.1}
    known: dict[str, Any] = {"horizon": rounds, **k, **drift[kind]}
    discounting = bounds.d_linucb_proved_bound(gamma=gamma, **known)
    sliding = bounds.sw_linucb_proved_bound(window=window, **known)
    assert max(discounting, sliding) < 2 * rounds
    policy = DLinUCB(gamma=gamma, delta=0.01 / rounds, **k)
    assert regret(policy, actions, theta, noise) <= discounting
    windowed = SWLinUCB(window=window, confidence="union", horizon=rounds, **k)
    assert regret(windowed, actions, theta, noise) <= sliding


def test_the_published_bounds_hold_for_canonical_actions() -> None:
    """Arms that drift and jump; D-LinUCB at δ/T, with every lag: the smallest bound holds too."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        dim, rounds = int(rng.integers(1, 6)), int(rng.integers(2, 120))
        k: dict[str, Any] = {"dim": dim, "ridge": 10 ** rng.uniform(-6, 1), "noise": 0.01}
        theta, _ = drifting(rng, rounds, dim, 1.0)
        budget = float(np.linalg.norm(np.diff(theta, axis=0), axis=1).sum())
        known = {"horizon": rounds, "budget": budget, **k}
        actions = np.tile(np.eye(dim), (rounds, 1, 1))
        noise = 0.01 * rng.standard_normal(rounds)
        gamma, window = 1 - 10 ** rng.uniform(-3, -0.2), int(rng.integers(1, rounds + 1))
        total = 1e-6
        bound = min(
            bounds.d_linucb_bound(gamma=gamma, delta=total / rounds, lag=lag, **known)
            for lag in (1, 2, 5, 20, 100, 10**4)
        )
        policy = DLinUCB(gamma=gamma, delta=total / rounds, **k)
        assert regret(policy, actions, theta, noise) <= bound
        windowed = SWLinUCB(window=window, confidence="union", horizon=rounds, delta=total, **k)
        bound = bounds.sw_linucb_bound(window=window, delta=total, **known)
        assert regret(windowed, actions, theta, noise) <= bound
