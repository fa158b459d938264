"""Writes journal-version-0.sqlite: a journal of version 0, whose tables have no times."""

from __future__ import annotations

from pathlib import Path

import apsw

from driftbandits.service.journal.chain import GENESIS, Snapshot, entry_of
from driftbandits.service.journal.migrations import APPLICATION
from driftbandits.service.journal.records import Expired, encode


def main() -> None:
    """Four records in two entries, and a snapshot after the first."""
    path = Path(__file__).with_name("journal-version-0.sqlite")
    path.unlink(missing_ok=True)
    database = apsw.Connection(str(path))
    database.execute(
        "CREATE TABLE entries (first INTEGER PRIMARY KEY, count INTEGER NOT NULL,"
        " payload BLOB NOT NULL, link BLOB NOT NULL);"
        "CREATE TABLE snapshots (number INTEGER PRIMARY KEY, time REAL NOT NULL,"
        " link BLOB NOT NULL, stamp TEXT NOT NULL, payload BLOB NOT NULL, checksum BLOB NOT NULL)"
    )
    database.pragma("application_id", APPLICATION)
    database.pragma("user_version", 0)
    link = GENESIS
    for first, times in ((1, (1.0, 2.0)), (3, (3.0, 4.5))):
        bodies = [encode(Expired(time=time, policy="p")) for time in times]
        entry = entry_of(first, times[-1], bodies, link)
        database.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?)",
            (entry.first, entry.count, entry.payload, entry.link),
        )
        link = entry.link
        if first == 1:
            made = Snapshot(number=2, time=2.0, link=link, stamp="{}", payload=b"state").sealed()
            row = (made.number, made.time, made.link, made.stamp, made.payload, made.checksum)
            database.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)", row)
    database.close()


if __name__ == "__main__":
    main()
