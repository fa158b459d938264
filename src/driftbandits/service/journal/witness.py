"""A small file beside the journal that stores the number of its last record.

A truncated database looks complete. SQLite takes damaged bytes at the end of its log for an
unfinished transaction, and a deleted log leaves no trace. So the witness is written after each
commit. It is not synced, so it may be behind the journal, but never ahead. If a journal ends before
its witness, acknowledged records are lost, and the journal is refused.
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
        """Refuse a journal that ends before the witness, or whose last record has another link.

        ``link`` is the link of record ``last``, or None if it is not known.
        """
        seen = self._read()
        if seen is None:
            return
        number, known = seen
        if number > last:
            raise DamagedJournal(
                f"the journal ends at record {last}, but {number} were acknowledged: one of its "
                f"files is damaged or missing. Restore a backup, or delete {self.path.name} to go "
                "on without the missing records"
            )
        if number == last and link is not None and known != link:
            raise DamagedJournal(f"record {last} is not the one that was acknowledged")

    def write(self, last: int, link: bytes) -> None:
        """Store that record ``last`` is durable."""
        content = _FORMAT.pack(last, link)
        os.pwrite(self._handle, content + _CHECKSUM.pack(crc32(content)), 0)

    def _read(self) -> tuple[int, bytes] | None:
        """Number and link; None if the file is new or incomplete after a power cut."""
        size = _FORMAT.size + _CHECKSUM.size
        stored = os.pread(self._handle, size, 0)
        content = stored[: _FORMAT.size]
        if len(stored) < size or stored[_FORMAT.size :] != _CHECKSUM.pack(crc32(content)):
            return None
        return _FORMAT.unpack(content)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)
