"""Finished replications on disk, so that an interrupted run goes on where it stopped.

Each is a file of its own that appears whole or not at all, in a folder named for what the run is
made of: another configuration never finds them. A damaged one is played again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from ..core.storage import StateFileError, read_state, write_state
from .engine import Record


class Parts:
    """The finished replications of one run."""

    def __init__(self, folder: Path, name: str) -> None:
        self._root = folder
        self._folder = folder / name

    def finished(self) -> Iterator[tuple[int, Record]]:
        """What is there and can be read."""
        for path in sorted(self._folder.glob("*.npz")):
            try:
                header, arrays = read_state(path)
                yield header["replication"], Record.from_arrays(arrays)
            except (StateFileError, KeyError):
                path.unlink()

    def add(self, replication: int, record: Record) -> None:
        """Keep a finished replication."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{replication:06d}.npz"
        # One that a power cut damages is played again, so there is no need to wait for the disk.
        write_state(path, {"replication": replication}, record.arrays(), sync=False)

    def discard(self) -> None:
        """Remove them all, once the run is saved as a whole."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._root.exists() and not any(self._root.iterdir()):
            self._root.rmdir()
