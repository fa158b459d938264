"""Files that hold a header and named arrays, written atomically and verified when read.

The format is NumPy's ``.npz``: a zip archive whose members carry checksums. Nothing in it is
pickled, and nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

FORMAT = "driftbandits-state"
VERSION = 1
_HEADER = "header.json"


class StateFileError(ValueError):
    """A file that cannot be read as a saved state; the message says why."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[BinaryIO]:
    """A file that appears at ``path`` whole, or not at all.

    ``sync`` waits for the disk, so that it holds for a power cut too.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for {target.name}")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        # mkstemp keeps the file private; a saved one follows the user's own default.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_state(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    sync: bool = True,
) -> None:
    """Write ``header`` (anything JSON can say) and ``arrays`` to ``path``."""
    full = {"format": FORMAT, "version": VERSION, **header}
    text = np.frombuffer(json.dumps(full, default=_plain_number).encode(), dtype=np.uint8)
    with atomic_write(path, sync=sync) as file:
        np.savez(file, allow_pickle=False, **{_HEADER: text}, **arrays)


def _plain_number(value: Any) -> Any:
    """A number of numpy's as one of Python's, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be saved")


def read_state(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a file written by `write_state`."""
    try:
        members = _read_members(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive can fail in any way
        raise StateFileError(
            f"{os.fspath(path)} is damaged or not a saved state: {error}"
        ) from error
    if _HEADER not in members:
        raise StateFileError(f"{os.fspath(path)} is not a state saved by driftbandits")
    return _parse_header(path, members.pop(_HEADER)), members


def _read_members(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    # Opened here, since numpy leaves a file that it cannot read open.
    with Path(path).open("rb") as file:
        if file.read(2) != b"PK":
            raise ValueError("it is no archive")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            members = {name: archive[name] for name in archive.files}
    if not all(isinstance(member, np.ndarray) for member in members.values()):
        raise ValueError("it holds members that are not arrays")
    return members


def _parse_header(path: str | os.PathLike[str], text: npt.NDArray[Any]) -> dict[str, Any]:
    try:
        header = json.loads(text.tobytes())
    except (ValueError, RecursionError) as error:
        raise StateFileError(f"{os.fspath(path)} has an unreadable header: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StateFileError(f"{os.fspath(path)} is not a state saved by driftbandits")
    if header.get("version") != VERSION:
        raise StateFileError(
            f"{os.fspath(path)} has format version {header.get('version')!r}; "
            f"this release reads version {VERSION}"
        )
    return header
