"""Power cuts, failing syncs and full disks: acknowledged records survive, and nothing is wrong.

`DRIFTBANDITS_POWER_CUTS` sets the number of simulated cuts.
"""

from __future__ import annotations

import os
import random
from typing import Literal

import pytest

from crash_vfs import CrashVFS, Disk
from driftbandits.service.errors import JournalError
from driftbandits.service.journal.chain import GENESIS, entry_of, records_of
from driftbandits.service.journal.sqlite import SQLiteStore

CUTS = int(os.environ.get("DRIFTBANDITS_POWER_CUTS", "500"))
BATCH = 250


class Life:
    """Appends entries to a journal on a disk until something fails."""

    def __init__(self, disk: Disk, *, synchronous: Literal["FULL", "NORMAL"] = "FULL") -> None:
        self.disk, self.synchronous = disk, synchronous
        self.acknowledged: list[list[bytes]] = []
        self.tried: list[list[bytes]] = []

    def append(self, count: int, rng: random.Random) -> bool:
        """Append entries, and return whether all succeeded. After a failure nothing may work."""
        vfs = CrashVFS("crashing", self.disk)
        store = None
        try:
            store = SQLiteStore("journal", vfs="crashing", synchronous=self.synchronous)
            # Checkpoints move the log into the file; they are frequent, so that cuts hit them too.
            store._most_logged = 6
            link = GENESIS
            for n in range(count):
                bodies = [rng.randbytes(rng.choice([10, 700, 5000])) for _ in range(2)]
                entry = entry_of(2 * n + 1, float(n), bodies, link)
                self.tried.append(bodies)
                store.append(entry)
                self.acknowledged.append(bodies)
                link = entry.link
            store.close()
        except JournalError:
            if store is not None:
                with pytest.raises(JournalError):  # no retry: it could succeed wrongly
                    store.append(entry)
                store.close()
            return False
        finally:
            del vfs
        return True

    def found(self, disk: Disk) -> list[list[bytes]]:
        """The records that a new start finds; every link is checked."""
        vfs = CrashVFS("restarted", disk)
        store = SQLiteStore("journal", vfs="restarted")
        try:
            bodies = [body for _, _, body in records_of(store.entries())]
            return [bodies[n : n + 2] for n in range(0, len(bodies), 2)]
        finally:
            store.close()
            del vfs

    def survives(self, disk: Disk) -> bool:
        """Whether all acknowledged records are there, and no record that was never written."""
        found = self.found(disk)
        assert found == self.tried[: len(found)]
        return len(found) >= len(self.acknowledged)


def operations(count: int) -> Disk:
    disk = Disk()
    Life(disk).append(count, random.Random(0))  # noqa: S311
    return disk


def cut(seed: int, most: int, *, synchronous: Literal["FULL", "NORMAL"] = "FULL") -> bool:
    rng = random.Random(seed)  # noqa: S311
    life = Life(Disk(cut_at=rng.randrange(1, most)), synchronous=synchronous)
    life.append(12, random.Random(0))  # noqa: S311
    return life.survives(life.disk.after_the_cut(rng))


@pytest.mark.parametrize("first", range(0, CUTS, BATCH))
def test_power_cuts_lose_nothing(first: int) -> None:
    most = operations(12).operations + 1
    assert all(cut(seed, most) for seed in range(first, min(first + BATCH, CUTS)))


def test_the_same_test_fails_without_waiting_for_the_disk() -> None:
    most = operations(12).operations + 1
    lost = [seed for seed in range(30) if not cut(seed, most, synchronous="NORMAL")]
    assert lost


def test_a_sync_that_fails_ends_the_use_of_the_journal() -> None:
    total = operations(8).syncs
    assert total >= 8
    for number in range(1, total + 1):
        life = Life(Disk(fail_syncs_at=number))
        assert not life.append(8, random.Random(0))  # noqa: S311
        # The machine keeps running, so the next start finds the content of the cache.
        assert life.survives(life.disk)


def test_a_full_disk_ends_the_use_of_the_journal() -> None:
    for room in range(0, 120_000, 3_000):
        life = Life(Disk(room=room))
        assert not life.append(12, random.Random(0))  # noqa: S311
        life.disk.room = float("inf")
        assert life.survives(life.disk)
