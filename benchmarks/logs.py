"""Logs: rows per second of every question, compared with obp and Vowpal Wabbit on the same work.

`log_agreement` compares estimates with vw-estimators and obp; `log_room` measures the peak memory
of every command.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import vowpalwabbit

from driftbandits import DLinUCB
from driftbandits.logs import Log

from .log_agreement import agreement, speeds
from .log_room import room
from .measure import (
    Aim,
    Array,
    Row,
    Say,
    at_least,
    interleaved,
    seconds,
    summary,
)

NAME = "logs"
_DIM, _ARMS = 10, 20


def run(*, quick: bool, say: Say) -> list[Row]:
    """All questions on synthetic logs, then the agreement on real data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*_speeds(folder, quick, say), *_dsjson(folder, quick, say)]
        rows += room(NAME, folder, 30_000 if quick else 300_000, say)
        say("logs: agreement with vw-estimators and obp")
        rows += agreement(NAME, folder)
    return rows


def _speeds(folder: Path, quick: bool, say: Say) -> list[Row]:
    n = 50_000 if quick else 500_000
    played, offered = folder / "played.parquet", folder / "offered.parquet"
    _write_played(played, n)
    _write_offered(offered, n // 5)
    log = Log.open(played, action="x_")
    catalogue = {"all": np.random.default_rng(1).normal(size=(_ARMS, _DIM)) / np.sqrt(_DIM)}
    sets = Log.open(offered, catalogue=catalogue)
    policy = DLinUCB(dim=_DIM, gamma=0.999, action_bound=9.0, noise=0.5)
    work: dict[str, tuple[int, float, Callable[[], Any]]] = {
        "sums, one memory, from Parquet": (n, 3e6, lambda: log.sums(memories=(1000.0,))),
        "16 memories prequentially": (2 * n, 3e5, log.memory),
        "weekly DR, K = 20": (n // 5, 2e5, lambda: sets.value({"u": "uniform"}, period="week")),
        "replay, K = 20": (
            n // 5,
            1e5,
            lambda: sets.replay({"D": policy}, period="week", full_traffic=False),
        ),
    }
    rows = []
    for name, (count, aim, call) in work.items():
        say(f"logs: {name}")
        call()  # compiles
        start = time.process_time()
        rates = np.array([count / seconds(call) for _ in range(3)])
        note = f"{3 * count / (time.process_time() - start):,.0f} per second of one core"
        note += "; two passes: as rewards came, and at once" if "16" in name else ""
        rows.append(_rate("driftbandits", name, rates, aim=at_least(aim), note=note))
    say("logs: values beside vw-estimators and obp")
    names = {"chosen": "item_id", "reward": "click", "propensity": "propensity_score"}
    frame = pa.parquet.read_table(offered).to_pandas().rename(columns=names)
    return rows + speeds(NAME, sets, frame, _ARMS)


def _rate(subject: str, what: str, rates: Array, *, aim: Aim | None = None, note: str = "") -> Row:
    return summary(NAME, subject, what, rates, unit="rows/s", aim=aim, note=note)


def _write_played(path: Path, n: int) -> None:
    """Write wide columns of played actions, in pieces, so that writing needs little memory."""
    rng = np.random.default_rng(0)
    theta, writer, done = rng.normal(size=_DIM), None, 0
    while done < n:
        size = min(100_000, n - done)
        x = rng.normal(size=(size, _DIM))
        columns: dict[str, Any] = {f"x_{j}": x[:, j] for j in range(_DIM)}
        columns["time"] = np.arange(done, done + size) * 10.0
        columns["reward"] = x @ theta + rng.normal(size=size)
        table = pa.table(columns)
        writer = writer or pa.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
        done += size
    assert writer is not None
    writer.close()


def _write_offered(path: Path, n: int) -> None:
    rng = np.random.default_rng(1)
    table = {
        "time": np.arange(n) * 60.0,
        "chosen": rng.integers(0, _ARMS, n),
        "propensity": np.full(n, 1.0 / _ARMS),
        "reward": rng.normal(size=n),
    }
    pa.parquet.write_table(pa.table(table), path)


def _dsjson(folder: Path, quick: bool, say: Say) -> list[Row]:
    n, path = 5_000 if quick else 50_000, folder / "log.dsjson"
    rng = np.random.default_rng(2)
    actions = [{"T": {f"a{k}": 1, "length": k}} for k in range(5)]
    with path.open("w") as file:
        for i in range(n):
            chosen = int(rng.integers(5))
            event = {
                "_label_cost": -float(rng.integers(2)),
                "_label_probability": 0.2,
                "_label_Action": chosen + 1,
                "_labelIndex": chosen,
                "Timestamp": f"2021-05-18T13:{i // 60 % 60:02d}:{i % 60:02d}.0000000Z",
                "Version": "1",
                "EventId": str(i),
                "a": [chosen + 1, *(k + 1 for k in range(5) if k != chosen)],
                "c": {"User": {"id": "u", "hour": i % 24}, "_multi": actions},
                "p": [0.2] * 5,
                "VWState": {"m": "N/A"},
            }
            file.write(json.dumps(event) + "\n")

    def ours() -> None:
        for _ in Log.open(path, on_bad="drop").batches():
            pass

    def theirs() -> None:
        arguments = f"--cb_explore_adf --dsjson -d {path} --quiet -t"
        vowpalwabbit.Workspace(arguments).finish()

    say("logs: dsjson")
    times = interleaved({"ours": ours, "theirs": theirs}, repetitions=3)
    note = "its own features, and a prediction for each row"
    return [
        _rate("driftbandits", "dsjson", n / times["ours"].wall, aim=at_least(3e4)),
        _rate("Vowpal Wabbit", "dsjson", n / times["theirs"].wall, note=note),
    ]
