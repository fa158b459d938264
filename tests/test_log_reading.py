"""Logs in all formats and layouts give the same rows, and wrong rows are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from driftbandits.features import Features, Number, OneHot
from driftbandits.logs import Catalogue, Log, LogError, Schema
from log_worlds import world

WORLD = world(rounds=60, arms=3, dim=2, delay=5000.0, logger="adaptive")


def rows_of(log: Log) -> dict[str, Any]:
    """All rows of a log, with full played vectors and sets."""
    out: dict[str, list[Any]] = {
        name: [] for name in ("time", "reward", "arrival", "propensity", "chosen", "sets")
    }
    for batch in log.batches():
        for name in ("time", "reward", "arrival", "propensity", "chosen"):
            out[name] += getattr(batch, name).tolist()
        out["sets"] += [batch.actions(i, log.blocks).tolist() for i in range(len(batch))]
    return out


def same(found: Log, expected: Log) -> None:
    ours, theirs = rows_of(found), rows_of(expected)
    for name in ("time", "reward", "arrival", "propensity", "chosen"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12)
    np.testing.assert_allclose(np.array(ours["sets"]), np.array(theirs["sets"]), rtol=1e-12)


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    vectors = np.array(frame["actions"].to_list())
    columns = {
        f"actions_{k}_{j}": vectors[:, k, j]
        for k in range(vectors.shape[1])
        for j in range(vectors.shape[2])
    }
    return frame.drop(columns="actions").assign(**columns)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "arrow", "feather"])
@pytest.mark.parametrize("rows", [7, 1000])
def test_every_file_format_gives_the_same_rows(tmp_path: Path, kind: str, rows: int) -> None:
    frame, path = WORLD.frame, tmp_path / f"log.{kind}"
    if kind == "parquet":
        frame.to_parquet(path, row_group_size=25)
    elif kind == "csv":
        frame.assign(actions=frame["actions"].map(json.dumps)).to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    elif kind == "arrow":
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    else:
        pa.feather.write_feather(frame, str(path))
    ours = Log.open(path, rows=rows)
    expected = Log.open(frame)
    found, truth = rows_of(ours), rows_of(expected)
    for name in ("time", "reward", "arrival", "propensity", "chosen"):
        np.testing.assert_allclose(found[name], truth[name], rtol=1e-9)
    np.testing.assert_allclose(np.array(found["sets"]), np.array(truth["sets"]), rtol=1e-9)


def test_frames_and_layouts_give_the_same_rows() -> None:
    frame, expected = WORLD.frame, Log.open(WORLD.frame)
    same(Log.open(pl.from_pandas(frame)), expected)
    same(Log.open(pa.Table.from_pandas(frame)), expected)
    same(Log.open(wide(frame)), expected)
    flat = frame.assign(actions=[np.ravel(row).tolist() for row in frame["actions"]])
    same(Log.open(flat, dim=2), expected)
    sets = {f"set {i}": row for i, row in enumerate(frame["actions"])}
    ids = frame.assign(actions=list(sets))
    same(Log.open(ids, catalogue=Catalogue(sets)), expected)


def test_times_may_be_dates_texts_and_numbers_in_a_unit() -> None:
    dates = pd.Timestamp("2024-03-01") + pd.to_timedelta(WORLD.frame["time"], unit="s")
    times = rows_of(Log.open(WORLD.frame.assign(time=dates).drop(columns="reward_time")))["time"]
    texts = WORLD.frame.assign(time=dates.astype(str)).drop(columns="reward_time")
    np.testing.assert_allclose(rows_of(Log.open(texts))["time"], times)
    assert np.diff(times) == pytest.approx(np.full(59, 3600.0))
    hours = WORLD.frame.assign(time=np.arange(60)).drop(columns="reward_time")
    assert rows_of(Log.open(hours, unit="h"))["time"][1] == 3600.0


def test_arms_have_a_block_each() -> None:
    frame = pd.DataFrame(
        {"time": [0.0, 1, 2], "x": [1.0, 2, 3], "chosen": ["b", "a", "b"], "reward": [1.0, 2, 3]}
    )
    log = Log.open(frame, arms=("a", "b"), context="x")
    (batch,) = log.batches()
    assert (log.dim, log.blocks, batch.chosen.tolist()) == (2, 2, [1, 0, 1])
    np.testing.assert_array_equal(batch.actions(2, 2), [[3.0, 0.0], [0.0, 3.0]])


def test_named_actions_go_through_features() -> None:
    features = Features(
        context={"country": OneHot(["FR", "DE"])}, action={"length": Number(800, 400)}
    )
    articles = [{"id": "a", "length": 600}, {"id": "b", "length": 1000}]
    frame = pd.DataFrame(
        {
            "time": [0.0, 1.0],
            "country": ["FR", "DE"],
            "actions": [articles, articles[::-1]],
            "chosen": ["b", "b"],
            "reward": [1.0, 0.0],
        }
    )
    log = Log.open(frame, features=features, context=("country",))
    (batch,) = log.batches()
    assert batch.chosen.tolist() == [1, 0]
    for i, country in enumerate(frame["country"]):
        expected = features.encode({"country": country}, frame["actions"][i])
        np.testing.assert_array_equal(batch.actions(i, 1), expected)


def test_actions_may_be_features_by_name(tmp_path: Path) -> None:
    features = Features(action={"length": Number(800, 400)})
    offers = [{"a": {"length": 600}, "b": {"length": 1000}}, {"b": {"length": 700}}]
    path = tmp_path / "log.jsonl"
    rows = [
        {"time": float(t), "actions": offer, "chosen": "b", "reward": 1.0}
        for t, offer in enumerate(offers)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    texts = pd.DataFrame(rows).assign(actions=[json.dumps(offer) for offer in offers])
    for data in (path, texts):
        batches = list(Log.open(data, features=features).batches())
        assert [int(k) for batch in batches for k in batch.chosen] == [1, 0]
        sets = [batch.actions(i, 1) for batch in batches for i in range(len(batch))]
        for found, offer in zip(sets, offers, strict=True):
            np.testing.assert_array_equal(found, features.encode({}, offer))
    with pytest.raises(LogError, match="named actions need features"):
        Log.open(path)
    odd = texts.assign(actions='{"b": 3}')
    with pytest.raises(LogError, match="features of an action must be a dictionary, got 3"):
        list(Log.open(odd, features=features).batches())


def test_rewards_that_ripen_are_the_default() -> None:
    frame = pd.DataFrame(
        {
            "time": [0.0, 3600.0, 7200.0],
            "chosen": [0, 0, 0],
            "reward": [np.nan, 1.0, np.nan],
            "reward_time": [np.nan, 5000.0, np.nan],
        }
    )
    (batch,) = Log.open(frame, arms=2, mature_after=1.5, default=-1.0).batches()
    np.testing.assert_array_equal(batch.reward, [-1.0, 1.0, np.nan])
    np.testing.assert_array_equal(batch.arrival, [5400.0, 5000.0, np.inf])


def test_totals_are_divided_by_counts() -> None:
    frame = pd.DataFrame({"time": [0.0, 0.0], "chosen": [0, 1], "reward": [5, 9], "count": [10, 6]})
    (batch,) = Log.open(frame, arms=2, total=True).batches()
    assert batch.reward.tolist() == [0.5, 1.5]


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("propensity", {"propensity": 0.0}, "propensity must lie in"),
    ("propensity", {"propensity": 1.1}, "propensity must lie in"),
    ("chosen", {"chosen": 3}, "chosen is outside the set: 3"),
    ("chosen", {"chosen": -1}, "chosen is outside the set: no action of the set"),
    ("arrival", {"reward_time": -1.0}, "reward before its decision"),
    ("time", {"time": 3600.0}, "time goes backwards"),
    ("reward", {"reward": np.inf}, "reward is not a finite number"),
    ("actions", {"actions": [[np.nan, 0.0]] * 3}, "an action has entries that are not finite"),
    ("id", {"id": "7"}, "duplicate id: 7"),
]


@pytest.mark.parametrize(
    ("what", "change", "reason"), BAD, ids=[b[0] + str(i) for i, b in enumerate(BAD)]
)
@pytest.mark.parametrize("rows", [8, 1000])
def test_a_row_that_cannot_be_right_is_named(
    what: str, change: dict[str, Any], reason: str, rows: int
) -> None:
    records: list[Any] = WORLD.frame.assign(id=[str(i) for i in range(60)]).to_dict("records")
    records[20] |= change
    frame = pd.DataFrame(records)
    with pytest.raises(LogError, match=f"row 21: {reason}"):
        list(Log.open(frame, rows=rows).batches())
    log = Log.open(frame, rows=rows, on_bad="drop")
    kept = [int(row) for batch in log.batches() for row in batch.row]
    assert kept == [row for row in range(1, 61) if row != 21]
    assert log.findings.total == 1
    assert log.findings.examples[0][0] == 21


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    frame = WORLD.frame
    with pytest.raises(LogError, match="no column 'click'; it has time, actions"):
        Log.open(frame, reward="click")
    with pytest.raises(LogError, match="no column 'p'"):
        Log.open(frame, propensity="p")
    with pytest.raises(LogError, match="no known file extension"):
        Log.open(tmp_path / "log.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Log.open(tmp_path / "log.csv")
    with pytest.raises(LogError, match="has no rows"):
        Log.open(frame.iloc[:0])
    with pytest.raises(LogError, match="set ids need a catalogue"):
        Log.open(frame.assign(actions="home"))
    with pytest.raises(ValueError, match="on_bad must be one of stop, drop"):
        Log.open(frame, on_bad="ignore")
    with pytest.raises(ValueError, match="unit must be one of"):
        Schema(unit="weeks")
    with pytest.raises(ValueError, match="reward_bounds must be"):
        Schema(reward_bounds=(1.0, 0.0))


def dsjson(**changes: Any) -> str:
    event = {
        "_label_cost": -2.0,
        "_label_probability": 0.25,
        "_label_Action": 2,
        "_labelIndex": 1,
        "o": [{"v": 2.0, "EventId": "x", "ActionTaken": False}],
        "Timestamp": "2021-05-18T13:28:29.6560001Z",
        "EventId": "x",
        "c": {"User": {"id": "a"}, "_multi": [{"T": {"f": 1}}, {"T": {"f": 2}}]},
        "a": [2, 1],
        "p": [0.25, 0.75],
    }
    return json.dumps(event | changes)


def test_dsjson_rows(tmp_path: Path) -> None:
    lines = [
        dsjson(),
        dsjson(EventId="kept", pdrop=0.5),
        dsjson(EventId="deferred", DeferredAction=True),
        dsjson(EventId="activated", DeferredAction=True, o=[{"ActionTaken": True}]),
        dsjson(EventId="apprentice", _label_cost=-1.0, _original_label_cost=-5.0),
        json.dumps({"RewardValue": 3.0, "EventId": "dangling"}),
    ]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(lines) + "\n")
    log = Log.open(path)
    (batch,) = log.batches()
    assert batch.id is not None
    assert batch.id.tolist() == ["x", "kept", "activated", "apprentice"]
    assert batch.reward.tolist() == [2.0, 2.0, 2.0, 1.0]
    assert batch.propensity.tolist() == [0.25] * 4
    assert batch.count.tolist() == [1.0, 2.0, 1.0, 1.0]
    assert batch.chosen.tolist() == [1] * 4
    assert batch.policy is not None
    assert batch.policy.tolist() == [None, None, None, "apprentice"]
    notes = " ".join(log.notes)
    assert "1 dangling lines left out" in notes
    assert "1 deferred decisions never activated left out" in notes
    assert "delays are lost" in notes
    hashed = Log.open(path, features=Features.hashed(context=4, action=4), context="context")
    (encoded,) = hashed.batches()
    assert encoded.vectors.shape == (8, hashed.dim)


def test_dsjson_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.dsjson"
    path.write_text(dsjson() + "\n{broken\n")
    with pytest.raises(LogError, match="line 2 is not dsjson"):
        list(Log.open(path).batches())


def test_text_files_may_be_packed(tmp_path: Path) -> None:
    frame = wide(WORLD.frame)
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    WORLD.frame.to_json(
        tmp_path / "log.jsonl.gz", orient="records", lines=True, double_precision=15
    )
    for name in ("log.csv.gz", "log.jsonl.gz"):
        same(Log.open(tmp_path / name), Log.open(WORLD.frame))
    whole = (tmp_path / "log.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LogError, match=r"cut.csv.gz cannot be read as CSV"):
        Log.open(tmp_path / "cut.csv.gz").check()
    (tmp_path / "log.parquet.gz").write_bytes(whole)
    with pytest.raises(LogError, match="unpack it first"):
        Log.open(tmp_path / "log.parquet.gz")
