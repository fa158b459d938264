"""Peak memory of questions to a log, each in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from benchmarks.log_room import measured, write_log

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the peak of a process")

READ = """
import sys
from driftbandits.logs import Log

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

before = peak()
rows = sum(len(batch) for batch in Log.open(sys.argv[1]).batches())
print(rows, 1024 * (peak() - before))
"""


@linux
@pytest.mark.thorough
def test_a_first_question_stays_within_its_room(tmp_path: Path) -> None:
    # Nothing is compiled so far; the log has 200 numbers in a row.
    write_log(tmp_path / "room.parquet", 40_000)
    assert measured("memory", tmp_path, tmp_path / "cache") < 500.0
    assert any((tmp_path / "cache").rglob("*walk*.nbc"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    path = tmp_path_factory.mktemp("room")
    write_log(path / "room.parquet", 160_000)
    return pa.parquet.read_table(path / "room.parquet").combine_chunks()


@linux
@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_file_that_is_one_piece_is_read_in_pieces(
    kind: str, table: pa.Table, tmp_path: Path
) -> None:
    # 260 MB in one record batch and one row group. Reading adds 70 MB to the memory of imports.
    path = tmp_path / f"one.{kind}"
    if kind == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.parquet.write_table(table, path, use_dictionary=False, compression="none")
    assert path.stat().st_size > 250e6
    command = [sys.executable, "-c", READ, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, room = map(int, found.stdout.split())
    assert rows == 160_000
    assert room < path.stat().st_size / 2
