"""Backups of a journal in use, and removal of old records."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from driftbandits.service.errors import BackupFailed
from driftbandits.service.house import House
from driftbandits.service.http.upkeep import Upkeep
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.messages import DecisionRequest
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.recovery import verify
from service_running import OFFERED, PLAIN, connected

DECIDE = "/v1/policies/plain/decisions"
DAY = 86_400.0
REQUEST = msgspec.convert({"actions": OFFERED}, DecisionRequest)


def test_a_backup_is_a_journal(tmp_path: Path) -> None:
    """It has every decision answered before it, and verifies bit for bit."""
    store = SQLiteStore(tmp_path / "journal.sqlite")
    with connected(store=store, backups=tmp_path / "backups") as client:
        for _ in range(20):
            client.post(DECIDE, json={"actions": OFFERED}).raise_for_status()
        made = client.post("/v1/backups").raise_for_status().json()
        assert client.post("/v1/backups").json() == made  # nothing has happened since
        client.post(DECIDE, json={"actions": OFFERED}).raise_for_status()
    assert made["records"] >= 21  # the policy, and 20 decisions
    assert [path.name for path in (tmp_path / "backups").iterdir()] == [made["file"]]
    with closing(SQLiteStore(tmp_path / "backups" / made["file"])) as copy:
        assert copy.last == made["records"]
        assert verify(copy).identical


@pytest.mark.parametrize("folder", [None, "a file"])
def test_a_backup_that_fails_stops_nothing(tmp_path: Path, folder: str | None) -> None:
    (tmp_path / "a file").touch()
    backups = None if folder is None else tmp_path / folder
    store = SQLiteStore(tmp_path / "journal.sqlite")
    with connected(store=store, backups=backups) as client:
        refused = client.post("/v1/backups")
        assert refused.status_code == 507
        assert refused.json()["type"].endswith("backup_failed")
        assert client.post(DECIDE, json={"actions": OFFERED}).status_code == 200


def test_a_copy_that_cannot_be_written_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    house = House.open(SQLiteStore(tmp_path / "journal.sqlite"))
    house.put_policy("plain", PolicySettings.from_dict(PLAIN))
    with pytest.raises(BackupFailed, match="cannot be written"):
        list(house.backup(tmp_path / "nowhere" / "copy.sqlite"))
    house.decide("plain", REQUEST)
    house.close()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_old_records_go_once_per_hour() -> None:
    now = [0.0]
    house = House.open(MemoryStore(), clock=lambda: now[0], snapshot_every=0)
    house.put_policy("plain", PolicySettings.from_dict({**PLAIN, "wait": 10.0}))
    for day in range(10):
        now[0] = day * DAY
        house.decide("plain", REQUEST)
        house.snapshot()
    upkeep = Upkeep(house, folder=None, keep_days=3.0)
    assert upkeep.look(now[0]) > 0
    kept = house.events(None, after=0, limit=100)
    # The newest old enough snapshot stays, and so do the records of the last three days.
    assert min(event["time"] for event in kept) >= 6 * DAY
    assert max(event["time"] for event in kept) == 9 * DAY
    now[0] += 2 * DAY
    house.decide("plain", REQUEST)
    assert upkeep.look(9 * DAY + 3599.0) == 0
    assert Upkeep(house, folder=None, keep_days=None).look(now[0]) == 0
