"""Long passes that continue where they were: their parts, written now and then to a file."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from ..core.storage import StateFileError, read_state, write_state

_SECONDS = 30.0


class Part(Protocol):
    """What a pass is made of: something that can be written down and continued."""

    def arrays(self) -> dict[str, Any]:
        """All that a later run needs to continue."""

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from `arrays`."""


class Checkpoint:
    """Keeps the parts of a pass in a file; without a path it does nothing.

    Entering restores the parts from a file of the same log and question. Leaving without an error
    removes the file. A file of another question, or one that is damaged, is replaced.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, parts: Mapping[str, Part], question: str
    ) -> None:
        self._path = None if path is None else Path(path)
        self._parts = parts
        self._stamp = hashlib.sha256(question.encode()).hexdigest()
        self._saved = time.monotonic()

    def __enter__(self) -> Self:
        if self._path is not None and self._path.exists():
            try:
                header, arrays = read_state(self._path)
            except StateFileError:
                return self
            if header.get("question") == self._stamp:
                for name, part in self._parts.items():
                    mark = f"{name}/"
                    part.restore(
                        {k.removeprefix(mark): v for k, v in arrays.items() if k.startswith(mark)}
                    )
        return self

    def save(self, *, now: bool = False) -> None:
        """Write the parts down if the last time is half a minute ago, or ``now``."""
        if self._path is None or (time.monotonic() - self._saved < _SECONDS and not now):
            return
        arrays = {
            f"{name}/{key}": value
            for name, part in self._parts.items()
            for key, value in part.arrays().items()
        }
        write_state(self._path, {"question": self._stamp}, arrays, sync=False)
        self._saved = time.monotonic()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._path is not None:
            self._path.unlink(missing_ok=True)
