"""Files that hold a header and named arrays, written atomically and verified when read.

The format is NumPy's ``.npz``: a zip archive whose members carry checksums. Nothing in it is
pickled, and nothing is unpickled.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .archive import read_arrays, write_arrays

try:
    import fcntl
except ImportError:  # Windows has no such locks, so abandoned files are not recognised
    fcntl = None  # type: ignore[assignment]

FORMAT = "driftbandits-state"
VERSION = 1
_HEADER = "header.json"


class StateFileError(ValueError):
    """A file that cannot be read as a saved state; the message says why."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[BinaryIO]:
    """A file that appears at ``path`` whole, or not at all.

    If ``path`` is a link, the file it points to is replaced, and the link stays. A replaced file
    keeps its permissions; a new one follows the user's mask.

    The content goes to a hidden file ``.<name>.<number>.part`` in the same folder. Its process
    keeps it locked. The next write removes any such file that a killed process left behind.

    ``sync`` waits for the disk, so that the promise also holds for a power cut.
    """
    target = Path(os.path.realpath(path))
    mode = _mode_to_keep(target)
    part, handle = _claim(target)
    try:
        # Except on Windows, which only renames closed files, the handle stays open: the file is
        # locked until it has its name.
        with os.fdopen(handle, "wb", closefd=fcntl is None) as file:
            if mode is not None:
                part.chmod(mode)
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        if fcntl is not None:
            os.close(handle)
    if sync:
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder; does nothing on Windows."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a folder, and hold it.

    Does not wait if the system or the file system has no locks.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Wait for the lock of an open file or folder; closing it gives the lock back."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)


def _lock_if_free(handle: int) -> bool:
    """Lock an open file until it is closed; return whether that was possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by somebody else, or on a file system without locks
        return False
    return True


def _mode_to_keep(target: Path) -> int | None:
    """Permissions of the file that will be replaced; None if there is no such file."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for {target.name}")
    if target.is_symlink():  # a link that leads to itself has no real path
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(target))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file, and cannot be replaced", str(target))
    return stat.S_IMODE(mode)


def _claim(target: Path) -> tuple[Path, int]:
    """A new hidden file beside ``target``, and a handle that keeps it locked."""
    for number in count():
        part = _part(target, number)
        _remove_abandoned(part)
        try:
            handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue  # somebody else is writing the same file
        _lock(handle)  # waits at most while another process checks whether the file is abandoned
        if _is_still(part, handle):
            break
        os.close(handle)  # another process removed it as abandoned before it was locked
    with suppress(OSError):  # a folder that must not be listed
        _remove_all_abandoned(target)
    return part, handle


def _remove_all_abandoned(target: Path) -> None:
    """Look in the folder: numbers have gaps if a writer with a lower number has finished first."""
    for other in target.parent.iterdir():
        digits = other.name.removeprefix(f".{target.name}.").removesuffix(".part")
        if digits.isdecimal() and other.name == _part(target, int(digits)).name:
            _remove_abandoned(other)


def _part(target: Path, number: int) -> Path:
    return target.with_name(f".{target.name}.{number}.part")


def _remove_abandoned(part: Path) -> None:
    """Remove a hidden file if its process is dead.

    A living process holds the lock of its file. So this takes the lock first, and removes only the
    very file that it has locked.
    """
    try:
        handle = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:  # there is no such file, or it belongs to somebody else
        return
    try:
        if _lock_if_free(handle) and _is_still(part, handle):
            part.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    """Whether ``path`` names the file that is open as ``handle``."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), os.fstat(handle))
    return False


def write_state(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    sync: bool = True,
) -> None:
    """Write ``header`` (anything JSON can say) and ``arrays`` to ``path``."""
    members = _members(header, arrays)
    with atomic_write(path, sync=sync) as file:
        write_arrays(file, members)


def state_bytes(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """What `write_state` would write; the same bytes for the same content."""
    file = io.BytesIO()
    write_arrays(file, _members(header, arrays))
    return file.getvalue()


def _members(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    full = {"format": FORMAT, "version": VERSION, **header}
    text = np.frombuffer(json.dumps(full, default=_plain_number).encode(), dtype=np.uint8)
    return {_HEADER: text, **arrays}


def _plain_number(value: Any) -> Any:
    """A numpy number as a Python number, for JSON."""
    if isinstance(value, np.generic):
        return float(value) if isinstance(value, np.floating) else value.item()
    raise TypeError(f"{type(value).__name__} cannot be saved")


def read_state(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a file written by `write_state`.

    Raises:
        StateFileError: The file is damaged, or is not a saved state.
        OSError: The file cannot be read; its content may be intact.
    """
    return parse_state(path, _content(path))


def parse_state(
    path: str | os.PathLike[str], content: bytes
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays in ``content``; ``path`` names its source in messages."""
    try:
        members = read_arrays(content)
    except Exception as error:  # a damaged archive can fail in any way
        raise StateFileError(
            f"{os.fspath(path)} is damaged or not a saved state: {error!s:.200}"
        ) from error
    if _HEADER not in members:
        raise StateFileError(f"{os.fspath(path)} is not a state saved by driftbandits")
    return _parse_header(path, members.pop(_HEADER)), members


def _content(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file that may be an archive; only the first two bytes of any other file."""
    with naming(path):
        regular = stat.S_ISREG(Path(path).stat().st_mode)
    if not regular:  # a device may never end
        raise StateFileError(f"{os.fspath(path)} is not a saved state: it is not a regular file")
    try:
        with naming(path), Path(path).open("rb") as file:
            start = file.read(2)
            return start + file.read() if start == b"PK" else start
    except MemoryError as error:
        raise StateFileError(f"{os.fspath(path)} is too large for this machine's memory") from error


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to errors of reading it; errors of the disk have none."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno, f"cannot be read: {reason}", os.fspath(path)) from error


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
