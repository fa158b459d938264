"""Damaged files and rows are named, can be dropped, and never cause a crash."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftbandits import DLinUCB
from driftbandits.logs import CannotAnswer, Log, LogError
from log_worlds import world

WORLD = world(rounds=60, arms=3, dim=2, delay=5000.0)
FRAME = WORLD.frame.assign(id=[str(i) for i in range(60)])


def write(frame: pd.DataFrame, path: Path) -> bytes:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".csv":
        frame.assign(actions=frame["actions"].map(json.dumps)).to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path.read_bytes()


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """The bytes, truncated, overwritten, with a hole, or with a piece doubled."""
    data, at = bytearray(raw), int(rng.integers(len(raw)))
    kind = rng.integers(4)
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        for place in rng.integers(len(raw), size=10):
            data[place] = rng.integers(256)
    elif kind == 2:
        del data[at : at + 100]
    else:
        data[at:at] = data[at : at + 100]
    return bytes(data)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "arrow"])
@pytest.mark.parametrize("on_bad", ["stop", "drop"])
def test_a_damaged_file_is_read_or_refused_in_words(tmp_path: Path, kind: str, on_bad: str) -> None:
    rng = np.random.default_rng([1, len(kind), len(on_bad)])
    raw = write(FRAME, tmp_path / f"whole.{kind}")
    path = tmp_path / f"damaged.{kind}"
    for _ in range(20):
        path.write_bytes(damaged(raw, rng))
        with suppress(LogError):  # anything else is a failure
            Log.open(path, on_bad=on_bad).check()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_line_that_cannot_be_parsed_is_named_or_counted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"log.{kind}"
    lines = write(FRAME, path).splitlines()
    at = 20 if kind == "jsonl" else 21  # after the header
    path.write_bytes(b"\n".join([*lines[:at], b'{"time": 3', *lines[at:]]))
    with pytest.raises(LogError, match=f"log.{kind}: line {at + 1} .*choose to drop"):
        list(Log.open(path).batches())
    log = Log.open(path, on_bad="drop")
    assert sum(len(batch) for batch in log.batches()) == 60
    assert "1 damaged lines left out" in log.notes


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another length": ({"actions": [[1.0, 2.0], [1.0], [2.0, 3.0]]}, "the set of actions is"),
    "no set": ({"actions": None}, "the set of actions is"),
    "beyond all sizes": ({"actions": [[1e60, 0.0]] * 3}, "an action has entries beyond 1e"),
    "a reward beyond": ({"reward": 1e99}, r"reward is outside \[-1e\+50, 1e\+50\]"),
    "hardly a chance": ({"propensity": 1e-80}, "propensity is below 1e-30"),
}


@pytest.mark.parametrize("case", CASES)
def test_odd_rows_are_named(case: str) -> None:
    change, reason = CASES[case]
    records: list[Any] = FRAME.to_dict("records")
    records[20] |= change
    frame = pd.DataFrame(records)
    with pytest.raises(LogError, match=f"row 21: {reason}"):
        list(Log.open(frame).batches())
    log = Log.open(frame, on_bad="drop")
    assert [int(r) for b in log.batches() for r in b.row] == [r for r in range(1, 61) if r != 21]


def test_a_text_that_is_no_time_or_no_list_is_a_bad_row(tmp_path: Path) -> None:
    frame = FRAME.assign(
        time=(pd.Timestamp("2024-01-01") + pd.to_timedelta(FRAME["time"], unit="s")).astype(str),
        actions=FRAME["actions"].map(json.dumps),
    ).drop(columns="reward_time")
    frame.loc[4, "time"], frame.loc[9, "actions"] = "yesterday", "[[1, 2"
    log = Log.open(frame, on_bad="drop")
    assert sum(len(batch) for batch in log.batches()) == 58
    assert [row for row, _ in log.findings.examples] == [5, 10]


def test_a_text_that_is_no_number_is_a_bad_row_and_an_empty_one_is_missing() -> None:
    frame = FRAME.assign(
        reward=FRAME["reward"].astype(str), propensity=FRAME["propensity"].astype(str)
    )
    frame.loc[4, "reward"], frame.loc[5, "reward"], frame.loc[9, "propensity"] = "free", "", "half"
    with pytest.raises(LogError, match="row 5: reward is not a finite number"):
        list(Log.open(frame).batches())
    log = Log.open(frame, on_bad="drop")
    (batch,) = log.batches()
    assert [row for row, _ in log.findings.examples] == [5, 10]
    assert np.flatnonzero(~batch.known).tolist() == [4]  # the sixth row, after one was dropped
    with pytest.raises(LogError, match="'reward' must hold numbers, got 'free'"):
        list(Log.open(frame.assign(reward="free")).batches())


def test_no_good_row_and_no_reward_are_said() -> None:
    policy = DLinUCB(dim=2, gamma=0.9, action_bound=9.0)
    with pytest.raises(LogError, match="no row of the log can be right; row 1: propensity"):
        Log.open(FRAME.assign(propensity=2.0), on_bad="drop").check()
    unrewarded = Log.open(FRAME.assign(reward=np.nan))
    for ask in (
        lambda: unrewarded.value({"u": "uniform"}),
        lambda: unrewarded.replay({"D": policy}),
        unrewarded.memory,
        unrewarded.drift,
        unrewarded.to_environment,
    ):
        with pytest.raises(CannotAnswer):
            ask()
    with pytest.raises(LogError, match="no row has a count above 0"):
        Log.open(FRAME.assign(count=0.0)).memory()


def test_the_shortest_logs_have_an_answer_or_a_reason() -> None:
    single = Log.open(FRAME.iloc[:1], reward_bounds=(-9.0, 9.0))
    assert single.check()["rows"] == 1
    row = single.value({"u": "uniform"}).of("u", "IPS")
    assert np.isnan(row["low"])
    assert single.fit(DLinUCB(dim=2, gamma=0.9, action_bound=9.0)).round == 2
    with pytest.raises(CannotAnswer, match="at least 30 rows"):
        single.memory()
    alone = FRAME.assign(actions=[a[:1] for a in FRAME["actions"]], chosen=0, propensity=1.0)
    assert Log.open(alone).value({"u": "uniform"}).of("u", "IPS − logging")["estimate"] == 0.0


def test_texts_of_polars_are_texts() -> None:
    frame = pd.DataFrame(
        {
            "time": [0.0, 1.0, 2.0],
            "actions": [["a", "b"], ["b", "c"], ["a", "b"]],
            "chosen": ["a", "c", "b"],
            "id": ["x", "y", "x"],
            "reward": [1.0, 0.0, 1.0],
        }
    )
    for data in (frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        log = Log.open(data, on_bad="drop")
        (batch,) = log.batches()
        assert batch.chosen.tolist() == [0, 1]
        assert log.findings.examples == [(3, "duplicate id: x")]
    ids = pl.DataFrame({"time": [0.0], "actions": ["home"], "chosen": ["b"], "reward": [1.0]})
    (batch,) = Log.open(ids, catalogue={"home": {"a": [1.0], "b": [2.0]}}).batches()
    assert batch.chosen.tolist() == [1]


def test_named_actions_without_features_have_the_context() -> None:
    frame = pd.DataFrame(
        {
            "time": [0.0, 1.0],
            "actions": [["a", "b"], ["b", "a"]],
            "chosen": ["a", "a"],
            "x": [2.0, 3.0],
            "reward": [1.0, 0.0],
        }
    )
    log = Log.open(frame, context="x")
    (batch,) = log.batches()
    np.testing.assert_array_equal(batch.actions(1, log.blocks), [[0.0, 3.0], [3.0, 0.0]])


def test_times_of_all_zones_are_the_same_moment() -> None:
    here = pd.to_datetime(["2024-03-10T01:59:00-05:00", "2024-03-10T03:01:00-04:00"], utc=True)
    texts = ["2024-03-10T01:59:00-05:00", "2024-03-10T03:01:00-04:00"]
    for time in (here, here.tz_convert("America/New_York"), texts):
        frame = pd.DataFrame({"time": time, "chosen": [0, 0], "reward": [1.0, 0.0]})
        (batch,) = Log.open(frame, arms=1).batches()
        assert np.diff(batch.time).tolist() == [120.0]


def test_a_reward_outside_its_bounds_cannot_be_right() -> None:
    frame = FRAME.assign(reward=np.where(FRAME.index == 7, 1.5, 0.5))
    with pytest.raises(LogError, match=r"row 8: reward is outside \[0, 1\]: 1\.5"):
        Log.open(frame, reward_bounds=(0.0, 1.0)).value({"u": "uniform"})


def test_probabilities_that_are_none_are_refused(tmp_path: Path) -> None:
    chances = pd.Series([[0.5, 0.25, 0.25]] * 59 + [[0.5, 0.5, 0.5]])
    frame = FRAME.assign(pi=chances)
    with pytest.raises(LogError, match="row 60: column 'pi' must hold probabilities"):
        Log.open(frame).value({"pi": "column:pi"})
    with pytest.raises(LogError, match="column 'reward' must hold lists"):
        Log.open(frame).value({"pi": "column:reward"})
    table, saved = tmp_path / "shares.csv", tmp_path / "policy.npz"
    table.write_text("action,probability\n0,-1\n1,2\n")
    with pytest.raises(LogError, match="at least 0"):
        Log.open(frame).value({"pi": f"shares:{table}"})
    saved.write_bytes(b"nothing of the kind")
    with pytest.raises(LogError, match="damaged or not a saved state"):
        Log.open(frame).value({"pi": f"frozen:{saved}"})


def test_late_rewards_leave_the_pace_of_decisions_alone() -> None:
    late = FRAME.assign(reward_time=FRAME["time"] + 30 * 86400.0)
    assert Log.open(late).rate == Log.open(FRAME).rate == pytest.approx(60 / 59)


def test_other_units_of_time_are_named() -> None:
    rows = pd.DataFrame({"chosen": [0, 1] * 20, "reward": 1.0, "propensity": 0.5})
    for unit, size in (("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        frame = rows.assign(time=((1.7e9 + 60 * np.arange(40)) * size).astype("int64"))
        with pytest.raises(LogError, match=rf"--unit {unit}"):
            Log.open(frame, arms=2).check()
        assert Log.open(frame, arms=2, unit=unit).span()[1] == pytest.approx(1.7e9 + 39 * 60)


def test_an_unsorted_log_and_unknown_names_say_what_helps() -> None:
    frame = pd.DataFrame({"time": np.arange(40.0), "chosen": ["a", "b"] * 20, "reward": 1.0})
    with pytest.raises(LogError, match="Sort the log by time"):
        Log.open(frame[::-1], arms=("a", "b")).check()
    with pytest.raises(LogError, match=r"names such as 'a'.*--arms a,b"):
        Log.open(frame, arms=2).check()
