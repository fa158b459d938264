"""A disk that loses power: an apsw file system in memory that knows which writes were synced.

Writes go to a cache. `xSync` makes the writes of one file durable. At a power cut each unsynced
write is kept, dropped or torn at random. If it is torn, each sector of 512 bytes is kept or lost.
"""

from __future__ import annotations

import random
from typing import Any

import apsw

SECTOR = 512


class Disk:
    """Files by name: their durable bytes, and the writes in the cache.

    Args:
        cut_at: Number of the operation (a write, a truncation, a sync) at which the power fails.
        fail_syncs_at: Number of the sync that fails with a disk error.
        room: Total number of bytes that can be written.
    """

    def __init__(
        self,
        *,
        cut_at: int | None = None,
        fail_syncs_at: int | None = None,
        room: float = float("inf"),
    ) -> None:
        self.durable: dict[str, bytearray] = {}
        self.cache: dict[str, bytearray] = {}
        self.unsynced: dict[str, list[tuple[int, bytes | None]]] = {}
        self.cut_at, self.fail_syncs_at, self.room = cut_at, fail_syncs_at, room
        self.operations = self.syncs = 0

    def operate(self) -> None:
        """Count an operation; after the cut every operation fails."""
        self.operations += 1
        if self.cut_at is not None and self.operations >= self.cut_at:
            raise apsw.IOError("the power is gone")

    def write(self, name: str, data: bytes, offset: int) -> None:
        self.operate()
        self.room -= len(data)
        if self.room < 0:
            raise apsw.FullError("the disk is full")
        _write(self.cache[name], data, offset)
        self.unsynced[name].append((offset, data))

    def truncate(self, name: str, size: int) -> None:
        self.operate()
        del self.cache[name][size:]
        self.unsynced[name].append((size, None))

    def sync(self, name: str) -> None:
        self.operate()
        self.syncs += 1
        if self.syncs == self.fail_syncs_at:
            # As on Linux, the error is reported once, and the pages then count as clean.
            self.unsynced[name].clear()
            raise apsw.IOError("the sync failed")
        self.durable[name] = bytearray(self.cache[name])
        self.unsynced[name].clear()

    def after_the_cut(self, rng: random.Random) -> Disk:
        """A new disk with the data that survived."""
        left = Disk()
        for name in self.cache:
            content = bytearray(self.durable.get(name, b""))
            for offset, data in self.unsynced[name]:
                fate = rng.choice(["kept", "dropped", "torn"])
                if data is None and fate == "kept":
                    del content[offset:]
                elif data is not None and fate == "kept":
                    _write(content, data, offset)
                elif data is not None and fate == "torn":
                    for start in range(0, len(data), SECTOR):
                        if rng.random() < 0.5:
                            _write(content, data[start : start + SECTOR], offset + start)
            left.durable[name], left.cache[name] = content, bytearray(content)
            left.unsynced[name] = []
        return left


def _write(content: bytearray, data: bytes, offset: int) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class CrashVFS(apsw.VFS):
    """The disk as a file system; every disk needs a new one with another name."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, base="")

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        return pathname in self.disk.cache

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        for files in (self.disk.durable, self.disk.cache, self.disk.unsynced):
            files.pop(filename, None)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self.disk.cache.setdefault(path, bytearray())
        self.disk.unsynced.setdefault(path, [])
        flags[1] = flags[0]
        return CrashFile(self.disk, path)


class CrashFile:
    """One open file."""

    def __init__(self, disk: Disk, name: str) -> None:
        self.disk, self.name = disk, name

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self.disk.cache[self.name][offset : offset + amount])

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self.disk.write(self.name, bytes(data), offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.truncate(self.name, size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.sync(self.name)

    def xFileSize(self) -> int:  # noqa: N802
        return len(self.disk.cache[self.name])

    def xSectorSize(self) -> int:  # noqa: N802
        return SECTOR

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xClose(self) -> None:  # noqa: N802
        pass
