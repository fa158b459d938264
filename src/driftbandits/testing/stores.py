"""The contract of a journal's store, as checks for your own store.

    from driftbandits.testing.stores import STORE_CHECKS

    @pytest.mark.parametrize("check", STORE_CHECKS)
    def test_my_store(check, tmp_path):
        check(lambda: MyStore(tmp_path / "journal"))

A check takes a function that opens the store, always the same store. The check opens and closes it
as often as needed. Every check starts from an empty store.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from ..service.errors import JournalError
from ..service.journal.chain import GENESIS, Entry, Snapshot, bodies_of, entry_of, records_of
from ..service.journal.contract import Store
from ..service.journal.records import Expired, decode, encode
from .contract import ContractError, require

OpenStore = Callable[[], Store]
_DAY = 86_400.0


def a_new_store_is_empty(open_store: OpenStore) -> None:
    """A new store holds nothing, and its next record is number 1."""
    with closing(open_store()) as store:
        require((store.first, store.last) == (1, 0), "a new store has first 1 and last 0")
        require(list(store.entries()) == [], "a new store has no entries")
        require(list(store.snapshots()) == [], "a new store has no snapshots")
        require(store.entry_with(1) is None, "a new store has no record 1")


def entries_come_back_as_they_were(open_store: OpenStore) -> None:
    """Entries come back in order, from any record on, also after the store was reopened."""
    written = _written(sizes=(1, 3, 2), open_store=open_store)
    with closing(open_store()) as store:
        require(list(store.entries()) == written, "entries come back as they were appended")
        require((store.first, store.last) == (1, 6), "first and last are those of the entries")
        for after, expected in ((1, written[1:]), (2, written[1:]), (4, written[2:]), (6, [])):
            require(
                list(store.entries(after=after)) == expected,
                f"entries(after={after}) has the entries with later records",
            )
        for number, place in ((1, 0), (2, 1), (4, 1), (5, 2), (6, 2)):
            require(
                store.entry_with(number) == written[place],
                f"entry_with({number}) is the entry that has the record",
            )
        require(store.entry_with(7) is None, "entry_with(7) is None where 6 is the last")


def gaps_and_repetitions_are_refused(open_store: OpenStore) -> None:
    """An entry that does not begin right after the last record is refused and changes nothing."""
    written = _written(sizes=(2,), open_store=open_store)
    with closing(open_store()) as store:
        for first in (1, 2, 4):
            wrong = entry_of(first, 1.0, [encode(Expired(time=1.0, policy="p"))], GENESIS)
            _require_refused(store, wrong, f"an entry at {first} after record 2 is refused")
        require(list(store.entries()) == written, "a refused entry leaves no trace")


def any_bytes_survive(open_store: OpenStore) -> None:
    """Payloads of all byte values, empty links and large entries come back unchanged."""
    bodies = [bytes(range(256)), b"", b"\0" * 100_000]
    entry = entry_of(1, 0.1 + 0.2, bodies, GENESIS)
    with closing(open_store()) as store:
        store.append(entry)
    with closing(open_store()) as store:
        (kept,) = store.entries()
        require(bodies_of(kept) == bodies, "bytes come back as they were")
        require(kept.time == 0.1 + 0.2, "times come back to the last bit")
        require(len(list(records_of([kept]))) == 3, "the chain of links holds")


def snapshots_come_back_newest_first(open_store: OpenStore) -> None:
    """The newest two snapshots and the last of each earlier day are kept, each once."""
    made = [_snapshot(number, number * _DAY / 2) for number in range(1, 6)]
    _written(sizes=(5,), open_store=open_store)
    with closing(open_store()) as store:
        for snapshot in made:
            store.save_snapshot(snapshot)
        store.save_snapshot(made[4])
    with closing(open_store()) as store:
        kept = list(store.snapshots())
        require(
            [snapshot.number for snapshot in kept] == [5, 4, 3, 1],
            "the newest two are kept, and the last of each day before",
        )
        require(
            all(snapshot == made[snapshot.number - 1] for snapshot in kept), "they are as saved"
        )
        require(all(snapshot.intact for snapshot in kept), "their checksums hold")


def pruning_keeps_what_a_snapshot_needs(open_store: OpenStore) -> None:
    """Pruning removes the records before the newest old snapshot, and keeps all later ones."""
    written = _written(sizes=(2, 2, 2), open_store=open_store)
    with closing(open_store()) as store:
        require(store.prune(before=100 * _DAY) == 0, "without a snapshot nothing is pruned")
        for number, time in ((2, _DAY), (4, 2 * _DAY), (6, 3 * _DAY)):
            store.save_snapshot(_snapshot(number, time))
        require(store.prune(before=2.5 * _DAY) == 4, "prune returns the number of records")
    with closing(open_store()) as store:
        require((store.first, store.last) == (5, 6), "first is the first record that is kept")
        require(list(store.entries()) == written[2:], "later entries stay")
        require([s.number for s in store.snapshots()] == [6, 4], "so does the snapshot before")
        store.save_snapshot(_snapshot(5, 2.1 * _DAY))
        require([s.number for s in store.snapshots()] == [6, 5, 4], "whatever else is saved")
        require(store.prune(before=100 * _DAY) == 2, "everything before a snapshot may go")
        require((store.first, store.last) == (7, 6), "the numbers go on")
    with closing(open_store()) as store:
        require(store.last == 6, "the last number is known without its record")
        store.append(entry_of(7, 1.0, [b"x"], GENESIS))
        require((store.first, store.last) == (7, 7), "the next record follows it")


def a_closed_store_refuses(open_store: OpenStore) -> None:
    """A closed store refuses new entries."""
    store = open_store()
    store.close()
    _require_refused(store, _entries((1,))[0], "a closed store refuses entries")


STORE_CHECKS: tuple[Callable[[OpenStore], None], ...] = (
    a_new_store_is_empty,
    entries_come_back_as_they_were,
    gaps_and_repetitions_are_refused,
    any_bytes_survive,
    snapshots_come_back_newest_first,
    pruning_keeps_what_a_snapshot_needs,
    a_closed_store_refuses,
)


def _entries(sizes: tuple[int, ...]) -> list[Entry]:
    """Chained entries with the given numbers of records."""
    entries, first, link = list[Entry](), 1, GENESIS
    for size in sizes:
        records = [Expired(time=float(first + k), policy=f"p{first + k}") for k in range(size)]
        entry = entry_of(first, records[-1].time, [encode(record) for record in records], link)
        entries.append(entry)
        first, link = entry.last + 1, entry.link
    return entries


def _written(*, sizes: tuple[int, ...], open_store: OpenStore) -> list[Entry]:
    entries = _entries(sizes)
    with closing(open_store()) as store:
        for entry in entries:
            store.append(entry)
        numbered = [(number, decode(body)) for number, _, body in records_of(store.entries())]
        expected = [(n, f"p{n}") for n in range(1, sum(sizes) + 1)]
        found = [(number, record.policy) for number, record in numbered]
        require(found == expected, "records have numbers from 1 on, in the order of appending")
    return entries


def _snapshot(number: int, time: float) -> Snapshot:
    payload = bytes([number]) * 1000
    made = Snapshot(number=number, time=time, link=GENESIS, stamp="{}", payload=payload)
    return made.sealed()


def _require_refused(store: Store, entry: Entry, promise: str) -> None:
    try:
        store.append(entry)
    except JournalError:
        return
    raise ContractError(promise)
