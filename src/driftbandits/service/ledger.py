"""The records that wait for the next commit, and the journal behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import JournalError
from .journal.chain import Snapshot, bodies_of, entry_of
from .journal.contract import Store
from .journal.records import AnyRecord, decode
from .stamp import stamp


class Ledger:
    """A journal, and the records that wait for the next commit.

    After the first failure every call is refused, because memory may be ahead of the disk.

    Args:
        store: Where the journal is.
        link: Link of its last record.
        snapshot: Number of the newest usable snapshot; 0 if there is none.
    """

    def __init__(self, store: Store, *, link: bytes, snapshot: int) -> None:
        self.store, self.snapshot = store, snapshot
        self._link = link
        self._bodies: list[bytes] = []
        self._broken: str | None = None

    @property
    def pending(self) -> int:
        """Number of records that the next commit writes."""
        return len(self._bodies)

    @property
    def since_snapshot(self) -> int:
        """Number of committed records after the newest snapshot."""
        return self.store.last - self.snapshot

    @property
    def usable(self) -> bool:
        """Whether nothing has failed."""
        return self._broken is None

    def check(self) -> None:
        """Refuse to go on after a failure."""
        if self._broken is not None:
            raise JournalError(self._broken)

    def add(self, body: bytes) -> None:
        """Add a record to the next commit."""
        self._bodies.append(body)

    def commit(self, *, time: float) -> None:
        """Write the waiting records; ``time`` is the time of the last one."""
        self.check()
        if not self._bodies:
            return
        entry = entry_of(self.store.last + 1, time, self._bodies, self._link)
        with self._breaking():
            self.store.append(entry)
        self._link, self._bodies = entry.link, []

    def save(self, *, time: float, state: bytes) -> None:
        """Save the state after the last record; ``time`` is the time of that record."""
        self.check()
        last = self.store.last
        made = Snapshot(number=last, time=time, link=self._link, stamp=stamp(), payload=state)
        with self._breaking():
            self.store.save_snapshot(made.sealed())
        self.snapshot = last

    def record(self, number: int) -> AnyRecord | None:
        """The record with a number, committed or not; None if it is no longer kept."""
        committed = self.store.last
        if number > committed:
            return decode(self._bodies[number - committed - 1])
        entry = self.store.entry_with(number)
        return None if entry is None else decode(bodies_of(entry)[number - entry.first])

    def committed(self, *, after: int) -> Iterator[tuple[int, AnyRecord]]:
        """Every committed record after number ``after``, with its number."""
        for entry in self.store.entries(after=after):
            for number, body in enumerate(bodies_of(entry), start=entry.first):
                if number > after:
                    yield number, decode(body)

    def broken(self, reason: str) -> JournalError:
        """Refuse all further calls, and return the error to raise."""
        self._broken = reason
        return JournalError(reason)

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """Refuse all further calls if the journal fails."""
        try:
            yield
        except BaseException as error:
            self._broken = f"the journal failed before: {error}"
            raise
