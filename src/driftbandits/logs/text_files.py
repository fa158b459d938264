"""Text files as Arrow record batches; handles lines that cannot be parsed."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from .schema import LogError

# Bytes of text that are parsed at a time.
_BLOCK = 4 << 20
DAMAGED = b"damaged lines"
_QUESTION = "driftbandits.question_marks"
# A number with a decimal comma.
_NUMBER = re.compile(rb"[-+]?\d*,\d+([eE][-+]?\d+)?")


def _question_marks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


codecs.register_error(_QUESTION, _question_marks)


def with_counts(batch: pa.RecordBatch, counts: dict[bytes, int]) -> pa.RecordBatch:
    """The batch, with counts of lines left out so far in the metadata of its schema."""
    return batch.replace_schema_metadata({key: str(n).encode() for key, n in counts.items()})


class _Utf8:
    """A file with question marks in place of bytes that are not UTF-8, which pyarrow refuses."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, b""
        self._decode = codecs.getincrementaldecoder("utf-8")(errors=_QUESTION).decode
        self.closed = False

    def read(self, size: int) -> bytes:
        """The next bytes, at most ``size``; none at the end."""
        while len(self._left) < size and (piece := self._file.read(size)):
            self._left += self._decode(piece).encode()
        out, self._left = self._left[:size], self._left[size:]
        return out

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def close(self) -> None:
        """Nothing more will be read."""
        self.closed = True


def opened(path: Path) -> IO[bytes]:
    """The bytes of a text file, which may be compressed with gzip."""
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def csv_rows(path: Path, drop: bool) -> Iterator[pa.RecordBatch]:
    """Rows of a CSV file with a header.

    Types are guessed from the first block. A line whose number of columns differs from the header
    is left out, or named in an error.
    """
    damaged: list[str] = []

    def odd(row: Any) -> str:
        damaged.append(
            f"line {row.number} has {row.actual_columns} columns instead of {row.expected_columns}"
        )
        return "skip" if drop else "error"

    between, point = _marks(path)
    read = pa.csv.ReadOptions(block_size=_BLOCK, use_threads=False)
    parse = pa.csv.ParseOptions(delimiter=between, invalid_row_handler=odd)
    convert = pa.csv.ConvertOptions(decimal_point=point)
    try:
        with opened(path) as file:
            for batch in pa.csv.open_csv(
                _Utf8(file), read_options=read, parse_options=parse, convert_options=convert
            ):
                yield with_counts(batch, {DAMAGED: len(damaged)})
    except pa.ArrowInvalid:
        if damaged and not drop:
            raise _refusal(path, damaged[0]) from None
        raise


def _marks(path: Path) -> tuple[str, str]:
    """The column separator and the decimal point of a CSV file.

    The separator is the tab if the file is called ``.tsv``, otherwise the most common of comma,
    semicolon and tab in the header, outside quotes. If it is not the comma, the decimal point may
    be a comma: if the first rows have numbers with a comma and none with a point.
    """
    with opened(path) as file:
        head = file.readline(_BLOCK)
        rows = file.readlines(1 << 16)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise LogError(f"{path.name} is in UTF-16; save it as UTF-8")
    bare = b"".join(head.split(b'"')[::2])
    tabs = ".tsv" in (suffix.lower() for suffix in path.suffixes)
    between = "\t" if tabs else max(",;\t", key=lambda mark: bare.count(mark.encode()))
    if between == ",":
        return ",", "."
    fields = [field for row in rows for field in row.strip().split(between.encode())]
    commas = any(_NUMBER.fullmatch(field) for field in fields)
    points = any(_NUMBER.fullmatch(field.replace(b".", b",")) for field in fields if b"." in field)
    return between, "," if commas and not points else "."


def json_rows(path: Path, drop: bool) -> Iterator[pa.RecordBatch]:
    """Rows of a file with one JSON object per line; other lines are left out, or named."""
    done = damaged = 0
    for block in whole_lines(path):
        lines = block.splitlines()
        if not block.strip():
            done += len(lines)
            continue
        try:
            str(block, "utf-8")  # pyarrow accepts any bytes, and fails only when texts are read
            table = pa.json.read_json(io.BytesIO(block))
        except (pa.ArrowInvalid, UnicodeError):
            good = [line for line in lines if line.strip() and _object(line)]
            bad = [i for i, line in enumerate(lines) if line.strip() and not _object(line)]
            if not bad:
                raise  # each line is valid on its own: a column changes its type
            if not drop:
                raise _refusal(
                    path, f"line {done + bad[0] + 1} is not a JSON object, and every line must be"
                ) from None
            damaged += len(bad)
            if not good:
                done += len(lines)
                continue
            table = pa.json.read_json(io.BytesIO(b"\n".join(good)))
        done += len(lines)
        for batch in table.to_batches():
            yield with_counts(batch, {DAMAGED: damaged})


def _object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _refusal(path: Path, what: str) -> LogError:
    return LogError(
        f"{path.name}: {what}. Correct it, or choose to drop such lines (on_bad='drop', --drop)"
    )


def whole_lines(path: Path) -> Iterator[bytes]:
    """Blocks of complete lines."""
    with opened(path) as file:
        rest = b""
        while block := file.read(_BLOCK):
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if end:
                yield block[:end]
        if rest.strip():
            yield rest


def is_dsjson(path: Path) -> bool:
    """Whether the first line of a JSON file has the keys of a dsjson decision."""
    with opened(path) as file:
        first = file.readline(_BLOCK)
    try:
        event = json.loads(first)
    except ValueError:
        return False
    return isinstance(event, dict) and {"c", "EventId"} <= set(event)
