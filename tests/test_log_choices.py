"""Choices by index or by name: numbers as names, unknown names, gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftbandits.features import Features, Number
from driftbandits.logs import Log, LogError


def frame(chosen: Any, **columns: Any) -> pd.DataFrame:
    """Rows of a log, one per minute, with these choices."""
    rows = len(chosen)
    time, reward = 60.0 * np.arange(rows), np.arange(rows) % 2.0
    base = {"time": time, "chosen": chosen, "propensity": 0.5, "reward": reward}
    return pd.DataFrame({**base, **columns})


def played(log: Log) -> list[str]:
    """Names of the chosen actions."""
    labels = [k for batch in log.batches() for k in batch.labels[batch.played]]
    return [log.action_names[k] for k in labels]


def test_numbers_that_are_names_may_be_floats() -> None:
    # In pandas, a column of whole numbers with a gap has floats.
    chosen = np.array([1.0, 3.0, np.nan, 2.0])
    sets: Any = [[1, 2, 3]] * 4
    rows = frame(chosen, actions=sets)
    log = Log.open(rows, on_bad="drop")
    assert played(log) == ["1", "3", "2"]
    assert log.findings.counts == {"chosen is missing": 1}
    arms = Log.open(frame(chosen), arms=("1", "2", "3"), on_bad="drop")
    assert played(arms) == ["1", "3", "2"]
    with pytest.raises(LogError, match=r"row 2: chosen is outside the set: no action"):
        Log.open(frame([1.0, 1.5, 2.0]), arms=("1", "2", "3")).check()


@pytest.mark.parametrize("late_first", [False, True])
def test_what_a_number_means_is_decided_at_the_start(late_first: bool, tmp_path: Path) -> None:
    # Here names are found while reading, so an integer is an index, whatever the first rows offer.
    features = Features(action={"size": Number(0, 1)})

    def offered(*names: str) -> list[dict[str, Any]]:
        return [{"id": name, "features": {"size": 1.0}} for name in names]

    sets: Any = [offered("0", "1")] * 100 + [offered("7", "1")] * 100
    sets = sets if not late_first else sets[::-1]
    path = tmp_path / "log.parquet"
    frame(np.zeros(200, dtype=int), actions=sets).to_parquet(path)
    log = Log.open(path, features=features)
    expected = [one[0]["id"] for one in sets]
    assert played(log) == expected
    assert played(log) == expected
    # Declared names do not depend on the rows.
    named = frame([int(name) for name in expected], actions=sets)
    assert played(Log.open(named, features=features, arms=("0", "1", "7"))) == expected


@pytest.mark.parametrize("gap", [None, ""])
def test_batches_without_any_choice_do_not_stop_a_command(gap: Any) -> None:
    chosen = [gap] * 64 + ["a", "b"] * 64  # the first batch has 64 rows
    log = Log.open(frame(chosen), arms=("a", "b"), on_bad="drop")
    assert played(log) == ["a", "b"] * 64
    assert log.findings.counts == {"chosen is missing": 64}
    with pytest.raises(LogError, match="has names such as 'x', and none of them is an action"):
        Log.open(frame([gap, "x", "y"]), arms=("a", "b"), on_bad="drop").check()


@pytest.mark.parametrize("wrong", [-1, -2])
def test_an_index_below_0_is_outside_and_not_missing(wrong: int) -> None:
    with pytest.raises(LogError, match=r"row 2: chosen is outside the set: no action of the set"):
        Log.open(frame([0, wrong, 1]), arms=2).check()


def test_a_name_that_nobody_has_is_not_given_a_number() -> None:
    with pytest.raises(LogError, match=r"row 2: chosen is outside the set: no action of the set"):
        Log.open(frame(["a", "x", "b"]), arms=("a", "b")).check()
