"""Logs in unusual forms that people have: other markers, names, clocks and loggers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from driftbandits import LinUCB
from driftbandits.cli import cli
from driftbandits.logs import CannotAnswer, Log, LogError
from driftbandits.logs.stationary import pooled


def coin(rows: int = 400, arms: int = 3, seed: int = 0) -> pd.DataFrame:
    """A uniform choice among arms whose click rates are 0.2, 0.4, 0.6, repeated in this order."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, arms, rows)
    reward = (rng.random(rows) < 0.2 * (1 + chosen % 3)).astype(float)
    time = 60.0 * np.arange(rows)
    columns = {"time": time, "chosen": chosen, "propensity": 1.0 / arms, "reward": reward}
    return pd.DataFrame(columns)


def mean(log: Log) -> float:
    return float(log.value({"u": "uniform"}).of("u", "IPS")["estimate"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("log.csv", {"sep": ";"}),
        ("log.csv", {"sep": ";", "decimal": ","}),
        ("log.tsv", {"sep": "\t"}),
        ("log.csv.gz", {"sep": ";", "decimal": ","}),
        ("log.csv", {"encoding": "utf-8-sig"}),
    ],
)
def test_text_files_may_have_other_marks(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    frame = coin().assign(reward=lambda f: f["reward"] + 0.25)
    frame.to_csv(tmp_path / name, index=False, **options)
    found, expected = Log.open(tmp_path / name, arms=3), Log.open(frame, arms=3)
    assert mean(found) == pytest.approx(mean(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "mark", "extra"),
    [
        ("log.tsv", "\t", "price, in euros, with taxes, and all"),
        ("log.tsv.gz", "\t", "a,b,c,d,e,f"),
        ("log.csv", ";", "price, in euros"),
        ("log.csv", "\t", "a;b"),
        ("log.csv", ",", "a;b;c;d;e;f;g"),
    ],
)
def test_a_header_may_have_other_marks_within_names(
    name: str, mark: str, extra: str, tmp_path: Path
) -> None:
    frame = coin().rename(columns={"time": "when"}).assign(**{extra: 1.5})
    quoting: Any = csv.QUOTE_NONNUMERIC if mark == "," else csv.QUOTE_MINIMAL
    frame.to_csv(tmp_path / name, index=False, sep=mark, quoting=quoting)
    found = Log.open(tmp_path / name, arms=3, time="when")
    assert mean(found) == pytest.approx(mean(Log.open(coin(), arms=3)), rel=1e-12)


def test_files_that_are_something_else_are_named(tmp_path: Path) -> None:
    coin().to_csv(tmp_path / "wide.csv", index=False, encoding="utf-16")
    with pytest.raises(LogError, match=r"wide\.csv is in UTF-16; save it as UTF-8"):
        Log.open(tmp_path / "wide.csv", arms=3)
    coin().to_parquet(tmp_path / "log.csv")
    with pytest.raises(LogError, match=r"contains Parquet; give its kind \(--kind parquet\)"):
        Log.open(tmp_path / "log.csv", arms=3)
    assert Log.open(tmp_path / "log.csv", arms=3, kind="parquet").rows == 400


def test_arms_may_be_called_by_numbers() -> None:
    named = coin().assign(chosen=np.array([101, 205, 999])[coin()["chosen"]])
    found = Log.open(named, arms=("101", "205", "999")).value({"last": "action:999"})
    expected = Log.open(coin(), arms=3).value({"last": "action:2"})
    assert found.of("last")["estimate"] == expected.of("last")["estimate"]
    one_based = coin().assign(chosen=coin()["chosen"] + 1)
    assert Log.open(one_based, arms=("1", "2", "3")).check()["actions never played"] == 0
    with pytest.raises(LogError, match="indices go from 0 to 2; if it is a name, give all"):
        Log.open(one_based, arms=3).check()


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("numbers", [False, True])
def test_sets_of_names_may_come_in_any_file(ending: str, numbers: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    known: list[Any] = [3, 0, 1, 2] if numbers else ["x", "w", "z", "y"]
    sets = [[known[k] for k in rng.permutation(4)[: rng.integers(2, 5)]] for _ in range(300)]
    chosen = [one[int(rng.integers(len(one)))] for one in sets]
    reward = np.array([known.index(name) for name in chosen]) + rng.normal(size=300)
    columns = {"actions": sets, "chosen": chosen, "propensity": [1 / len(one) for one in sets]}
    frame = coin(300).assign(**columns, reward=reward)
    path = tmp_path / f"log.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.assign(actions=[json.dumps(one) for one in sets]).to_csv(path, index=False)
    best = known[3]
    found = Log.open(path).value({"best": f"action:{best}"})
    weight = np.array(
        [(len(s) * (c == best)) if best in s else 1.0 for s, c in zip(sets, chosen, strict=True)]
    )
    assert found.of("best", "IPS")["estimate"] == pytest.approx(np.mean(weight * reward), rel=1e-12)


def test_vectors_without_a_length_are_not_taken_for_names(tmp_path: Path) -> None:
    flat: Any = [[1, 0, 0, 1]] * 400  # two vectors of length 2
    frame = coin().assign(actions=flat)
    with pytest.raises(LogError, match=r"the length of a vector \(--dim\)"):
        Log.open(frame)
    assert Log.open(frame.assign(chosen=0), dim=2).dim == 2
    named: Any = [[{"id": "a"}, {"id": "b"}, {"id": "c"}]] * 400
    described = coin().assign(actions=named)
    with pytest.raises(LogError, match=r"holds lists of structs; .* named actions need features"):
        Log.open(described)


def test_times_may_be_durations() -> None:
    frame = coin().assign(time=pd.to_timedelta(coin()["time"], unit="s"))
    log = Log.open(frame, arms=3)
    assert not log.dated
    assert log.check()["span in hours"] == pytest.approx(399 / 60)


def test_a_choice_that_is_missing_is_called_so() -> None:
    frame = coin().astype({"chosen": float})
    frame.loc[5, "chosen"] = np.nan
    with pytest.raises(LogError, match=r"row 6: chosen is missing\."):
        Log.open(frame, arms=3).check()
    names = coin().assign(chosen=lambda f: f["chosen"].map({0: "a", 1: "b"}))
    with pytest.raises(LogError, match="chosen is missing"):
        Log.open(names, arms=("a", "b", "c")).check()


def test_more_arms_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(LogError, match=r"arms must be at most 20,000, .* got 1,000,000"):
        Log.open(coin(), arms=1_000_000)


def test_seconds_since_1970_are_dates() -> None:
    frame = coin().assign(time=lambda f: 1.7e9 + f["time"])
    log = Log.open(frame, arms=3)
    assert log.check()["first time"] == "2023-11-14 22:13:20"
    milliseconds = frame.assign(time=(1000 * frame["time"]).astype("int64"))
    assert Log.open(milliseconds, arms=3, unit="ms").check()["first time"] == "2023-11-14 22:13:20"
    assert not Log.open(coin(), arms=3).dated


def test_propensities_of_single_precision_may_be_a_rounding_above_1() -> None:
    above = np.float32(1.0) + np.float32(1.2e-7)
    frame = coin(arms=1).assign(propensity=above)
    assert Log.open(frame, arms=1).check()["least propensity"] == 1.0
    with pytest.raises(LogError, match="propensity must lie in"):
        Log.open(frame.assign(propensity=1.001), arms=1).check()


@pytest.mark.parametrize("command", ["drift", "memory", "value", "fit"])
def test_every_command_says_what_was_dropped(command: str, tmp_path: Path) -> None:
    frame = coin()
    frame.loc[7, "propensity"] = 1.5
    frame.to_parquet(tmp_path / "log.parquet")
    words = ["log", command, str(tmp_path / "log.parquet"), "--arms", "3", "--drop"]
    if command == "drift":
        words += ["--simulations", "59"]
    if command == "fit":
        words += ["--policy", "LinUCB", "--out", str(tmp_path / "policy.npz")]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert "1 rows were dropped; the first is row 8: propensity must lie in" in result.output


def test_features_of_any_size_have_an_answer() -> None:
    rng = np.random.default_rng(1)
    frame = coin(1200).assign(one=1.0, large=1e6 * rng.normal(size=1200))
    frame["reward"] = np.where(frame.index < 600, frame["reward"], 1.0 - frame["reward"])
    found = Log.open(frame, arms=3, context=("one", "large")).memory()
    assert np.isfinite(found.predictor)
    assert "policy = AdaptiveLinUCB(dim=6)  # features are too large" in found.snippet


def test_a_logger_that_draws_no_lots_cannot_tell_what_others_earn() -> None:
    # Each arm is played for 100 rows at a time, with the logged probability 1.
    frame = coin(1200).assign(chosen=np.arange(1200) // 100 % 3, propensity=1.0)
    found = Log.open(frame, arms=3).value({"u": "uniform"})
    assert any("its weights average 0.333 but should average 1" in r for r in found.refused)
    assert "This cannot be trusted" in found.sentences[0]
    assert not any(
        "average" in line for line in Log.open(coin(), arms=3).value({"u": "uniform"}).refused
    )


def test_weights_that_only_lack_rare_plays_are_not_called_wrong() -> None:
    # An arm of probability 1/1000, which 400 rows contain once or not at all.
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rare = rng.random(400) < 0.001
        frame = coin(seed=seed, arms=2).assign(
            chosen=np.where(rare, 1, 0), propensity=np.where(rare, 0.001, 0.999)
        )
        refused = Log.open(frame, arms=2).value({"u": "uniform"}).refused
        alarms += any("should average 1" in line for line in refused if rare.any())
    assert alarms == 0


def test_rewards_that_are_all_equal_have_no_spread_to_judge_by() -> None:
    frame = coin().assign(reward=0.0)
    found = Log.open(frame, arms=3).value({"u": "uniform"})
    row = found.of("logging", "mean")
    assert row["estimate"] == 0.0
    assert np.isnan([row["low"], row["high"]]).all()
    assert any("all rewards are equal" in line for line in found.refused)
    # With bounds of rewards there is an interval: for n zeros its width is about log(20)/n.
    bounded = Log.open(frame, arms=3, reward_bounds=(0, 1)).value({"u": "uniform"})
    low, high = bounded.of("logging", "mean")[["low", "high"]]
    assert low == 0.0
    assert -np.log(0.05) / 400 * 0.5 < high < 0.1


def test_rewards_that_differ_a_little_are_not_called_equal() -> None:
    spread = coin()["reward"] - 0.5
    # Far from 0 the interval is the one of the differences.
    near = Log.open(coin().assign(reward=spread), arms=3).value({"u": "uniform"})
    same = near.of("logging", "mean")[["low", "high"]]
    for size in (1e4, 1e6, 1e8):
        far = Log.open(coin().assign(reward=size + spread), arms=3).value({"u": "uniform"})
        ends = far.of("logging", "mean")[["low", "high"]]
        error = 4.0 * np.finfo(float).eps * size
        assert (ends - size).to_numpy(float) == pytest.approx(same.to_numpy(float), abs=error)
    # So far that rows contain only rounding: no interval, and the true reason.
    lost = Log.open(coin().assign(reward=1e13 + spread), arms=3).value({"u": "uniform"})
    assert np.isnan(lost.of("logging", "mean")["low"])
    assert any("so little, relative to their size" in line for line in lost.refused)
    assert not any("are equal" in line for v in (near, far, lost) for line in v.refused)
    # Rows that stand for several decisions are equal if their rewards are.
    counted = Log.open(coin().assign(reward=0.1, count=7.0), arms=3).value({"u": "uniform"})
    assert any("all rewards are equal" in line for line in counted.refused)


def test_rewards_that_never_came_in_time_are_said_to() -> None:
    late = Log.open(coin().assign(reward_time=1e9), arms=3)
    for ask in (late.memory, lambda: late.drift(simulations=59)):
        with pytest.raises(CannotAnswer, match="came before later decisions; only 0 did"):
            ask()
    still = Log.open(coin().assign(reward=0.0), arms=3)
    with pytest.raises(CannotAnswer, match="all known rewards are equal"):
        still.memory()


def test_no_memory_is_preferred_where_never_forgetting_does_as_well() -> None:
    # Sales with infinite variance: a few rows may decide between memories; evidence says nothing.
    for seed in range(15):
        rng = np.random.default_rng([seed, 7])
        sold = np.where(rng.random(2000) < 0.05, 20.0 * rng.pareto(1.5, 2000), 0.0)
        found = Log.open(coin(2000, seed=seed).assign(reward=sold), arms=3).memory()
        assert np.isinf(found.predictor) or not found.table["close"].iloc[-1]


def test_of_many_arms_those_that_are_rarely_played_count_as_one() -> None:
    frame = coin(600, arms=300)
    frame.loc[:99, "chosen"] = 17  # played most
    group = pooled(Log.open(frame, arms=300))
    assert group.max() == 127
    assert np.count_nonzero(group == 127) == 300 - 127
    assert group[17] == 0
    assert list(pooled(Log.open(coin(), arms=3))) == [0, 1, 2]
    # The arms with the fewest plays are counted as one.
    plays = frame["chosen"].value_counts().reindex(range(300), fill_value=0).to_numpy()
    assert plays[group == 127].max() <= plays[group < 127].min()


@pytest.mark.parametrize("text", ["", "action,probability\n0,much\n", "action\n0\n"])
def test_a_table_of_shares_that_is_none_is_refused_in_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text(text)
    with pytest.raises(LogError, match="table of shares"):
        Log.open(coin(), arms=3).value({"s": f"shares:{tmp_path / 'shares.csv'}"})


def test_a_frozen_policy_of_another_length_is_refused_in_words(tmp_path: Path) -> None:
    LinUCB(dim=7).save(tmp_path / "policy.npz")
    log, frozen = Log.open(coin(), arms=3), f"frozen:{tmp_path / 'policy.npz'}"
    why = "row 1: LinUCB cannot choose: actions must have shape"
    with pytest.raises(CannotAnswer, match=why):
        log.value({"f": frozen})
    # It does not stop the others, and their numbers stay the same.
    both, alone = log.value({"u": "uniform", "f": frozen}), log.value({"u": "uniform"})
    assert both.table[both.table["policy"] != "f"].equals(alone.table)
    assert both.table["estimate"][both.table["policy"] == "f"].isna().all()
    assert any(line.startswith(f"f: it cannot be evaluated: {why}") for line in both.refused)
    assert both.sentences[1] == "What f would have earned cannot be told from this log."


@pytest.mark.parametrize("other", ["uniform", "LinUCB", None])
def test_a_frozen_policy_that_is_refused_leaves_the_others(
    other: str | None, tmp_path: Path
) -> None:
    LinUCB(dim=7).save(tmp_path / "policy.npz")
    coin().to_parquet(tmp_path / "log.parquet")
    names = [f"frozen:{tmp_path / 'policy.npz'}", *([] if other is None else [other])]
    words = [word for name in names for word in ("--policy", name)]
    log = [str(tmp_path / "log.parquet"), "--arms", "3"]
    result = CliRunner().invoke(cli, ["log", "value", *log, *words, "--out", str(tmp_path)])
    if other is None:
        assert isinstance(result.exception, CannotAnswer)
        return
    assert result.exit_code == 0, result.output
    assert "it cannot be evaluated: row 1: LinUCB cannot choose" in result.output
    table = pd.read_csv(tmp_path / "value.csv")
    assert table["estimate"][table["policy"] == other].notna().all()
    assert table["estimate"][table["policy"] == names[0]].isna().all()


def test_a_report_is_written_without_a_frozen_policy_that_is_refused(tmp_path: Path) -> None:
    LinUCB(dim=7).save(tmp_path / "policy.npz")
    coin().to_parquet(tmp_path / "log.parquet")
    words = ["--arms", "3", "--policy", f"frozen:{tmp_path / 'policy.npz'}", "--simulations", "59"]
    out = tmp_path / "report.html"
    log = str(tmp_path / "log.parquet")
    result = CliRunner().invoke(cli, ["log", "report", log, *words, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "LinUCB cannot choose" in out.read_text()


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "set,action,x\n1,a,0.5\n1,b,oops\n"])
def test_a_catalogue_that_is_none_is_refused_in_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "sets.csv").write_text(text)
    coin().assign(actions=1).to_csv(tmp_path / "log.csv", index=False)
    words = ["log", "check", str(tmp_path / "log.csv"), "--catalogue", str(tmp_path / "sets.csv")]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, LogError | SystemExit)
    assert result.exit_code != 0


def test_one_column_of_numbers_is_a_vector() -> None:
    frame = coin().assign(x=np.random.default_rng(3).normal(size=400))
    alone, listed = Log.open(frame, action="x"), Log.open(frame, action=("x",))
    assert alone.dim == 1
    assert alone.memory().table.equals(listed.memory().table)


def test_ids_of_sets_may_be_texts_or_numbers() -> None:
    sets = {1: {"a": [1.0], "b": [2.0]}, 2: {"c": [3.0], "d": [4.0]}}
    frame = coin(arms=2).assign(actions=np.where(np.arange(400) % 2, "1", "2"))
    found = Log.open(frame, catalogue=sets).value({"u": "uniform"})
    numbers = frame.assign(actions=frame["actions"].astype(int))
    expected = Log.open(numbers, catalogue=sets).value({"u": "uniform"})
    assert found.table.equals(expected.table)


def test_columns_have_names() -> None:
    wrong: Any = {"time": 3}
    with pytest.raises(ValueError, match="time must be the name of a column, got 3"):
        Log.open(coin(), arms=3, **wrong)
