"""Compares prequential evidence with its definition, computed from the whole history."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from studies.log_memory import PROMISED, WORLDS, costs, draw, heavy_tailed
from studies.log_memory import World as Played

from driftbandits.logs import Log
from driftbandits.logs.memory import say_memory
from driftbandits.logs.passes import Pass, Stretch, Trace, single_units
from driftbandits.logs.setup import rounded_up
from log_worlds import world

MEMORIES = np.array([5.0, 30.0, np.inf])


def history(seed: int = 0, rounds: int = 120, dim: int = 3) -> Stretch:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rounds, dim))
    reward = vectors @ rng.normal(size=dim) + rng.normal(size=rounds)
    time = np.cumsum(rng.exponential(size=rounds).round(1))
    arrival = time + rng.exponential(3.0, size=rounds)
    reward[7], arrival[7] = np.nan, np.inf
    count = rng.integers(1, 4, rounds).astype(float)
    return Stretch(
        time=time,
        arrival=arrival,
        clock=np.cumsum(count) - count,
        vectors=vectors,
        blocks=rng.integers(0, 2, rounds),
        count=count,
        reward=reward[:, None],
    )


def _prediction(rows: Stretch, i: int, come: list[int], memory: float) -> tuple[float, float]:
    """Mean of row i from the rewards that had come by then, and h = 1/count + aᵀV⁻¹a."""
    rate = 0.0 if np.isinf(memory) else -math.log1p(-1.0 / memory)
    gram, moment = np.eye(rows.vectors.shape[1]), np.zeros(rows.vectors.shape[1])
    for j in come:
        if rows.blocks[j] == rows.blocks[i]:
            weight = rows.count[j] * math.exp(-rate * (rows.clock[i] - rows.clock[j]))
            gram += weight * np.outer(rows.vectors[j], rows.vectors[j])
            moment += weight * rows.reward[j, 0] * rows.vectors[j]
    solved = np.linalg.solve(gram, rows.vectors[i])
    return float(solved @ moment), float(1.0 / rows.count[i] + rows.vectors[i] @ solved)


def definition(rows: Stretch, memory: float, unit: int = 1, instant: bool = False) -> float:
    """Σ log t_ν(r; aᵀV⁻¹b, s² h) over the rows, each from the rewards known before it."""
    rate = 0.0 if np.isinf(memory) else -math.log1p(-1.0 / memory)
    errors: dict[int, float] = {}
    total = 0.0
    for i in range(len(rows)):
        start = i // unit * unit
        come = [
            j
            for j in range(start)
            if rows.known[j] and (instant or rows.arrival[j] <= rows.time[start])
        ]
        if not rows.known[i]:
            continue
        gram, moment = np.eye(rows.vectors.shape[1]), np.zeros(rows.vectors.shape[1])
        for j in come:
            if rows.blocks[j] == rows.blocks[i]:
                weight = rows.count[j] * math.exp(-rate * (rows.clock[start] - rows.clock[j]))
                gram += weight * np.outer(rows.vectors[j], rows.vectors[j])
                moment += weight * rows.reward[j, 0] * rows.vectors[j]
        solved = np.linalg.solve(gram, rows.vectors[i])
        spread = 1.0 / rows.count[i] + rows.vectors[i] @ solved
        errors[i] = float((rows.reward[i, 0] - solved @ moment) ** 2 / spread)
        nu, squares = len(come), sum(errors[j] for j in come)
        if nu >= 10 and squares > 0:
            scale = squares / nu * spread
            total += math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu)
            total -= 0.5 * math.log(math.pi * nu * scale)
            total -= 0.5 * (nu + 1) * math.log1p(errors[i] * spread / (nu * scale))
    return total


def run(rows: Stretch, sizes: list[int], unit: int = 1, **options: Any) -> Pass:
    one = Pass(MEMORIES, width=rows.vectors.shape[1], blocks=2, **options)
    at = 0
    for size in sizes:
        one.take(rows.part(slice(at, at + size)), single_units(size, unit))
        at += size
    assert at == len(rows)
    return one


@pytest.mark.parametrize("unit", [1, 6])
@pytest.mark.parametrize("instant", [False, True])
def test_evidence_is_its_definition(unit: int, instant: bool) -> None:
    rows = history()
    expected = [definition(rows, memory, unit, instant) for memory in MEMORIES]
    found = run(rows, [120], unit, instant=instant).evidence
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_closeness_is_its_definition() -> None:
    # Σ −count e²/(2s²); s² is the mean of e_j²/h_j without forgetting, over the rewards that came.
    rows, total = history(), np.zeros(len(MEMORIES))
    errors: dict[int, float] = {}
    for i in np.flatnonzero(rows.known).tolist():
        come = [j for j in range(i) if rows.known[j] and rows.arrival[j] <= rows.time[i]]
        predicted = [_prediction(rows, i, come, memory) for memory in MEMORIES]
        if len(come) >= 10:
            noise = np.mean([errors[j] for j in come])
            squares = np.array([(rows.reward[i, 0] - mean) ** 2 for mean, _ in predicted])
            total -= 0.5 * rows.count[i] * squares / noise
        mean, spread = predicted[-1]
        errors[i] = float((rows.reward[i, 0] - mean) ** 2 / spread)
    np.testing.assert_allclose(run(rows, [120]).state.closeness, total, rtol=1e-9)


@pytest.mark.parametrize("sizes", [[120], [1] * 120, [13] * 9 + [3], [60, 1, 59]])
def test_cutting_changes_nothing(sizes: list[int]) -> None:
    rows = history(1)
    np.testing.assert_allclose(
        run(rows, sizes).evidence, run(rows, [120]).evidence, rtol=1e-12, atol=1e-12
    )


def test_a_reward_changes_nothing_before_it_came() -> None:
    rows = history(2)
    changed = Stretch(**{**vars(rows), "reward": rows.reward.copy()})
    changed.reward[60] += 100.0
    before, after = (run(r, [120]).trace for r in (rows, changed))
    # Row 60 is scored with its own reward; before it nothing differs.
    assert np.array_equal(before.values[:60], after.values[:60])
    predicted = np.flatnonzero(rows.time < rows.arrival[60])
    gap = before.values[predicted[-1]] - after.values[predicted[-1]]
    assert np.allclose(
        before.values[60 : predicted[-1]] - after.values[60 : predicted[-1]], gap, atol=1e-9
    )
    assert not np.allclose(before.values[-1] - after.values[-1], gap, atol=1e-3)


def test_series_share_nothing_but_the_actions() -> None:
    rows = history(3)
    other = rows.reward[:, ::-1] * 0.5 + 1.0
    both = Stretch(**{**vars(rows), "reward": np.concatenate([rows.reward, other], axis=1)})
    alone = Stretch(**{**vars(rows), "reward": other})
    found = run(both, [120], series=2).state.evidence
    np.testing.assert_allclose(found[:, 0], run(rows, [120]).evidence, rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], run(alone, [120]).evidence, rtol=1e-12)


def test_memory_finds_the_pace_of_the_world() -> None:
    still = Log.open(world(kind="still", rounds=1500).frame).memory()
    assert np.isinf(still.best)
    assert still.table["close"].iloc[-1]
    assert still.snippet.startswith(
        "from driftbandits import LinUCB\n\npolicy = LinUCB(dim=3, noise="
    )
    slow = Log.open(world(kind="rotate", rounds=4000, noise=0.3).frame).memory()
    fast = Log.open(world(kind="rotate", rounds=500, noise=0.3).frame).memory()
    assert fast.predictor < slow.predictor < 400
    assert slow.hours == pytest.approx(slow.best, rel=0.01)  # one decision per hour
    assert "decisions" in slow.sentence
    assert f"gamma={slow.gamma:.6g}" in slow.snippet


@pytest.mark.thorough
@pytest.mark.parametrize("played", [*WORLDS[:2], WORLDS[5], *WORLDS[-4:]], ids=str)
def test_the_best_memory_costs_little_regret(played: Played) -> None:
    # Regret of the policy in the snippet, compared with the best memory of the grid on the same
    # worlds; and of the best predictor at 0.3 of the radius, about the best in hindsight. Eight
    # logs each.
    found = costs(played, 8)
    assert {what: cost for what, cost in found.items() if what in PROMISED and cost > 0.1} == {}


def test_the_snippet_is_the_policy_that_was_confirmed() -> None:
    w = world(kind="rotate", rounds=1500, noise=0.3)
    found = Log.open(w.frame).memory()
    pasted: dict[str, Any] = {}
    exec(found.snippet, pasted)  # noqa: S102
    policy = pasted["policy"]
    for actions in w.actions:  # the bounds hold
        policy.select(np.ascontiguousarray(actions))
    assert policy.gamma == pytest.approx(found.gamma, rel=1e-5)
    assert policy.noise == found.setup.noise == pytest.approx(0.3, rel=0.1)
    assert policy.theta_bound == found.setup.theta_bound == pytest.approx(1.0, rel=0.25)
    least = int(found.table["regret"].argmin())
    assert found.best == found.table["memory"].iloc[least]
    assert found.hours == found.table["hours"].iloc[least]


def test_the_answer_names_the_predictor_and_the_earner() -> None:
    # With the theorem's radius exploration is the largest cost here: a longer memory loses less.
    log = Log.open(draw(WORLDS[9], 0)[1])
    found = log.memory()
    assert found.predictor < found.best
    assert found.table["evidence"].max() == float(
        found.table.loc[found.table["predictor"], "evidence"].iloc[0]
    )
    assert f"{say_memory(found.predictor)} decisions" in found.sentence
    assert found.sentence.startswith(f"Recommended memory: {say_memory(found.best)} decisions (")
    assert f"gamma={1 - 1 / found.best:.6g}" in found.snippet
    drift = log.drift(simulations=59)
    # All answers recommend the same memory.
    assert drift.recommended == found.best
    assert drift.snippet == found.snippet
    assert f"{found.recommendation}." in drift.sentence
    assert "predict" not in drift.sentence
    told = drift.table.set_index("quantity")["value"]
    assert told["recommended memory in decisions"] == found.best
    assert told["recommended memory in hours"] == found.hours


def test_without_sets_the_best_predictor_is_best() -> None:
    w = world(kind="rotate", rounds=800, noise=0.3)
    played = w.actions[np.arange(800), w.frame["chosen"]]
    frame = w.frame.drop(columns=["actions", "chosen"]).assign(a=played.tolist())
    found = Log.open(frame, action="a").memory()
    assert found.table["regret"].isna().all()
    assert found.best == found.predictor < 400


@pytest.mark.parametrize("value", [0.3, 0.30000000000000004, 1.0, 9.995, 1234567.0, 1.001e-9])
def test_bounds_are_rounded_up_to_what_is_printed(value: float) -> None:
    up = rounded_up(value)
    assert value <= up <= 1.01 * value
    assert float(f"{up:.3g}") == up


def test_errors_of_differences_are_those_of_stretches() -> None:
    # 6400 units with independent gains: 64 stretches of 100 have the same error of the sum.
    rng = np.random.default_rng(0)
    trace = Trace(2)
    gains = np.stack([np.zeros(6400), rng.normal(size=6400)], axis=1)
    trace.add(np.arange(6400.0), np.cumsum(gains, axis=0))
    error = trace.errors(0)
    assert error[0] == 0.0
    # A standard deviation from about 64 values: 9% each, so 4 standard errors.
    assert error[1] == pytest.approx(80.0, rel=4 * 0.09)


def test_heavy_tails_are_no_reason_to_forget() -> None:
    # Nothing drifts, but noise has heavy tails and grows with the context. The wide bounds of a
    # short memory imitate that. At most 5% may be misled; 3 of 20 or more have a chance of 1 in 13.
    said = sum(
        np.isinf(Log.open(heavy_tailed(seed), action="x_").memory().best) for seed in range(20)
    )
    assert said >= 18


def test_hours_and_decisions_agree_where_decisions_are_even() -> None:
    log = Log.open(world(kind="rotate", rounds=600).frame)
    by_rounds, by_hours = log.memory(), log.memory(clock="hours")
    # The rate counts 600 decisions in 599 hours.
    np.testing.assert_allclose(by_rounds.table["evidence"], by_hours.table["evidence"], rtol=1e-2)
