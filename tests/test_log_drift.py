"""Drift is found if it is there, in the right part; false alarms are as rare as promised."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from driftbandits.logs import CannotAnswer, Drift, Log
from driftbandits.logs import levels as levels_module
from driftbandits.logs.dating import largest_change
from driftbandits.logs.levels import Levels
from driftbandits.logs.passes import Stretch
from driftbandits.logs.series import from_neighbours
from driftbandits.logs.stationary import Fit, Level, centred
from driftbandits.logs.verdict import busiest
from log_worlds import world

Array = Any


def asked(seed: int = 0, simulations: int = 59, **options: Any) -> Drift:
    return Log.open(world(seed=seed, **options).frame).drift(simulations=simulations, seed=seed)


def test_a_jump_is_found_and_dated() -> None:
    found = asked(kind="jump", rounds=800, noise=0.5)
    assert found.drifting
    assert found.differences is not None
    assert found.differences.drifts
    assert not found.level.drifts
    start, end = busiest(found.when)
    assert 390 * 3600.0 <= start < end < 700 * 3600.0  # the jump is at hour 400
    assert found.changed is not None
    assert found.changed[0] <= 400 * 3600.0 <= found.changed[1]
    assert found.changed[1] - found.changed[0] < 40 * 3600.0
    assert "the largest change came between" in found.sentence
    assert found.sentence.startswith("Payoffs drift (p = ")
    assert "differences between actions move" in found.sentence
    assert "DLinUCB" in found.snippet
    quantities = set(found.table["quantity"])
    assert {"drifting", "p", "level: p", "differences: p", "contexts: p"} <= quantities


def test_the_date_of_a_jump_is_held_nine_times_in_ten() -> None:
    # Small jumps in clicks: neither the level of a bin nor the date is certain.
    held = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        at = int(rng.integers(150, 450))
        x = rng.choice([-1.0, 1.0], 600)
        mean = 0.3 + 0.15 * x * np.where(np.arange(600) < at, 1.0, -1.0)
        frame = pd.DataFrame(
            {"time": 3600.0 * np.arange(600), "one": 1.0, "x": x, "reward": rng.random(600) < mean}
        )
        log = Log.open(frame.astype({"reward": float}), action=("one", "x"))
        changed = largest_change(log)
        assert changed is not None
        held += changed[0] <= 3600.0 * at <= changed[1]
    # At 90%, fewer than 18 of 25 have a chance of 1 in 450.
    assert held >= 18


def test_rewards_that_come_late_are_told_of_where_that_costs_power() -> None:
    for share, late in ((0.0, False), (0.02, False), (0.05, True), (0.2, True)):
        for kind in ("still", "jump"):
            frame = world(kind=kind, rounds=400, noise=0.5).frame
            # Half of the rewards come this late, the others at once or even later.
            hours = np.array([0.0, share, share, 1.5 * share])[np.arange(400) % 4] * 399
            frame["reward_time"] = frame["time"] + 3600.0 * hours
            found = Log.open(frame).drift(simulations=59)
            assert found.delay == pytest.approx(share * 399)
            assert found.late == late
            words = f"or more after their decisions, {share:.0%} of the log's time"
            assert (words in found.sentence) == late
            told = found.table.set_index("quantity")["value"]["median delay in hours"]
            assert told == found.delay


@pytest.mark.thorough
def test_late_rewards_cost_power_where_that_is_said() -> None:
    power = {
        share: np.mean([_late(share, seed).drifting for seed in range(40)])
        for share in (0.0, 0.02, 0.1)
    }
    # A difference of two shares of 40 logs has a standard error of at most 0.11.
    assert min(power[0.0], power[0.02]) - power[0.1] > 2 * 0.11


def _late(share: float, seed: int) -> Drift:
    frame = world(kind="jump", rounds=500, size=0.3, seed=seed).frame
    frame["reward_time"] = frame["time"] + 3600.0 * 500 * share
    return Log.open(frame).drift(simulations=59, seed=seed)


def test_a_steady_turn_has_no_date() -> None:
    found = asked(kind="rotate", rounds=800, noise=0.5)
    assert "no one change stands out" in found.sentence
    assert found.changed is None
    assert "largest change from" not in set(found.table["quantity"])


def test_aggregated_and_open_rows_are_dated_as_single_ones() -> None:
    w = world(kind="jump", rounds=800, noise=0.5)
    twice = pd.concat([w.frame, w.frame]).sort_values("time", kind="stable")
    twice.loc[twice.index[::9], "reward"] = np.nan
    ended = w.frame.assign(propensity=w.frame["propensity"].where(w.frame.index < 410, 2.0))
    for frame in (twice, w.frame.assign(count=2.0), ended):
        changed = largest_change(Log.open(frame, on_bad="drop"))
        assert changed is not None
        assert np.isfinite(changed).all()
        assert changed[0] <= 400 * 3600.0 <= changed[1]


def test_the_same_rows_in_another_order_do_not_drift() -> None:
    frame = world(kind="rotate", rounds=800, noise=0.5).frame
    mixed = frame.sample(frac=1.0, random_state=3).assign(
        time=frame["time"].to_numpy(), reward_time=frame["time"].to_numpy()
    )
    log, shuffled = Log.open(frame), Log.open(mixed)
    assert log.drift(simulations=99).drifting
    assert not shuffled.drift(simulations=99).drifting
    assert np.isfinite(log.memory().best)
    assert np.isinf(shuffled.memory().best)


def test_a_moving_level_is_told_from_moving_differences() -> None:
    level = np.repeat([0.0, 2.0], 400)
    found = asked(kind="still", rounds=800, noise=0.5, level=level)
    assert found.drifting
    assert found.level.drifts
    assert found.differences is not None
    assert not found.differences.drifts
    assert "AdaptiveLinUCB learns a level that moves apart" in found.sentence


def test_moving_contexts_are_told_from_moving_payoffs() -> None:
    w = world(kind="still", rounds=800, noise=0.5)
    moved = w.actions + np.linspace(0.0, 1.0, 800)[:, None, None]
    means = np.einsum("nkd,nd->nk", moved, w.theta)
    chosen = w.frame["chosen"].to_numpy()
    rng = np.random.default_rng(0)
    frame = w.frame.assign(
        actions=moved.tolist(),
        reward=means[np.arange(800), chosen] + 0.5 * rng.normal(size=800),
    )
    found = Log.open(frame).drift(simulations=59)
    assert not found.drifting
    assert found.contexts is not None
    assert found.contexts.drifts
    assert "Contexts drift" in found.sentence


def test_effects_that_follow_the_level_are_the_levels_drift() -> None:
    # Tests of four headlines; the click rate and all effects fall to a third.
    rng = np.random.default_rng(0)
    tests, arms = 300, 4
    level = np.linspace(0.03, 0.01, tests)
    x = rng.normal(size=(tests, arms, 2))
    rate = level[:, None] * (1.0 + x @ np.array([0.2, -0.1]))
    shown = np.full((tests, arms), 20_000)
    frame = pd.DataFrame(
        {
            "time": np.repeat(np.arange(tests) * 3600.0, arms),
            "x0": x[..., 0].ravel(),
            "x1": x[..., 1].ravel(),
            "count": shown.ravel(),
            "reward": rng.binomial(shown, np.clip(rate, 0.0, 1.0)).ravel(),
            "propensity": 1.0 / arms,
        }
    )
    found = Log.open(frame, action=("x0", "x1"), total=True).drift(simulations=99)
    assert found.level.drifts
    assert found.differences is not None
    assert not found.differences.drifts


def test_differences_are_what_a_level_cannot_change() -> None:
    rng = np.random.default_rng(1)
    rows = Stretch(
        time=np.arange(32.0),
        arrival=np.arange(32.0) + rng.exponential(size=32),
        clock=np.arange(32.0),
        vectors=rng.normal(size=(32, 2)),
        blocks=np.zeros(32, dtype=np.int64),
        count=np.ones(32),
        reward=rng.normal(size=(32, 1)),
    )
    ends = np.array([0, 16, 32])
    moved = Stretch(
        **{**vars(rows), "reward": rows.reward + np.repeat([[5.0], [-7.0]], 16, axis=0)}
    )
    ours, theirs = centred(rows, ends, 1), centred(moved, ends, 1)
    np.testing.assert_allclose(ours.reward, theirs.reward, atol=1e-12)
    assert ours.vectors[:16].sum(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert (ours.arrival[:16] == rows.arrival[:16].max()).all()


def test_levels_do_not_depend_on_cutting() -> None:
    rng = np.random.default_rng(2)
    rows = Stretch(
        time=np.arange(96.0),
        arrival=np.arange(96.0),
        clock=np.arange(96.0),
        vectors=np.ones((96, 1)),
        blocks=np.zeros(96, dtype=np.int64),
        count=np.ones(96),
        reward=rng.random((96, 1)),
    )
    whole = Level(own=False)(rows, np.arange(0, 97, 16))
    parts = Level(own=False)
    cut = [parts(rows.part(slice(a, a + 32)), np.array([0, 16, 32])) for a in (0, 32, 64)]
    np.testing.assert_allclose(np.concatenate(cut), whole, rtol=1e-12)


def _two_arms(rows: int = 96) -> tuple[Stretch, Array]:
    """Rows of two arms with contexts, some without a reward, and the bounds of their units."""
    rng = np.random.default_rng(3)
    reward = rng.normal(size=(rows, 1))
    reward[::11] = np.nan
    reward[32:48] = np.nan  # a unit without rewards
    stretch = Stretch(
        time=np.arange(0.0, 2.0 * rows, 2.0),
        arrival=np.arange(0.0, 2.0 * rows, 2.0) + rng.exponential(size=rows),
        clock=np.arange(float(rows)),
        vectors=np.stack([np.ones(rows), rng.normal(size=rows)], axis=1),
        blocks=rng.integers(0, 2, rows),
        count=rng.integers(1, 4, rows).astype(float),
        reward=reward,
    )
    return stretch, np.arange(0, rows + 1, 16)


def _levels(rows: Stretch, ends: Array, cuts: Array) -> tuple[Levels, Fit]:
    """Levels of the rows, computed in pieces that end at some units."""
    fit, levels = Fit(1, 4), Levels(width=2, pool=np.arange(2))
    fit.take(centred(rows, ends, 2))
    fit.finish()
    levels.expect(len(ends) - 1)
    for a, b in pairwise(cuts):
        part = rows.part(slice(int(ends[a]), int(ends[b])))
        mine = ends[a : b + 1] - ends[a]
        levels.take(part, centred(part, mine, 2), mine, fit)
    return levels, fit


def test_simulated_levels_are_those_of_logs_that_were_fitted_anew() -> None:
    rows, ends = _two_arms()
    levels, fit = _levels(rows, ends, np.array([0, 2, 6]))
    found = levels.series(fit)
    moved = levels.moved(fit, np.random.default_rng(8), 5)(slice(0, 5))
    full = np.zeros((96, 4))
    for i, block in enumerate(rows.blocks):
        full[i, 2 * block : 2 * block + 2] = rows.vectors[i]
    units = [np.flatnonzero(rows.known & (np.arange(96) // 16 == u)) for u in (0, 1, 3, 4, 5)]

    def mean(values: Array, unit: Array) -> Array:
        return np.average(values[unit], axis=0, weights=rows.count[unit])

    apart = np.concatenate([full[u] - mean(full, u) for u in units])
    reward, weight = rows.reward[:, 0], np.concatenate([rows.count[u] for u in units])
    gram = (apart * weight[:, None]).T @ apart
    differences = np.concatenate([reward[u] - mean(reward, u) for u in units])

    def fitted(values: Array) -> Array:
        return np.linalg.solve(gram + np.eye(4), apart.T @ (weight * values))

    theta = fitted(differences)
    np.testing.assert_allclose(fit.theta[0], theta, rtol=1e-12)
    level = [mean(reward - full @ theta, u) for u in units]
    np.testing.assert_allclose(found.reward[:, 0], level, rtol=1e-12, atol=1e-12)
    assert (found.arrival == [max(rows.arrival[u].max(), rows.time[u].max()) for u in units]).all()
    signs = np.random.default_rng(8).integers(0, 2, (5, 5)) * 2.0 - 1.0
    sizes = [len(u) for u in units]
    for k in range(5):
        noise = (differences - apart @ theta) * np.repeat(signs[:, k], sizes)
        error = fitted(apart @ theta + noise) - theta
        expected = [-mean(full, u) @ error for u in units]
        np.testing.assert_allclose(moved[:, k], expected, rtol=1e-10, atol=1e-12)


def test_noise_from_neighbours_is_that_of_a_row() -> None:
    values = np.random.default_rng(9).normal(size=(50, 2))
    found = from_neighbours(values + np.repeat([[0.0, 3.0], [5.0, 9.0]], 25, axis=0))
    near = values[6:15].mean(axis=0)
    np.testing.assert_allclose(found[10], (values[10] - near) * np.sqrt(9 / 8), rtol=1e-10)
    end = values[:5].mean(axis=0)
    np.testing.assert_allclose(found[0], (values[0] - end) * np.sqrt(5 / 4), rtol=1e-10)
    # 4,000 squares of variance 1, each shared by 9 rows: mean 1 within 4 standard errors.
    many = from_neighbours(np.random.default_rng(10).normal(size=(4000, 1)))
    assert abs((many**2).mean() - 1.0) < 4.0 * np.sqrt(2.0 / 4000 * 9 / 8)
    assert from_neighbours(np.ones((1, 1))) == 0.0


def test_cutting_changes_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels_module, "_STRETCHES", 3)
    rows, ends = _two_arms()
    found = [_levels(rows, ends, np.array(cuts)) for cuts in ([0, 6], [0, 1, 4, 6])]
    one, other = (levels.series(fit) for levels, fit in found)
    assert len(one) == 3  # two units each
    for name in ("time", "arrival", "clock", "reward"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert (one.time == [0.0, 64.0, 128.0]).all()


def test_too_few_rewards_are_refused() -> None:
    frame = world(rounds=40).frame
    with pytest.raises(CannotAnswer, match="drift needs 30 rewards, the log has 10"):
        Log.open(frame.assign(reward=frame["reward"].where(frame.index < 10))).drift()
    with pytest.raises(ValueError, match="simulations must be an integer of at least 59"):
        Log.open(frame).drift(simulations=5)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"logger": "uniform"},
        {"logger": "adaptive"},
        {"logger": "adaptive", "clicks": True},
        {"logger": "adaptive", "explore": 0.05, "size": 2.0},
    ],
    ids=["uniform", "adaptive", "adaptive clicks", "nearly greedy"],
)
def test_stationary_logs_are_rarely_called_drifting(options: dict[str, Any]) -> None:
    logs = 60
    alarms = sum(asked(seed, rounds=300, **options).drifting for seed in range(logs))
    # At 5%, more than 9 of 60 have a chance below 1 in 1,000.
    assert alarms <= stats.binom.ppf(0.999, logs, 0.05)


def _rewards(kind: str, chosen: Array, rng: np.random.Generator) -> Array:
    """Rewards of four arms that earn 0.2, 0.5, 0.8 and 0.4 throughout, most with odd noise."""
    rounds = len(chosen)
    mean, swing = np.array([0.2, 0.5, 0.8, 0.4])[chosen], 1 + 0.8 * np.sin(np.arange(rounds) / 23)
    draws: dict[str, Callable[[], Array]] = {
        "normal": lambda: mean + rng.normal(size=rounds),
        "heavy tails": lambda: mean + rng.standard_t(2, rounds),
        "noisy arms": lambda: mean + rng.normal(size=rounds) * np.array([0.1, 0.5, 2, 5])[chosen],
        "growing noise": lambda: mean + rng.normal(size=rounds) * np.linspace(0.2, 3, rounds),
        "sales": lambda: np.where(
            rng.random(rounds) < 0.06, mean * rng.lognormal(3, 1.2, rounds), 0
        ),
        "swinging level": lambda: mean + 2.0 * swing + rng.normal(size=rounds),
        "swinging counts": lambda: rng.poisson(3.0 * mean * swing).astype(float),
    }
    return draws[kind]()


def _frame(chosen: Array, reward: Array) -> pd.DataFrame:
    time = 600.0 * np.arange(len(chosen))
    return pd.DataFrame({"time": time, "chosen": chosen, "reward": reward})


def _noisy(kind: str, seed: int, rounds: int = 600) -> pd.DataFrame:
    """A log of a uniform logger."""
    rng = np.random.default_rng([seed, 5])
    chosen = rng.integers(0, 4, rounds)
    return _frame(chosen, _rewards(kind, chosen, rng))


def _greedy(kind: str, seed: int, rounds: int = 600) -> pd.DataFrame:
    """A logger that tries all arms for a third of the time, then plays the best so far."""
    rng = np.random.default_rng([seed, 6])
    table = np.stack([_rewards(kind, np.full(rounds, k), rng) for k in range(4)], axis=1)
    chosen, tries = rng.integers(0, 4, rounds), rng.random(rounds) < 0.1
    tries[: rounds // 3] = True
    totals, plays = np.zeros(4), np.zeros(4)
    for t in range(rounds):
        if not tries[t]:
            chosen[t] = np.argmax(totals / np.maximum(plays, 1.0))
        totals[chosen[t]] += table[t, chosen[t]]
        plays[chosen[t]] += 1.0
    return _frame(chosen, table[np.arange(rounds), chosen])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["heavy tails", "noisy arms", "growing noise", "sales"])
def test_odd_noise_is_rarely_called_drift(kind: str) -> None:
    logs = 60
    found = [Log.open(_noisy(kind, seed), arms=4).drift(simulations=59) for seed in range(logs)]
    assert sum(one.drifting for one in found) <= stats.binom.ppf(0.999, logs, 0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["swinging level", "swinging counts"])
def test_a_swinging_level_is_rarely_called_a_drift_of_differences(kind: str) -> None:
    logs = 60
    found = [Log.open(_noisy(kind, seed), arms=4).drift(simulations=59) for seed in range(logs)]
    alarms = sum(one.differences is not None and one.differences.drifts for one in found)
    assert alarms <= stats.binom.ppf(0.999, logs, 0.05)
    assert sum(one.drifting for one in found) >= 0.9 * logs


@pytest.mark.thorough
def test_a_logger_that_learns_does_not_move_the_level() -> None:
    # Later it plays other arms than at first, and their rewards are known with an error.
    logs, kinds = 150, ("normal", "heavy tails", "growing noise", "sales")
    found = [
        Log.open(_greedy(kind, seed), arms=4).drift(simulations=59, seed=seed)
        for kind in kinds
        for seed in range(logs)
    ]
    # At 5%, more than 47 of 600 have a chance below 1 in 1,000.
    most = stats.binom.ppf(0.999, len(found), 0.05)
    assert sum(one.level.drifts for one in found) <= most
    assert sum(one.drifting for one in found) <= most


@pytest.mark.thorough
def test_power_grows_with_the_size_of_the_jump() -> None:
    power = [
        np.mean([asked(seed, kind="jump", rounds=300, size=size).drifting for seed in range(20)])
        for size in (0.05, 0.3, 0.6)
    ]
    assert power[0] <= 0.35
    assert power[0] <= power[1] <= power[2]
    assert power[2] >= 0.9
