"""Every store keeps the contract; SQLite files also detect damage and read older versions."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from driftbandits.service.errors import BackupFailed, DamagedJournal, JournalError
from driftbandits.service.journal.chain import GENESIS, entry_of, records_of
from driftbandits.service.journal.contract import Store
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.journal.migrations import VERSION
from driftbandits.service.journal.records import Expired, decode, encode
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.testing.stores import STORE_CHECKS, OpenStore

VERSION_0 = Path(__file__).parent / "data" / "journal-version-0.sqlite"


class KeptMemory(MemoryStore):
    """A store in memory that can be opened again."""

    def reopened(self) -> KeptMemory:
        self._open = True
        return self


def in_memory(folder: Path) -> OpenStore:
    return KeptMemory().reopened


def in_sqlite(folder: Path) -> OpenStore:
    return lambda: SQLiteStore(folder / "journal.sqlite")


@pytest.mark.parametrize("check", STORE_CHECKS)
@pytest.mark.parametrize("kind", [in_memory, in_sqlite])
def test_a_store_keeps_the_contract(kind: object, check: object, tmp_path: Path) -> None:
    check(kind(tmp_path))  # type: ignore[operator]


class Forgetful(MemoryStore):
    """A store that breaks the contract: it drops every second entry."""

    def entries(self, *, after: int = 0):  # type: ignore[no-untyped-def]
        return iter(list(super().entries(after=after))[::2])


def test_the_checks_can_fail() -> None:
    failed = list[str]()
    for check in STORE_CHECKS:
        kept = Forgetful()

        def reopened(store: Forgetful = kept) -> Store:
            store._open = True
            return store

        try:
            check(reopened)
        except (AssertionError, DamagedJournal):
            failed.append(check.__name__)
    assert "entries_come_back_as_they_were" in failed


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    attempt = (
        "from driftbandits.service.journal.sqlite import SQLiteStore\n"
        "from driftbandits.service.errors import JournalError\n"
        f"try:\n    SQLiteStore({str(path)!r})\n"
        "except JournalError as error:\n    print(error)\n"
    )
    with closing(SQLiteStore(path)):
        run = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True)
    assert run.stdout == "journal.sqlite is in use by another process\n", run.stderr


def one_entry(store: Store, number: int, link: bytes = GENESIS) -> bytes:
    body = encode(Expired(time=float(number), policy="p"))
    entry = entry_of(number, float(number), [body], link)
    store.append(entry)
    return entry.link


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE t(x)")
    other.close()
    with pytest.raises(JournalError, match="is a database, but not a journal"):
        SQLiteStore(path)
    path.write_text("a text\n" * 100)
    with pytest.raises(DamagedJournal, match="damaged or not a journal"):
        SQLiteStore(path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    SQLiteStore(path).close()
    database = apsw.Connection(str(path))
    database.pragma("user_version", VERSION + 1)
    database.close()
    with pytest.raises(JournalError, match=f"version {VERSION + 1} of the journal"):
        SQLiteStore(path)


def test_version_0_is_brought_up_to_date(tmp_path: Path) -> None:
    """`tests/data/journal_version_0.py` wrote the file, with the tables of version 0."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(VERSION_0.read_bytes())
    for _ in range(2):  # upgraded first, then opened again
        with closing(SQLiteStore(path)) as store:
            records = [decode(body) for _, _, body in records_of(store.entries())]
            assert [record.time for record in records] == [1.0, 2.0, 3.0, 4.5]
            assert [entry.time for entry in store.entries()] == [2.0, 4.5]
            assert [snapshot.intact for snapshot in store.snapshots()] == [True]
    database = apsw.Connection(str(path))
    assert database.pragma("user_version") == VERSION
    database.close()


def test_a_deleted_log_is_noticed(tmp_path: Path) -> None:
    """Deleting the write-ahead log of a killed process deletes acknowledged records."""
    path = tmp_path / "journal.sqlite"
    writer = (
        "import os\n"
        "from driftbandits.service.journal.sqlite import SQLiteStore\n"
        "from driftbandits.service.journal.chain import GENESIS, entry_of\n"
        f"store = SQLiteStore({str(path)!r})\n"
        "store.append(entry_of(1, 1.0, [b'x'], GENESIS))\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", writer], check=True)
    Path(f"{path}-wal").unlink()
    with pytest.raises(JournalError):
        SQLiteStore(path)


def test_a_failed_store_stays_failed(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "journal.sqlite")
    link = one_entry(store, 1)
    store._database.execute("DROP TABLE entries")
    with pytest.raises(JournalError, match="no such table"):
        one_entry(store, 2, link)
    with pytest.raises(JournalError, match="failed before"):
        one_entry(store, 2, link)
    store.close()


def test_a_backup_has_what_is_appended_meanwhile(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "journal.sqlite")
    link, number = GENESIS, 0
    for number in range(1, 400):
        body = encode(Expired(time=float(number), policy="p" * 40_000))
        entry = entry_of(number, float(number), [body], link)
        store.append(entry)
        link = entry.link
    pieces = store.backup(tmp_path / "backup.sqlite")
    left = [next(pieces)]
    one_entry(store, number + 1, link)
    left += list(pieces)
    assert len(left) > 2
    assert left[-1] == 0
    with closing(SQLiteStore(tmp_path / "backup.sqlite")) as copy:
        assert copy.last == number + 1
        assert len(list(records_of(copy.entries()))) == number + 1
    with pytest.raises(BackupFailed, match="already exists"):
        next(store.backup(tmp_path / "backup.sqlite"))
    with pytest.raises(BackupFailed, match="cannot be written"):
        next(store.backup(tmp_path / "nowhere" / "backup.sqlite"))
    one_entry(store, number + 2, store.entries(after=number).__next__().link)
    given_up: Any = store.backup(tmp_path / "other.sqlite")
    next(given_up)
    given_up.close()
    assert not list(tmp_path.glob("other*"))
    store.close()
