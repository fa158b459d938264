"""A small file beside the journal that says how far it had come.

A database that was cut off looks whole: SQLite takes damaged bytes at the end of its log for a
transaction that never finished, and a log that somebody deleted leaves no trace. The witness is
written after each commit. It is not waited for, so it may be behind the journal, never ahead.
A journal that ends before its witness has lost records that were acknowledged, and is refused.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from zlib import crc32

from ..errors import DamagedJournal

_FORMAT = struct.Struct("<Q16s")
_CHECKSUM = struct.Struct("<I")


class Witness:
    """The file, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def check(self, last: int, link: bytes | None) -> None:
        """Refuse a journal that ends before the witness, or has another record there.

        ``link`` is that of record ``last``, or None where it is not known.
        """
        seen = self._read()
        if seen is None:
            return
        number, known = seen
        if number > last:
            raise DamagedJournal(
                f"the journal ends at record {last}, but {number} were acknowledged: a file of it "
                f"is damaged or missing. Restore a backup, or delete {self.path.name} to go on "
                "without them"
            )
        if number == last and link is not None and known != link:
            raise DamagedJournal(f"record {last} is not the one that was acknowledged")

    def write(self, last: int, link: bytes) -> None:
        """Say that the record ``last`` is durable."""
        content = _FORMAT.pack(last, link)
        os.pwrite(self._handle, content + _CHECKSUM.pack(crc32(content)), 0)

    def _read(self) -> tuple[int, bytes] | None:
        """Number and link; None in a new file, or one that a power cut has torn."""
        size = _FORMAT.size + _CHECKSUM.size
        stored = os.pread(self._handle, size, 0)
        content = stored[: _FORMAT.size]
        if len(stored) < size or stored[_FORMAT.size :] != _CHECKSUM.pack(crc32(content)):
            return None
        return _FORMAT.unpack(content)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
