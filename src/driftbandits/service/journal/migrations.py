"""The versions of the tables, and the steps from each version to the next.

`PRAGMA user_version` is the version of a file. A step and its new version number are written in one
transaction, so a file never mixes two versions. Stored records are never rewritten: each record
names its own format.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import apsw

from ..errors import JournalError
from .chain import Entry, bodies_of
from .records import decode

# Marks the file as a journal; "drbj".
APPLICATION = 0x6472626A

_CREATE = """
CREATE TABLE entries (
    first INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    payload BLOB NOT NULL,
    link BLOB NOT NULL,
    time REAL NOT NULL DEFAULT 0
);
CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    link BLOB NOT NULL,
    stamp TEXT NOT NULL,
    payload BLOB NOT NULL,
    checksum BLOB NOT NULL
);
"""


def _time_of_entries(database: apsw.Connection) -> None:
    """From 0 to 1: store the time of the last record, so that retention need not decode entries."""
    database.execute("ALTER TABLE entries ADD COLUMN time REAL NOT NULL DEFAULT 0")
    numbers = [first for (first,) in database.execute("SELECT first FROM entries")]
    for first in numbers:
        query = "SELECT count, payload, link FROM entries WHERE first = ?"
        count, payload, link = next(iter(database.execute(query, (first,))))
        entry = Entry(first=first, count=count, time=0.0, payload=payload, link=link)
        time = decode(bodies_of(entry)[-1]).time
        database.execute("UPDATE entries SET time = ? WHERE first = ?", (time, first))


_STEPS: tuple[Callable[[apsw.Connection], None], ...] = (_time_of_entries,)

VERSION = len(_STEPS)


def prepare(database: apsw.Connection, name: str) -> None:
    """Create the tables in an empty file, or upgrade the tables of an earlier release."""
    application, version = database.pragma("application_id"), database.pragma("user_version")
    with closing(database.execute("SELECT count(*) FROM sqlite_schema")) as tables:
        empty = next(tables)[0] == 0
    if empty and application == 0:
        with database:
            database.execute(_CREATE)
            database.pragma("application_id", APPLICATION)
            database.pragma("user_version", VERSION)
        return
    if application != APPLICATION:
        raise JournalError(f"{name} is a database, but not a journal")
    if version > VERSION:
        raise JournalError(
            f"{name} has version {version} of the journal; this release reads up to {VERSION}"
        )
    for step in range(version, VERSION):
        with database:
            _STEPS[step](database)
            database.pragma("user_version", step + 1)
