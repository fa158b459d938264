"""Recovers the state from a journal: loads the newest intact snapshot, and replays from there.

`verify` replays everything that the journal has. It compares every answer with the recorded one,
every snapshot with the replayed state, and the last state with the result of `recover`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .errors import DamagedJournal, ServiceError
from .journal.chain import GENESIS, Snapshot, records_of
from .journal.contract import Store
from .journal.records import AnyRecord, decode, encode
from .stamp import differences
from .state import State


@dataclass
class Report:
    """What a recovery or `verify` found.

    Attributes:
        snapshot: Number of the snapshot that was used; None if there was none.
        replayed: Number of records that were replayed.
        differing: Numbers of records whose replayed answer differs, at most 100.
        notes: Messages for people.
        snapshots: Number of snapshots that `verify` compared.
    """

    snapshot: int | None = None
    replayed: int = 0
    differing: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    snapshots: int = 0

    @property
    def identical(self) -> bool:
        """Whether every bit is as recorded."""
        return not self.differing


@dataclass
class Recovered:
    """The result of `recover`.

    Attributes:
        state: The state after the last record.
        link: Link of that record.
        report: What the recovery found.
    """

    state: State
    link: bytes
    report: Report

    @property
    def snapshot(self) -> int | None:
        """Number of the snapshot that was used."""
        return self.report.snapshot


def recover(store: Store) -> Recovered:
    """The state after the last record."""
    report = Report()
    with _no_collections():
        state, link = _start(store, report)
        return _replay(store, state, link, report)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Switch off garbage collection: a replay makes no garbage in cycles, so it would be wasted."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def verify(store: Store) -> Report:
    """Replay everything that the journal has, and compare it bit for bit.

    Raises:
        DamagedJournal: Records or snapshots have changed since they were written.
    """
    snapshots = {made.number: made for made in store.snapshots()}
    for made in snapshots.values():
        if not made.intact:
            raise DamagedJournal(f"the snapshot at record {made.number} is damaged")
    state, link = oldest(store)
    report = Report(snapshot=state.number or None)

    def compare(state: State) -> None:
        made = snapshots.get(state.number)
        if made is not None:
            report.snapshots += 1
            if made.payload != state.to_bytes():
                report.differing.append(made.number)
                report.notes.append(_mismatch(made))

    replayed = _replay(store, state, link, report, after_each=compare)
    if recover(store).state.to_bytes() != replayed.state.to_bytes():
        report.differing.append(replayed.state.number)
        report.notes.append("recovery from the newest snapshot ends in another state")
    return report


def oldest(store: Store) -> tuple[State, bytes]:
    """The state before the first kept record, and its link."""
    if store.first == 1:
        return State(), GENESIS
    for made in store.snapshots():
        if made.number == store.first - 1 and made.intact:
            return State.from_bytes(made.payload), made.link
    raise DamagedJournal(f"the records before {store.first} are missing, and so is a snapshot")


def _start(store: Store, report: Report) -> tuple[State, bytes]:
    """The state of the newest usable snapshot, or an empty state."""
    for made in store.snapshots():
        if not made.intact:
            report.notes.append(f"the snapshot at record {made.number} is damaged; not used")
            continue
        changed = differences(made.stamp)
        if changed:
            report.notes.append(
                f"the snapshot at record {made.number} was made elsewhere ({'; '.join(changed)}); "
                "used, but bits may differ from now on"
            )
        try:
            state = State.from_bytes(made.payload)
        except Exception as error:  # intact, but written by another release
            report.notes.append(
                f"the snapshot at record {made.number} cannot be read here; not used: {error}"
            )
            continue
        report.snapshot = made.number
        return state, made.link
    if store.first != 1:
        raise DamagedJournal(f"the records before {store.first} are missing, and no snapshot helps")
    return State(), GENESIS


def _replay(
    store: Store,
    state: State,
    link: bytes,
    report: Report,
    *,
    after_each: Callable[[State], None] | None = None,
) -> Recovered:
    entries = store.entries(after=state.number)
    for number, own, body in records_of(entries, after=state.number, link=link):
        record = decode(body)
        _carry_out(state, record, number)
        if encode(record) != body:
            if len(report.differing) < 100:
                report.differing.append(number)
            if len(report.differing) == 1:
                report.notes.append(f"the replayed answer of record {number} differs")
        report.replayed += 1
        link = own
        if after_each is not None:
            after_each(state)
    if state.number != store.last:
        raise DamagedJournal(
            f"the journal must end at record {store.last}, but ends at {state.number}"
        )
    return Recovered(state, link, report)


def _carry_out(state: State, record: AnyRecord, number: int) -> None:
    try:
        state.apply(record)
    except ServiceError as error:
        raise DamagedJournal(f"record {number} cannot be carried out: {error}") from error


def _mismatch(made: Snapshot) -> str:
    changed = differences(made.stamp)
    reason = f" (made elsewhere: {'; '.join(changed)})" if changed else ""
    return f"the snapshot at record {made.number} differs from the replayed state{reason}"
