"""What a journal is kept in: the contract that every store fulfils.

`driftbandits.testing.stores` holds a store of one's own to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .chain import Entry, Snapshot


class Store(Protocol):
    """Keeps entries in order, and snapshots.

    One process at a time has a store open; a second one is refused. Every method raises
    `JournalError` where the store fails. After that all further calls fail too: what is in memory
    and what is on disk may differ, and only a new start can tell.
    """

    @property
    def first(self) -> int:
        """Number of the first record that is kept; ``last + 1`` where there is none."""

    @property
    def last(self) -> int:
        """Number of the last record; 0 before the first."""

    def append(self, entry: Entry) -> None:
        """Add an entry behind all others. Durable when this returns, or else not there at all.

        ``entry.first`` must be ``last + 1``.
        """

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries with records after number ``after``, in order."""

    def entry_with(self, number: int) -> Entry | None:
        """The entry that has this record; None where none is kept."""

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot. Durable when this returns.

        The newest two are kept, and the last of each day (UTC) before.
        """

    def snapshots(self) -> Iterator[Snapshot]:
        """The snapshots, the newest first."""

    def prune(self, *, before: float) -> int:
        """Remove what is older than the time ``before``; return the number of records removed.

        The newest snapshot that is older stays, and all that came after it. Without such a
        snapshot nothing is removed.
        """

    def backup(self, target: Path) -> Iterator[int]:
        """Copy everything to a new file, piece by piece; yields how many pieces are left.

        Entries may be appended between two pieces; the copy has them too. Raises `BackupFailed`
        where the copy cannot be written; the store can still be used.
        """

    def close(self) -> None:
        """Let others open it."""
