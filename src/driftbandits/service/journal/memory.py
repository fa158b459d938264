"""A journal in memory, for tests and first steps. It is lost when the process ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from ..errors import BackupFailed, JournalError
from .chain import Entry, Snapshot
from .retention import base_for, superfluous


class MemoryStore:
    """A store in memory. It keeps the contract of a store, except durability and backups."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._snapshots: list[Snapshot] = []
        self._last = 0
        self._open = True

    @property
    def first(self) -> int:
        """Number of the first kept record."""
        return self._entries[0].first if self._entries else self._last + 1

    @property
    def last(self) -> int:
        """Number of the last record."""
        return self._last

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._check_open()
        check_next(entry, self._last)
        self._entries.append(entry)
        self._last = entry.last

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries with records after number ``after``."""
        self._check_open()
        return iter([entry for entry in self._entries if entry.last > after])

    def entry_with(self, number: int) -> Entry | None:
        """The entry with this record."""
        self._check_open()
        place = bisect_right(self._entries, number, key=lambda entry: entry.first) - 1
        found = self._entries[place] if place >= 0 else None
        return found if found is not None and number <= found.last else None

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        self._check_open()
        others = [kept for kept in self._snapshots if kept.number != snapshot.number]
        newest_first = sorted([*others, snapshot], key=lambda kept: -kept.number)
        gone = superfluous([(kept.number, kept.time) for kept in newest_first], base=self.first - 1)
        self._snapshots = [kept for kept in newest_first if kept.number not in gone]

    def snapshots(self) -> Iterator[Snapshot]:
        """The snapshots, the newest first."""
        self._check_open()
        return iter(list(self._snapshots))

    def prune(self, *, before: float) -> int:
        """Remove everything before the newest snapshot that is older than ``before``."""
        self._check_open()
        base = base_for([(kept.number, kept.time) for kept in self._snapshots], before)
        if base is None:
            return 0
        gone = [entry for entry in self._entries if entry.last <= base]
        self._entries = self._entries[len(gone) :]
        self._snapshots = [kept for kept in self._snapshots if kept.number >= base]
        return sum(entry.count for entry in gone)

    def backup(self, target: Path) -> Iterator[int]:
        """Raise `BackupFailed`: there is no file to copy."""
        raise BackupFailed("a journal in memory cannot be copied to a file")

    def close(self) -> None:
        """Refuse all further calls."""
        self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise JournalError("the journal is closed")


def check_next(entry: Entry, last: int) -> None:
    """Refuse an entry that does not follow the last one."""
    if entry.first != last + 1 or entry.count < 1:
        raise JournalError(f"an entry must begin at record {last + 1}, got {entry.first}")
