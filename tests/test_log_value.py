"""Compares values with their formulas, and with worlds whose truth is known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from driftbandits.logs import CannotAnswer, Log
from driftbandits.logs.batch import Batch
from driftbandits.logs.intervals import Anytime, LowerBound, t_interval
from driftbandits.logs.moments import Moments
from driftbandits.logs.reading import LogReader
from driftbandits.logs.targets import starts
from log_worlds import world

Array = Any
# Expected maximum of five standard normal numbers.
MAX_OF_FIVE = 1.1629644736405196


def first_coordinate(log: LogReader, batch: Batch) -> Array:
    """Play the action with the largest first coordinate."""
    out = np.zeros(int(batch.size.sum()))
    for i, start in enumerate(starts(batch)):
        rows = batch.vectors[batch.first[i] : batch.first[i] + batch.size[i]]
        out[start + int(np.argmax(rows[:, 0]))] = 1.0
    return out


def truth(w: Any, rows: slice = slice(None)) -> float:
    """Value of `first_coordinate` over the rows, averaged over contexts."""
    return float(w.theta[rows, 0].mean() * MAX_OF_FIVE / np.sqrt(w.actions.shape[2]))


def test_estimators_are_their_formulas() -> None:
    w = world(rounds=300, logger="adaptive", kind="rotate")
    target = np.random.default_rng(1).dirichlet(np.ones(5), size=300)
    frame = w.frame.assign(pi=target.tolist())
    found = Log.open(frame).value({"pi": "column:pi"}, period="100")
    weight = target[np.arange(300), frame["chosen"]] / frame["propensity"].to_numpy()
    reward = frame["reward"].to_numpy()
    assert found.of("pi", "IPS")["estimate"] == pytest.approx(np.mean(weight * reward), rel=1e-12)
    snips = np.sum(weight * reward) / np.sum(weight)
    assert found.of("pi", "SNIPS")["estimate"] == pytest.approx(snips, rel=1e-12)
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert found.of("pi")["effective"] == pytest.approx(effective, rel=1e-12)
    assert found.weights.set_index(["policy", "period"]).loc[
        ("pi", "all"), "largest weight"
    ] == pytest.approx(weight.max())
    assert found.of("logging", "mean")["estimate"] == pytest.approx(reward.mean(), rel=1e-12)
    part = slice(100, 200)  # the second period of 100 hours
    one = found.of("pi", "IPS", "100 h")
    assert one["estimate"] == pytest.approx(np.mean((weight * reward)[part]), rel=1e-12)
    assert one["rows"] == 100
    paired = found.of("pi", "IPS − logging")["estimate"]
    assert paired == pytest.approx(np.mean(weight * reward - reward), rel=1e-12)


def test_a_period_without_skewness_has_students_interval() -> None:
    x = np.concatenate([np.arange(10.0), -np.arange(10.0)])
    error = x.std(ddof=1) / np.sqrt(20)
    low, high = t_interval(float(x.mean()), error, 20.0, 0.0)
    expected = stats.t.interval(0.95, 19, loc=x.mean(), scale=error)
    assert (low, high) == pytest.approx(expected)


def test_the_model_sees_nothing_later() -> None:
    frame = world(rounds=2000, kind="rotate", delay=40_000.0).frame
    changed = frame.copy()
    changed["reward"] = frame["reward"].where(frame.index != 1500, 50.0)
    tables = [
        Log.open(f).value({"u": first_coordinate}, period="250").table for f in (frame, changed)
    ]
    before = [t[(t["estimator"] == "DM") & (t["period"] != "all")] for t in tables]
    values = [t.set_index("period")["estimate"] for t in before]
    same = [f"{250 * i} h" for i in range(6)]
    assert values[0].loc[same].equals(values[1].loc[same])
    assert values[0].loc["1750 h"] != values[1].loc["1750 h"]


@pytest.mark.thorough
@pytest.mark.parametrize("logger", ["uniform", "adaptive"])
def test_right_propensities_make_up_for_a_wrong_model(logger: str) -> None:
    # The level moves ten times as much as the differences; the model has no level, and fits badly.
    level = 3.0 * np.sin(np.arange(400) / 20.0)
    found: dict[str, list[float]] = {"IPS": [], "DR": []}
    for seed in range(120):
        w = world(kind="rotate", seed=seed, rounds=400, noise=0.3, logger=logger, level=level)
        values = Log.open(w.frame).value({"pi": first_coordinate}, period="200")
        expected = truth(w, slice(200, 400)) + level[200:].mean()
        for estimator, errors in found.items():
            errors.append(values.of("pi", estimator, "200 h")["estimate"] - expected)
    for estimator, errors in found.items():
        error = np.std(errors, ddof=1) / np.sqrt(len(errors))
        assert abs(np.mean(errors)) < 4.0 * error, estimator


@pytest.mark.thorough
def test_a_right_model_makes_up_for_wrong_propensities() -> None:
    found, plain = [], []
    for seed in range(120):
        w = world(kind="still", seed=seed, rounds=2000, noise=0.3)
        wrong = np.where(w.frame["chosen"] < 2, 0.4, 0.1)  # it was 0.2 throughout
        values = Log.open(w.frame.assign(propensity=wrong)).value(
            {"pi": first_coordinate}, period="1000"
        )
        found.append(values.of("pi", "DR", "1000 h")["estimate"] - truth(w, slice(1000, 2000)))
        plain.append(values.of("pi", "DM", "1000 h")["estimate"] - truth(w, slice(1000, 2000)))
    for errors_ in (found, plain):
        error = np.std(errors_, ddof=1) / np.sqrt(len(errors_))
        assert abs(np.mean(errors_)) < 4.0 * error


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("logger", "explore"), [("uniform", 1.0), ("adaptive", 0.4), ("adaptive", 0.2)]
)
def test_weekly_intervals_cover(logger: str, explore: float) -> None:
    hits: dict[str, list[bool]] = {"IPS": [], "SNIPS": [], "DR": []}
    weeks, size = 4, 168
    for seed in range(60):
        w = world(kind="rotate", seed=seed, rounds=weeks * size, logger=logger, explore=explore)
        values = Log.open(w.frame).value({"pi": first_coordinate}, period="week")
        for week in range(1, weeks):
            expected = truth(w, slice(week * size, (week + 1) * size))
            for estimator in hits:
                row = values.of("pi", estimator, f"{week * size} h")
                hits[estimator].append(bool(row["low"] <= expected <= row["high"]))
    for estimator, found in hits.items():
        # Binomial error of 95% in 180 weeks, with a chance of 1 in 1,000 for each side.
        least = stats.binom.ppf(0.001, len(found), 0.95)
        assert sum(found) >= least, (estimator, sum(found), len(found))


@pytest.mark.thorough
@pytest.mark.parametrize("logger", ["uniform", "adaptive"])
def test_anytime_intervals_hold_at_all_times_of_a_run(logger: str) -> None:
    missed, runs = 0, 80
    for seed in range(runs):
        w = world(kind="jump", seed=seed, rounds=600, logger=logger, clicks=True, explore=0.5)
        best = np.argmax(w.actions[:, :, 0], axis=1)
        expected = np.cumsum(w.means[np.arange(600), best]) / np.arange(1, 601)
        match = w.frame["chosen"].to_numpy() == best
        weight = np.where(match, 1.0 / w.frame["propensity"].to_numpy(), 0.0)
        interval, bad = Anytime((0.0, 1.0)), False
        for t in range(0, 600, 20):
            interval.add(weight[t : t + 20], w.frame["reward"].to_numpy()[t : t + 20])
            low, high = interval.interval()
            bad |= not low <= expected[t + 19] <= high
        missed += bad
    # 5% of 80 runs are 4; the chance of more than 10 at 5% is below 1 in 1,000.
    assert missed <= stats.binom.ppf(0.999, runs, 0.05)


def test_the_bound_is_where_the_mixture_reaches_its_height() -> None:
    rng = np.random.default_rng(0)
    values = rng.exponential(0.4, size=200)
    one, parts = LowerBound(), LowerBound()
    one.add(values)
    for cut in np.array_split(values, 7):
        parts.add(cut)
    assert parts.bound(0.05) == pytest.approx(one.bound(0.05), rel=1e-12)
    excess = 200 * (values.mean() - one.bound(0.05))
    bets = np.geomspace(1e-5, 0.95, 60)
    costs = -np.log1p(-bets) - bets
    seen = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    guesses = np.minimum((seen + 0.5) / np.arange(1, 201), 1.0)
    height = np.mean(np.exp(bets * excess - costs * ((values - guesses) ** 2).sum()))
    assert height == pytest.approx(20.0, rel=1e-6)


def test_what_the_logger_lost_is_judged_on_other_periods() -> None:
    w = world(kind="still", rounds=800, seed=3, noise=0.2)
    log = Log.open(w.frame)
    best = int(np.argmax(np.abs(w.theta[0])))
    sign = float(np.sign(w.theta[0, best]))

    def clever(_: LogReader, batch: Batch) -> Array:
        out = np.zeros(int(batch.size.sum()))
        for i, start in enumerate(starts(batch)):
            rows = batch.vectors[batch.first[i] : batch.first[i] + batch.size[i]]
            out[start + int(np.argmax(sign * rows[:, best]))] = 1.0
        return out

    found = log.value({"clever": clever, "uniform": "uniform"}, period="200")
    assert found.lost is not None
    mean, low, high = found.lost
    assert low > 0
    difference = found.of("clever", "DR − logging")
    assert mean == pytest.approx(difference["estimate"], rel=1e-9)
    assert low < difference["estimate"] < high


def test_a_log_says_what_it_cannot_answer() -> None:
    frame = world(rounds=60).frame
    with pytest.raises(CannotAnswer, match=r"the log has none\. Log propensities"):
        Log.open(frame.drop(columns="propensity")).value({"u": "uniform"})
    estimated = Log.open(frame.drop(columns="propensity")).value(
        {"u": "uniform"}, propensities="estimated"
    )
    assert any("estimated" in line for line in estimated.warnings)
    played = [row[c] for row, c in zip(frame["actions"], frame["chosen"], strict=True)]
    with pytest.raises(CannotAnswer, match="only the played ones"):
        Log.open(frame.assign(x=played), action="x").value({"u": "uniform"})
    found = Log.open(frame).value({"u": "uniform"})
    assert "reward_bounds" in found.refused[0]
    rare = frame.assign(propensity=np.where(frame.index == 5, 1e-6, 0.2))
    warned = Log.open(rare).value({"u": "uniform"})
    assert any("cannot be trusted" in line for line in warned.refused)


def test_moments_of_a_mean_are_their_definitions() -> None:
    rng = np.random.default_rng(4)
    numbers, count = rng.exponential(size=(300, 6)), rng.integers(1, 4, 300).astype(float)
    numbers[:, 0] = 1.0
    direction = rng.normal(size=6)
    one = Moments()
    for rows in np.array_split(np.arange(300), 7):
        one.add(numbers[rows], count[rows])
    found = one.mean(direction)
    x = numbers @ direction
    mean = (count * x).sum() / count.sum()
    deviation = count * (x - mean)
    squares = (deviation**2).sum()
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.error == pytest.approx(np.sqrt(squares * 300 / 299) / count.sum(), rel=1e-9)
    assert found.skewness == pytest.approx((deviation**3).sum() / squares**1.5, rel=1e-8)
    assert found.freedom == pytest.approx(squares**2 / (deviation**4).sum(), rel=1e-8)
    far = Moments()
    far.add(numbers + np.array([0.0, 1e7, 0, 0, 0, 0]), count)
    assert np.isfinite(far.mean(np.eye(6)[1]).freedom)


def test_pieces_far_from_zero_merge_as_their_rows_do() -> None:
    # The definition in exact arithmetic, with fractions.
    rng, n = np.random.default_rng(6), 90
    reward, weight = 1e6 + 0.3 * rng.normal(size=n), rng.choice([0.5, 1.0, 2.0], n)
    numbers = np.stack([np.ones(n), reward, weight, weight * reward, reward, reward + 1.0], axis=1)
    count = rng.integers(1, 4, n).astype(float)
    whole, pieces = Moments(), Moments()
    for first, second in ((0, 7), (7, 40), (40, n)):
        part, halves = Moments(), np.array_split(np.arange(first, second), 3)
        for rows in halves:
            part.add(numbers[rows], count[rows])
            whole.add(numbers[rows], count[rows])
        pieces.merge(part)
    pieces.merge(Moments())
    x, w, c = ([Fraction(float(v)) for v in values] for values in (numbers[:, 3], weight, count))

    def expected(below: list[Fraction]) -> list[float]:
        total = Fraction(sum(a * b for a, b in zip(c, below, strict=True)))
        ratio = sum((a * b for a, b in zip(c, x, strict=True)), Fraction(0)) / total
        apart = [a * (b - ratio * v) for a, b, v in zip(c, x, below, strict=True)]
        two, three, four = (float(sum(d**k for d in apart)) for k in (2, 3, 4))
        error = np.sqrt(two * n / (n - 1)) / float(total)
        return [float(ratio), error, three / two**1.5, two**2 / four]

    of_mean, of_ratio = expected([Fraction(1)] * n), expected(w)
    for one in (whole, pieces):
        assert list(one.mean(np.eye(6)[3])) == pytest.approx(of_mean, rel=1e-8)
        assert list(one.snips()) == pytest.approx(of_ratio, rel=1e-8)
        assert one.mean(np.eye(6)[3]).mean == pytest.approx(of_mean[0], rel=1e-14)
        assert one.snips().mean == pytest.approx(of_ratio[0], rel=1e-14)
        # The difference of two numbers of a row: 1 throughout.
        assert one.mean(np.eye(6)[5] - np.eye(6)[1])[:2] == pytest.approx((1.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("rows", [37, 400])
def test_rewards_far_from_zero_have_an_interval(rows: int) -> None:
    rng = np.random.default_rng(7)
    near = 0.3 * rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "time": 3600.0 * np.arange(400),
            "chosen": rng.integers(0, 2, 400),
            "propensity": 0.5,
            "reward": 1e6 + near,
        }
    )
    found = Log.open(frame, arms=2, rows=rows).value({"u": "uniform", "a": "action:0"}, period="90")
    assert not any("t intervals" in line for line in found.refused)
    for name, estimator in (("logging", "mean"), ("u", "IPS"), ("u", "SNIPS")):
        for period, part in (("all", slice(None)), ("90 h", slice(90, 180))):
            x, one = near[part], found.of(name, estimator, period)
            assert one["estimate"] == pytest.approx(1e6 + x.mean(), rel=1e-14)
            # Student's t, corrected for skewness.
            error, d = x.std(ddof=1) / np.sqrt(len(x)), x - x.mean()
            worth = min(float(len(x)), 1.0 + (d**2).sum() ** 2 / (d**4).sum())
            skewness = (d**3).sum() / (d**2).sum() ** 1.5
            ends = t_interval(0.0, error, worth, skewness)
            width = (one["low"] - one["estimate"], one["high"] - one["estimate"])
            assert width == pytest.approx(ends, abs=1e-9)
    # SNIPS of an arm: its own rewards, by linearisation.
    mine, one = near[frame["chosen"] == 0], found.of("a", "SNIPS")
    assert one["estimate"] == pytest.approx(1e6 + mine.mean(), rel=1e-14)
    assert 0.0 < one["high"] - one["low"] < 6.0 * mine.std() / np.sqrt(len(mine))


def test_cutting_a_log_far_from_zero_changes_no_value() -> None:
    frame = world(rounds=400, kind="rotate", logger="adaptive").frame
    frame["reward"] = 1e6 + 0.3 * frame["reward"]
    one, other = (
        Log.open(frame, rows=rows).value({"u": "uniform"}, period="90").table for rows in (33, 400)
    )
    columns = ["estimate", "low", "high", "effective"]
    pd.testing.assert_frame_equal(one[columns], other[columns], rtol=1e-12, atol=0.0)


def test_zeros_alone_have_no_interval() -> None:
    frame = pd.DataFrame(
        {
            "time": np.arange(200.0),
            "chosen": np.arange(200) % 2,
            "propensity": 0.5,
            "reward": np.where(np.arange(200) % 6 == 1, 1.0, 0.0),  # arm 1 alone
        }
    )
    found = Log.open(frame, arms=2).value({"zero": "action:0", "one": "action:1"})
    for estimator in ("IPS", "SNIPS", "DR"):
        assert np.isnan(found.of("zero", estimator)["high"])
        assert np.isfinite(found.of("one", estimator)["high"])
    assert any("no row that this policy would have played was rewarded" in r for r in found.refused)


def test_fixed_policies_by_name_and_table(tmp_path: Any) -> None:
    frame = pd.DataFrame(
        {
            "time": np.arange(6.0),
            "place": [1, 2, 1, 2, 1, 2],
            "chosen": ["a", "b", "a", "a", "b", "b"],
            "propensity": 0.5,
            "reward": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        }
    )
    table = tmp_path / "shares.csv"
    table.write_text("place,action,probability\n1,a,1.0\n2,a,0.25\n2,b,0.75\n")
    log = Log.open(frame, arms=("a", "b"))
    found = log.value({"always": "action:a", "shares": f"shares:{table}"})
    assert found.of("always", "IPS")["estimate"] == pytest.approx(2 * (1 + 3 + 4) / 6)
    expected = (2 * 1 + 1.5 * 2 + 2 * 3 + 0.5 * 4 + 0 + 1.5 * 6) / 6
    assert found.of("shares", "IPS")["estimate"] == pytest.approx(expected)
    with pytest.raises(ValueError, match="a fixed policy is uniform"):
        log.value({"x": "nonsense"})
