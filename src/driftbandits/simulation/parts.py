"""Finished replications on disk, so that an interrupted run goes on where it stopped.

Each is a file of its own that appears whole or not at all, in a folder named for what the run is
made of: another configuration never finds them. A damaged one is played again.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .engine import Record


class Parts:
    """The finished replications of one run."""

    def __init__(self, folder: Path, name: str) -> None:
        self._root = folder
        self._folder = folder / name

    def finished(self) -> Iterator[tuple[int, Record]]:
        """What is there and can be read."""
        for path in sorted(self._folder.glob("*.npz")):
            record = _read(path)
            if record is None:
                path.unlink()
            else:
                yield int(path.stem), record

    def add(self, replication: int, record: Record) -> None:
        """Keep a finished replication."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{replication:06d}.npz"
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **record.arrays())
        os.replace(partial, path)

    def discard(self) -> None:
        """Remove them all, once the run is saved as a whole."""
        shutil.rmtree(self._root, ignore_errors=True)


def _read(path: Path) -> Record | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return Record.from_arrays({name: archive[name] for name in archive.files})
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        return None
