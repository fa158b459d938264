"""Several questions to one log: finished answers are saved in case the rest is interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from .._version import __version__
from ..core.storage import StateFileError, read_state, write_state
from .reading import LogReader
from .resuming import Resume
from .snapshots import restored, written

Answer = TypeVar("Answer")


class Answers:
    """Answers by name, in a file, or only in memory if there is no path.

    Entering reads the answers of an earlier run with the same log and settings. Leaving without an
    error removes the file. A file with other settings is replaced, and so is a damaged file.

    Args:
        path: The file, or None.
        log: The log.
        settings: Everything besides the log that the answers depend on.
    """

    def __init__(self, path: Resume, log: LogReader, settings: str) -> None:
        self._path = None if path is None else Path(path)
        stamp = "" if path is None else f"{__version__} {log.stamp} {settings}"
        self._stamp = hashlib.sha256(stamp.encode()).hexdigest()
        self._known: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self._path is not None and self._path.exists():
            try:
                header, arrays = read_state(self._path)
                if header.get("settings") == self._stamp:
                    self._known = restored(header["answers"], arrays, None)
            except StateFileError:
                pass
        return self

    def ask(self, name: str, question: Callable[[], Answer]) -> Answer:
        """The answer by this name; asks the question if the answer is not known."""
        if name not in self._known:
            self._known[name] = question()
            if self._path is not None:
                tree, arrays = written(self._known)
                header = {"settings": self._stamp, "answers": tree}
                write_state(self._path, header, arrays, sync=False)
        answer: Answer = self._known[name]
        return answer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._path is not None:
            self._path.unlink(missing_ok=True)
