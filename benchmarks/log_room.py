"""Peak memory of every command on a log, each in its own process, as a user would call it.

A first call also compiles, which needs extra memory. So every command is measured twice: with an
empty cache of compiled code, and again with the filled cache. Only Linux reports the peak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from .measure import Row, Say, at_most, single

_DIM, _ARMS, _PIECE, _EVENTS = 10, 20, 20_000, 5
_MOST = 500.0  # MB
_FIXED, _LEARNS = ("--policy", "uniform"), ("--policy", "D-LinUCB")

# `VmHWM` is the peak of this process only; `getrusage` would include the peak of its parent. The
# child process that compiles counts too.
_CHILD = """
import atexit, resource, sys
from driftbandits.__main__ import main

def tell():
    lines = open("/proc/self/status").read().splitlines()
    own = int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print("peak", max(own, children), file=sys.stderr, flush=True)

atexit.register(tell)
main()
"""

# The commands; {log} and {dsjson} are files, {out} is a folder.
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "{log}", "--out", "{out}"),
    "drift": ("drift", "{log}", "--out", "{out}"),
    "memory": ("memory", "{log}", "--out", "{out}"),
    "value, fixed": ("value", "{log}", *_FIXED, "--out", "{out}"),
    "value, learning": ("value", "{log}", *_LEARNS, "--out", "{out}"),
    "fit": ("fit", "{log}", *_LEARNS, "--out", "{out}/policy.npz"),
    "report": ("report", "{log}", *_FIXED, *_LEARNS,
               "--out", "{out}/r.html"),
    "dsjson": ("check", "{dsjson}"),
}  # fmt: skip


def room(name: str, folder: Path, rows: int, say: Say) -> list[Row]:
    """Peaks of all commands on a log of ``rows`` rows, cold and warm, for the section ``name``."""
    write_log(folder / "room.parquet", rows)
    write_dsjson(folder / "room.dsjson", rows)
    found = []
    for what in COMMANDS:
        say(f"logs: peak memory of {what}")
        with tempfile.TemporaryDirectory() as cache:
            for state in ("compiling", "compiled"):
                peak = measured(what, folder, Path(cache))
                words = f"peak memory, {what}, {state}"
                found.append(
                    single(name, "driftbandits", words, peak, unit="MB", aim=at_most(_MOST),
                           note=f"{rows:,} rows")
                )  # fmt: skip
    return found


def measured(what: str, folder: Path, cache: Path) -> float:
    """Peak memory of a command in MB, with compiled code in ``cache``."""
    files = {"log": folder / "room.parquet", "dsjson": folder / "room.dsjson"}
    with tempfile.TemporaryDirectory() as out:
        words = [word.format(**files, out=out) for word in COMMANDS[what]]
        found = subprocess.run(
            [sys.executable, "-c", _CHILD, "log", *words],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )
    if found.returncode != 0:
        raise RuntimeError(f"driftbandits log {' '.join(words)}: {found.stderr}")
    return float(found.stderr.rsplit("peak ", 1)[1]) / 1024.0


def write_log(path: Path, rows: int) -> None:
    """A log with sets of 20 vectors of length 10 and a turning parameter, written in pieces.

    Entries have two digits, so that columns are small on disk; in memory they have full size.
    """
    inner = pa.list_(pa.list_(pa.float64(), _DIM), _ARMS)
    kinds = {"time": pa.float64(), "actions": inner, "chosen": pa.int64()}
    kinds |= {"propensity": pa.float64(), "reward": pa.float64(), "reward_time": pa.float64()}
    with pa.parquet.ParquetWriter(path, pa.schema(kinds), compression="zstd") as writer:
        for start, size, rng in _pieces(rows):
            actions = rng.normal(size=(size, _ARMS, _DIM)).round(2)
            chosen, angle = rng.integers(0, _ARMS, size), np.arange(start, start + size) / 5_000.0
            played, time = actions[np.arange(size), chosen], 10.0 * np.arange(start, start + size)
            mean = played[:, 0] * np.cos(angle) + played[:, 1] * np.sin(angle)
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(actions.ravel()), _DIM)
            columns = {
                "time": time,
                "actions": pa.FixedSizeListArray.from_arrays(vectors, _ARMS),
                "chosen": chosen,
                "propensity": np.full(size, 1.0 / _ARMS),
                "reward": mean + rng.normal(size=size),
                "reward_time": time + rng.exponential(600.0, size=size),
            }
            writer.write_table(pa.table(columns, schema=pa.schema(kinds)))


def write_dsjson(path: Path, rows: int) -> None:
    """Decisions among five actions, in the format of Vowpal Wabbit and Personalizer."""
    actions = ",".join(f'{{"T":{{"a{k}":1,"length":{k}}}}}' for k in range(_EVENTS))
    orders = [str([k + 1, *(j + 1 for j in range(_EVENTS) if j != k)]) for k in range(_EVENTS)]
    with path.open("w") as file:
        for start, size, rng in _pieces(rows):
            file.writelines(_lines(start, rng.integers(0, _EVENTS, size), actions, orders))


def _lines(start: int, chosen: Any, actions: str, orders: list[str]) -> Iterator[str]:
    for i, k in enumerate(chosen.tolist(), start):
        day, second = divmod(i, 86_400)
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        yield (
            f'{{"_label_cost":{-(i % 3 == k % 3) * 1.0},"_label_probability":0.2,'
            f'"_label_Action":{k + 1},"_labelIndex":{k},'
            f'"Timestamp":"2021-{5 + day // 28:02d}-{1 + day % 28:02d}T{clock}.0000000Z",'
            f'"Version":"1","EventId":"e{i}","a":{orders[k]},'
            f'"c":{{"User":{{"id":"u{i % 97}","hour":{i % 24}}},"_multi":[{actions}]}},'
            f'"p":[0.2,0.2,0.2,0.2,0.2],"VWState":{{"m":"N/A"}}}}\n'
        )


def _pieces(rows: int) -> Iterator[tuple[int, int, np.random.Generator]]:
    for start in range(0, rows, _PIECE):
        yield start, min(_PIECE, rows - start), np.random.default_rng([start, 3])
