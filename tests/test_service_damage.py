"""Flipped and torn bytes in the files of a journal: refused or the same state, never wrong."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from driftbandits.service.errors import JournalError
from driftbandits.service.house import House
from driftbandits.service.journal.sqlite import SQLiteStore
from service_house import Desk

FILES = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-witness")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The files of a service as a kill would leave them, and their state."""
    live, left = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("left")
    desk = Desk(SQLiteStore(live / FILES[0]))
    for step in range(60):
        desk.reward(desk.decide().event_id, step % 2)
        desk.house.commit()
        if step == 30:
            desk.house.snapshot()
            store = desk.store
            assert isinstance(store, SQLiteStore)
            store._database.wal_checkpoint()
    for name in FILES:
        shutil.copy(live / name, left / name)
    return left, desk.house.to_bytes()


def state_of(folder: Path) -> bytes | None:
    """The state after a start; None if the start is refused."""
    try:
        with closing(SQLiteStore(folder / FILES[0])) as store:
            return House.open(store).to_bytes()
    except JournalError:
        return None


def test_untouched_files_are_read(killed: tuple[Path, bytes], tmp_path: Path) -> None:
    left, state = killed
    shutil.copytree(left, tmp_path / "copy")
    assert (left / FILES[1]).stat().st_size > 10_000
    assert state_of(tmp_path / "copy") == state


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["flipped", "torn", "zeroed"])
def test_damage_is_refused_or_harmless(
    name: str, how: str, killed: tuple[Path, bytes], tmp_path: Path
) -> None:
    left, state = killed
    rng = random.Random(f"{name} {how}")  # noqa: S311
    content = (left / name).read_bytes()
    outcomes = list[bool]()
    for attempt in range(40):
        folder = tmp_path / str(attempt)
        shutil.copytree(left, folder)
        damaged = bytearray(content)
        where = rng.randrange(len(content))
        if how == "flipped":
            damaged[where] ^= 1 << rng.randrange(8)
        elif how == "torn":
            del damaged[where:]
        else:
            damaged[where : where + 512] = bytes(min(512, len(content) - where))
        (folder / name).write_bytes(damaged)
        found = state_of(folder)
        assert found in (None, state), (name, how, where)
        outcomes.append(found is None)
    if name == FILES[1]:
        assert any(outcomes)  # damage to the last acknowledged records must be noticed
