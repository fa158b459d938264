"""Finished replications on disk, so that an interrupted run goes on where it stopped.

Each is a file of its own that appears whole or not at all, in a folder named for what the run is
made of: another configuration never finds them. A damaged one is played again, and replaced. One
that cannot be read may be in order: that is an error, and nothing is deleted.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..core.storage import StateFileError, read_state, write_state
from .engine import Plan, Record

_NAME = re.compile(r"\d{6,}\.npz")


class Parts:
    """The finished replications of one run."""

    def __init__(self, folder: Path, name: str) -> None:
        self._root = folder
        self._folder = folder / name

    def finished(self, plan: Plan) -> Iterator[tuple[int, Record]]:
        """What is there and in order."""
        if not self._folder.exists():
            return
        for name in sorted(filter(_NAME.fullmatch, os.listdir(self._folder))):  # noqa: PTH208
            replication = int(name.removesuffix(".npz"))
            try:
                header, arrays = read_state(self._folder / name)
                record = Record.from_arrays(arrays)
            except (StateFileError, KeyError):
                continue
            if header.get("replication") == replication and record.fits(plan):
                yield replication, record

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
