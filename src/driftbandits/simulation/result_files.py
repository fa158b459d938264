"""The files of a result: Parquet tables, final states, and the checksums of both.

A save replaces all files together; the old result stays valid until the new one is complete.
``SHA256SUMS`` lists the files of the result, in the format of ``sha256sum --check``. A result of
release 0.1.0 has no such file and is read without the check.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..core.archive import read_arrays, write_arrays
from ..core.staging import place_of, replace_files
from ..core.storage import atomic_write, locked, naming

_METADATA = b"driftbandits"
_SUMS = "SHA256SUMS"
_STATES = "states.npz"
_REGRET = "regret.parquet"
_FILES = (
    _REGRET,
    "detections.parquet",
    "estimates.parquet",
    "path.parquet",
    "coverage.parquet",
    _STATES,
)
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)\n")


class ResultFileError(ValueError):
    """A folder that cannot be read as a result; the message says why."""


def check_labels(labels: Iterable[Any]) -> None:
    """Raise an error for labels of policies that files cannot store faithfully."""
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"names of policies must be text, got {label!r}")
        if "\0" in label or label != label.encode(errors="replace").decode():
            raise ValueError(f"names of policies must be text without NUL, got {label!r}")


def is_result(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a result, intact or damaged."""
    root = Path(folder)
    return _place(root, _SUMS).exists() or _place(root, _REGRET).exists()


def write_result(
    folder: str | os.PathLike[str],
    *,
    config: dict[str, Any],
    frames: Mapping[str, pd.DataFrame],
    states: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Write tables, by name, and final states; then remove the old result."""
    root = Path(folder)
    with replace_files(root, last=_SUMS) as hidden:
        for name, frame in frames.items():
            _write_table(hidden / f"{name}.parquet", frame, config)
        if states:
            with atomic_write(hidden / _STATES) as file:
                write_arrays(file, states)
        written = sorted((path.name for path in hidden.iterdir()), key=_order)
        lines = [f"{_digest((hidden / name).read_bytes())}  {name}\n" for name in written]
        with atomic_write(hidden / _SUMS) as file:
            file.write("".join(lines).encode())
    for name in set(_FILES).difference(written):
        (root / name).unlink(missing_ok=True)


class ResultReader:
    """The files of a saved result, read at once and verified.

    Attributes:
        tables: Tables by name.
        config: What was simulated.
        states: Final states.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        content = _read_files(Path(folder))
        states = content.pop(_STATES, None)
        self.states = {} if states is None else read_arrays(states)
        self.tables: dict[str, pd.DataFrame] = {}
        for name, data in content.items():
            table, config = _read_table(Path(folder) / name, data)
            self.tables[name.removesuffix(".parquet")] = table
            if name == _REGRET:
                self.config = config


def _write_table(path: Path, frame: pd.DataFrame, config: dict[str, Any]) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), _METADATA: json.dumps(config).encode()}
    with atomic_write(path) as file:
        pq.write_table(table.replace_schema_metadata(metadata), file)


def _read_table(path: Path, data: bytes) -> tuple[pd.DataFrame, dict[str, Any]]:
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowException) as error:
        raise ResultFileError(f"{path} cannot be read as a result: {error}") from error
    metadata = table.schema.metadata or {}
    if _METADATA not in metadata:
        raise ResultFileError(f"{path} is not a result saved by driftbandits")
    return table.to_pandas(), json.loads(metadata[_METADATA])


def _read_files(root: Path) -> dict[str, bytes]:
    """The bytes of all files of a result, after a check of their checksums."""
    if not is_result(root):
        raise ResultFileError(f"{root / _REGRET} cannot be read as a result: it does not exist")
    with locked(root):  # keeps out a save by another process
        sums = _read_sums(root)
        names = _FILES if sums is None else tuple(sums)
        paths = {name: _place(root, name) for name in names}
        missing = [name for name, path in paths.items() if not path.exists()]
        if sums is not None and missing:
            raise ResultFileError(f"{root / missing[0]} is missing; {_SUMS} lists it")
        content = {name: _read(path) for name, path in paths.items() if name not in missing}
    for name, data in content.items():
        if sums is not None and _digest(data) != sums[name]:
            raise ResultFileError(f"{root / name} is damaged: its checksum differs from {_SUMS}")
    return content


def _read_sums(root: Path) -> dict[str, str] | None:
    """Checksums by name; None for a result of release 0.1.0."""
    path = _place(root, _SUMS)
    if not path.exists():
        return None
    text = _read(path).decode("ascii", errors="replace")
    sums = {name: digest for digest, name in _LINE.findall(text)}
    lines = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums, key=_order))
    if lines != text or _REGRET not in sums or not sums.keys() <= set(_FILES):
        raise ResultFileError(f"{root / _SUMS} is damaged")
    return sums


def _order(name: str) -> tuple[bool, str]:
    """Sort key of checksums: regret, which every result has, is last, to show a cut-off file."""
    return name == _REGRET, name


def _read(path: Path) -> bytes:
    with naming(path):
        return path.read_bytes()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _place(root: Path, name: str) -> Path:
    return place_of(root, name, last=_SUMS)
