"""Finished replications on disk, so that an interrupted run continues where it stopped.

There is one file per replication, written whole or not at all. The folder is named by the hash of
the run's description, so another configuration never finds these files. If a file is damaged, its
replication is played again and the file is replaced. If a file cannot be read, it may be intact:
this is an error, and nothing is deleted.
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
        """The replications on disk that are complete and fit the plan."""
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
        """Write a finished replication to disk."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{replication:06d}.npz"
        # No need to wait for the disk: a file that a power cut damages is played again.
        write_state(path, {"replication": replication}, record.arrays(), sync=False)

    def discard(self) -> None:
        """Remove all files, once the whole run is saved."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._root.exists() and not any(self._root.iterdir()):
            self._root.rmdir()
