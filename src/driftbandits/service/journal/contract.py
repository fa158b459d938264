"""The contract of a store, which keeps a journal.

`driftbandits.testing.stores` checks your own store against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from .chain import Entry, Snapshot


class Store(Protocol):
    """Keeps entries in order, and snapshots.

    Only one process at a time can open a store; a second one is refused. Every method raises
    `JournalError` if the store fails. After that all further calls fail too, because memory and
    disk may differ until the next start.
    """

    @property
    def first(self) -> int:
        """Number of the first kept record; ``last + 1`` if there is none."""

    @property
    def last(self) -> int:
        """Number of the last record; 0 before the first."""

    def append(self, entry: Entry) -> None:
        """Add an entry at the end. When this returns it is durable; if it raises, nothing is added.

        ``entry.first`` must be ``last + 1``.
        """

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries with records after number ``after``, in order."""

    def entry_with(self, number: int) -> Entry | None:
        """The entry with this record; None if it is not kept."""

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot. It is durable when this returns.

        The store keeps the newest two snapshots, and the last one of each earlier day (UTC).
        """

    def snapshots(self) -> Iterator[Snapshot]:
        """The snapshots, the newest first."""

    def prune(self, *, before: float) -> int:
        """Remove records older than the time ``before``, and return their number.

        The newest snapshot that is older stays, and everything after it. If there is no such
        snapshot, nothing is removed.
        """

    def backup(self, target: Path) -> Iterator[int]:
        """Copy everything to a new file in pieces, and yield how many pieces are left.

        Entries may be appended between two pieces; the copy has them too. Raises `BackupFailed`
        if the copy cannot be written; the store can still be used.
        """

    def close(self) -> None:
        """Close the store, so that others can open it."""
