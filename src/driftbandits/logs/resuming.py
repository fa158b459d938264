"""Long questions that can continue after an interruption: their work is saved regularly."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .._version import __version__
from ..core.storage import StateFileError, read_state, state_bytes, write_state
from ..policies import Policy
from .batch import Batch
from .reading import LogReader, Progress
from .snapshots import restored, written

Resume = str | os.PathLike[str] | None

# The time between two writes is at least this many seconds, and this many times a write's own time.
_SECONDS, _TIMES = 30.0, 20.0


def fingerprint(policy: Policy) -> str:
    """A hash of a policy's configuration and state."""
    return hashlib.sha256(state_bytes(*policy.content())).hexdigest()


class Checkpoint:
    """The rows of a log for a question whose work is saved in a file, if there is a path.

    Entering restores the work of the same question to the same log. Leaving without an error
    removes the file. A file of another question is replaced, and so is a damaged file.

    Args:
        path: The file, or None.
        log: The log.
        question: Everything besides the log that the answer depends on.
        work: The state of the question by name: objects of this package, filled in place.
    """

    def __init__(self, path: Resume, log: LogReader, question: str, work: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._log = log
        stamp = "" if path is None else f"{__version__} {log.stamp} {question}"
        self._stamp = hashlib.sha256(stamp.encode()).hexdigest()
        self._checker = log.checker()
        self._work = {"work": work, "names": log.names}
        self._stage, self._done = 0, 0
        self._saved, self._pause = time.monotonic(), _SECONDS

    def __enter__(self) -> Self:
        if self._path is not None and self._path.exists():
            try:
                header, arrays = read_state(self._path)
                if header.get("question") == self._stamp:
                    restored(header["work"], arrays, {**self._work, "checker": self._checker})
                    self._stage, self._done = header["stage"], header["done"]
            except StateFileError:
                pass
        return self

    def batches(self, *, stage: int = 0, progress: Progress | None = None) -> Iterator[Batch]:
        """The remaining rows of a pass; none if the pass is over.

        ``stage`` counts the passes of a question from 0. The caller must have put a batch into the
        work before it asks for the next one.
        """
        if stage < self._stage:
            return
        if stage > self._stage:
            self._stage, self._done, self._checker = stage, 0, self._log.checker()
        rows = self._log.batches(checker=self._checker, skip=self._done, progress=progress)
        for batch in rows:
            position = self._log.position
            yield batch
            self._done = position
            self._save()

    def _save(self) -> None:
        """Save the work if the last save is long ago."""
        start = time.monotonic()
        if self._path is None or start - self._saved < self._pause:
            return
        tree, arrays = written({**self._work, "checker": self._checker})
        header = {"question": self._stamp, "stage": self._stage, "done": self._done, "work": tree}
        write_state(self._path, header, arrays, sync=False)
        self._saved = time.monotonic()
        self._pause = max(_SECONDS, _TIMES * (self._saved - start))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._path is not None:
            self._path.unlink(missing_ok=True)
