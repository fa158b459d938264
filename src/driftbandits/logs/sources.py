"""Where rows come from: files and frames, as a stream of Arrow record batches of bounded size."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet

from .columns import plain
from .schema import LogError
from .text_files import csv_rows, is_dsjson, json_rows, whole_lines

_WORDS = {"parquet": "Parquet", "csv": "CSV", "jsonl": "JSON lines", "arrow": "Arrow"}
_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".dsjson": "dsjson",
}


# Approximate size of a batch in bytes: batches of wide rows have fewer rows.
BYTES = 4 << 20
# Bytes of a Parquet column that are read at once, and rows read first to measure their width.
_BUFFER, _PEEK = 1 << 18, 64


def fitting(rows: int, bytes_per_row: float) -> int:
    """The number of rows that take about `BYTES`, at least 1 and at most ``rows``."""
    return int(max(1.0, min(rows, BYTES / max(bytes_per_row, 1.0))))


class Reader(Protocol):
    """Opens a stream; see `Source`."""

    def __call__(self, skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches after the first ``skip`` rows."""


@dataclass(frozen=True)
class Source:
    """A stream of record batches that can be opened again from any row.

    Attributes:
        name: Name of the source in messages.
        stamp: Returns a text that changes if the data changes, for a run that continues later.
        rows: Number of rows, or None if it is not known before reading.
        read: ``read(skip)`` opens the stream after the first ``skip`` rows; ``read(skip, names)``
            may leave out all other columns.
        notes: Remarks on the format, in words.
    """

    name: str
    stamp: Callable[[], str]
    rows: int | None
    read: Reader
    notes: tuple[str, ...] = ()


def open_source(data: Any, *, rows: int, drop: bool = False, kind: str | None = None) -> Source:
    """The stream of a path, an Arrow object, or a pandas or polars frame, ``rows`` at a time.

    With ``drop``, lines of a text file that cannot be parsed are left out. The metadata of each
    batch's schema counts the lines left out up to the end of the batch.
    """
    if isinstance(data, (str, os.PathLike)):
        return _file(Path(data), rows, drop, kind)
    table = _table(data)

    def stamp() -> str:
        digest = hashlib.blake2b(str(table.schema).encode())
        for batch in table.to_batches(max_chunksize=rows):
            digest.update(batch.serialize())
        return digest.hexdigest()

    def read(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from map(plain, table.slice(skip).to_batches(max_chunksize=rows))

    return Source(type(data).__name__, stamp, table.num_rows, read)


def _table(data: Any) -> Any:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__") and type(data).__module__.partition(".")[0] != "pandas":
        return pa.RecordBatchReader.from_stream(data).read_all()
    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    raise LogError(
        f"a log is a path, an Arrow table, or a pandas or polars frame, got {type(data).__name__}"
    )


def _file(path: Path, rows: int, drop: bool, kind: str | None) -> Source:
    packed = path.suffix.lower() == ".gz"
    known = kind or _KINDS.get((path.with_suffix("") if packed else path).suffix.lower())
    if packed and known in ("parquet", "arrow"):
        raise LogError(f"{path.name}: only text files may be compressed with gzip; unpack it first")
    if known not in _READERS:
        raise LogError(
            f"{path.name} has no known file extension; give its kind (--kind), one of "
            f"{', '.join(_READERS)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if kind is None and known != "parquet" and _is_parquet(path):
        raise LogError(f"{path.name} contains Parquet; give its kind (--kind parquet)")
    kind = "dsjson" if kind is None and known == "jsonl" and is_dsjson(path) else known
    stamp = f"{path.stat().st_size}:{path.stat().st_mtime_ns}"
    with _readable(path, kind):
        count, read, notes = _READERS[kind](path, rows, drop)

    def guarded(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        with _readable(path, kind):
            yield from map(plain, read(skip, names))

    return Source(path.name, lambda: stamp, count, guarded, notes)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turns errors of the file's format into a `LogError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        words = _WORDS.get(kind, kind)
        raise LogError(f"{path.name} cannot be read as {words}: {error}") from None


Opened = tuple[int | None, Reader, tuple[str, ...]]


def _parquet(path: Path, rows: int, drop: bool) -> Opened:
    # Without a buffer, whole columns of a row group would be read at once.
    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": _BUFFER}
    with pa.parquet.ParquetFile(path, **options) as file:
        total = file.metadata.num_rows
        first = next(file.iter_batches(batch_size=_PEEK), None)
        rows = fitting(rows, first.nbytes / _PEEK) if first is not None else rows

    def read(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        with pa.parquet.ParquetFile(path, **options) as file:
            groups: list[int] = []
            left = skip
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if left >= size and not groups:
                    left -= size
                else:
                    groups.append(group)
            if groups:
                have = [n for n in names if n in file.schema_arrow.names] if names else None
                batches = file.iter_batches(batch_size=rows, row_groups=groups, columns=have)
                yield from _skipped(batches, left)

    return total, read, ()


def _text(parse: Callable[[Path, bool], Iterator[pa.RecordBatch]]) -> Callable[..., Opened]:
    """Reader of a text format; the number of rows is not known before reading."""

    def opened(path: Path, rows: int, drop: bool) -> Opened:
        def read(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
            yield from _cut(_skipped(parse(path, drop), skip), rows)

        return None, read, ()

    return opened


def _arrow(path: Path, rows: int, drop: bool) -> Opened:
    def read(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        if path.stat().st_size == 0:
            raise pa.ArrowInvalid("it is empty")
        with path.open("rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            reader = pa.ipc.open_file(pa.py_buffer(pages))
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:
            batches = iter(pa.ipc.open_stream(pa.py_buffer(pages)))
        for batch in _cut(_skipped(map(_validated, batches), skip), rows):
            yield batch
            if hasattr(mmap, "MADV_DONTNEED"):
                # Pages that were read count as this process's memory until they are released.
                pages.madvise(mmap.MADV_DONTNEED)

    return None, read, ()


def _validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, after a check of its offsets: a damaged file would be read out of bounds."""
    batch.validate(full=True)
    return batch


def _dsjson(path: Path, rows: int, drop: bool) -> Opened:
    # Imported here, since nothing else needs msgspec.
    from .dsjson import read_dsjson

    def read(skip: int, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        yield from _skipped(read_dsjson(whole_lines(path), rows=rows, drop=drop), skip)

    note = (
        "dsjson has one joined reward per decision without its time, so delays are lost: "
        "every reward counts as known at once"
    )
    return None, read, (note,)


_READERS: dict[str, Callable[[Path, int, bool], Opened]] = {
    "parquet": _parquet,
    "csv": _text(csv_rows),
    "jsonl": _text(json_rows),
    "arrow": _arrow,
    "dsjson": _dsjson,
}


def _skipped(batches: Iterator[pa.RecordBatch], skip: int) -> Iterator[pa.RecordBatch]:
    """The stream without its first ``skip`` rows."""
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        yield batch.slice(skip) if skip else batch
        skip = 0


def _cut(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The stream in batches of at most ``rows``, and of a bounded size."""
    for batch in batches:
        most = fitting(rows, batch.nbytes / max(batch.num_rows, 1))
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)
