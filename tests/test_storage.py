"""Saved policies continue bit for bit, and incomplete files are refused."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftbandits
from driftbandits import DLinUCB, LinUCB, Problem, StateFileError, SWLinUCB, load
from driftbandits.core import storage
from driftbandits.least_squares.forgetting import FIRST, STORED
from driftbandits.testing.policies.lives import play, require_state

POLICIES = driftbandits.registered()
PROBLEM = Problem(
    dim=3, horizon=2000, budget=2.0, change_points=(40, 90), ridge=0.5, noise=0.3, action_bound=2.0
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A file with a policy that has seen 100 rounds."""
    policy = SWLinUCB.tuned(PROBLEM)
    play(policy, 100)
    path = tmp_path / "policy.npz"
    policy.save(path)
    return path


def members(path: Path) -> dict[str, Any]:
    """The arrays of a saved file, including the header."""
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def rewrite(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


def header_of(arrays: dict[str, Any]) -> dict[str, Any]:
    parsed = json.loads(arrays["header.json"].tobytes())
    assert isinstance(parsed, dict)
    return parsed


def with_header(arrays: dict[str, Any], **changes: Any) -> dict[str, Any]:
    text = json.dumps(header_of(arrays) | changes).encode()
    return arrays | {"header.json": np.frombuffer(text, dtype=np.uint8)}


def test_a_state_that_overflowed_does_not_replace_one_that_loads(tmp_path: Path) -> None:
    policy, path = DLinUCB(dim=1, gamma=0.9), tmp_path / "policy.npz"
    policy.save(path)
    before = path.read_bytes()
    policy._state.moment[0, 0] = np.inf
    with pytest.raises(ValueError, match="not finite; nothing is saved"):
        policy.save(path)
    assert path.read_bytes() == before


def test_configurations_of_numpy_numbers_can_be_saved(tmp_path: Path) -> None:
    options: dict[str, Any] = {"dim": np.int64(3), "window": np.int32(7), "ridge": np.float32(0.5)}
    policy = SWLinUCB(**options)
    policy.save(tmp_path / "policy.npz")
    assert load(tmp_path / "policy.npz").config == policy.config


def test_every_truncation_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    positions = sorted({*range(0, len(whole), 37), *range(len(whole) - 120, len(whole))})
    for position in positions:
        saved.write_bytes(whole[:position])
        with pytest.raises(StateFileError, match=re.escape(str(saved))):
            load(saved)


def test_every_flipped_byte_is_refused_or_harmless(saved: Path) -> None:
    """The archive's checksums cover the data; the rest are dates, offsets and names."""
    whole, expected = saved.read_bytes(), load(saved).state()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            policy = load(saved)
        except StateFileError:
            continue
        require_state(policy, expected, "the file")


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x80\x04K\x01.", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), bytes(1000)],
)
def test_foreign_bytes_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    path.write_bytes(content)
    with pytest.raises(StateFileError, match="not a"):
        load(path)


def test_foreign_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.npz"
    rewrite(path, {"x": np.ones(3)})
    with pytest.raises(StateFileError, match="not a state saved by driftbandits"):
        load(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(StateFileError, match="not a saved state"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no array")
    with pytest.raises(StateFileError):
        load(path)


def test_a_compressed_archive_that_is_damaged_is_refused(saved: Path) -> None:
    arrays = members(saved)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    whole = buffer.getvalue()
    for position in range(30, len(whole), 11):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        saved.write_bytes(damaged)
        try:
            load(saved)
        except StateFileError:
            continue


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*none for state\.npz"):
        LinUCB(dim=2).save(tmp_path / "none" / "state.npz")


def test_nobody_is_told_to_unpickle_a_text(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(StateFileError, match="it is not an archive"):
        load(tmp_path / "notes.txt")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateFileError):
        load(tmp_path)


@pytest.mark.parametrize("version", [storage.VERSION + 1, 0, None, "1"])
def test_another_version_is_refused(saved: Path, version: Any) -> None:
    rewrite(saved, with_header(members(saved), version=version))
    with pytest.raises(StateFileError, match=f"version {version!r}.*reads version 1"):
        load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not a state saved by driftbandits"),
        ({"policy": "Unheard"}, "unknown.*Unheard"),
        ({"policy": None}, "unknown"),
        ({"policy": ["SWLinUCB"]}, "unknown"),
        ({"config": {}}, "dim"),
        ({"config": None}, "SWLinUCB"),
        ({"config": {"dim": 3, "window": 0}}, "window must"),
        ({"config": {"dim": 3, "window": 5, "spell": 1}}, "spell"),
        ({"config": {"dim": 2, "window": 5}}, "gram"),
        ({"policy": "DLinUCB", "config": {"dim": 3, "gamma": 0.5}}, "gram_squared"),
        ({"policy": "Random", "config": {"dim": 3}}, "arrays"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(
    saved: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite(saved, with_header(members(saved), **changes))
    with pytest.raises(StateFileError, match=message):
        load(saved)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_an_unreadable_header_is_refused(saved: Path, text: bytes) -> None:
    rewrite(saved, members(saved) | {"header.json": np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(StateFileError):
        load(saved)


def _with_counter(arrays: dict[str, Any], index: int, value: float) -> dict[str, Any]:
    counters = arrays["counters"].copy()
    counters[index] = value
    return arrays | {"counters": counters}


BAD_ARRAYS = [
    lambda a: a | {"gram": np.zeros((4, 4))},
    lambda a: a | {"gram": a["gram"].astype(np.float32)},
    lambda a: a | {"gram": a["gram"][0]},
    lambda a: a | {"theta": np.full(3, np.nan)},
    lambda a: a | {"moment": np.full((2, 3), np.inf)},
    lambda a: a | {"history": np.zeros((64, 9))},
    lambda a: a | {"history": np.zeros((0, 5))},
    lambda a: a | {"history": np.zeros(5)},
    lambda a: a | {"counters": np.zeros(3)},
    lambda a: a | {"extra": np.zeros(3)},
    lambda a: {name: array for name, array in a.items() if name != "moment"},
    lambda a: _with_counter(a, FIRST, 1e6),
    lambda a: _with_counter(a, FIRST, -1.0),
    lambda a: _with_counter(a, STORED, 1e6),
    lambda a: _with_counter(a, STORED, -2.0),
]


@pytest.mark.parametrize("change", BAD_ARRAYS)
def test_arrays_that_cannot_be_the_state_are_refused(saved: Path, change: Any) -> None:
    """For example counters that would make compiled code read beyond an array."""
    rewrite(saved, change(members(saved)))
    with pytest.raises(StateFileError, match=r"valid SWLinUCB: .*(array|state)"):
        load(saved)


@pytest.mark.parametrize(("index", "value"), [(1, 17.0), (1, 0.0), (2, 1e6), (2, -1.0)])
def test_a_pool_that_cannot_be_is_refused(tmp_path: Path, index: int, value: float) -> None:
    path = tmp_path / "pool.npz"
    POLICIES["dLinUCB"].tuned(PROBLEM).save(path)
    rewrite(path, _with_counter(members(path), index, value))
    with pytest.raises(StateFileError, match="does not hold a valid DynamicLinUCB"):
        load(path)


class Trap:
    """Leaves a mark if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def test_nothing_is_unpickled(saved: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    arrays = members(saved)
    for name in ("gram", "header.json", "extra"):
        trapped = np.empty(1, dtype=object)
        trapped[0] = Trap(mark)
        rewrite(saved, arrays | {name: trapped})
        with pytest.raises(StateFileError):
            load(saved)
    saved.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(StateFileError):
        load(saved)
    assert not mark.exists()


@pytest.mark.parametrize(
    "broken", ["os.replace", "os.fsync", "os.chmod", "numpy.lib.format.write_array"]
)
def test_a_failed_save_leaves_the_old_file_and_no_litter(
    saved: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()
    policy = load(saved)
    play(policy, 5)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(broken, fail)
    with pytest.raises(OSError, match="no space left"):
        policy.save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]  # noqa: PTH208
    policy.save(saved)
    require_state(load(saved), policy.state(), "the file")


def test_a_write_that_stops_half_way_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()

    def interrupted() -> None:
        with storage.atomic_write(saved) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_saved_file_follows_the_users_mask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        DLinUCB(dim=2, gamma=0.5).save(tmp_path / "policy.npz")
    finally:
        os.umask(mask)
    assert (tmp_path / "policy.npz").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_file_keeps_its_permissions(saved: Path, mode: int) -> None:
    saved.chmod(mode)
    load(saved).save(saved)
    assert saved.stat().st_mode & 0o777 == mode


def test_a_private_file_is_private_while_it_is_written(saved: Path) -> None:
    saved.chmod(0o600)
    with storage.atomic_write(saved):
        (part,) = (path for path in saved.parent.iterdir() if path != saved)
        assert part.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "policy.npz", tmp_path / "current.npz"
    if exists:
        target.write_bytes(b"old")
    middle = tmp_path / "middle.npz"
    middle.symlink_to(Path("data") / "policy.npz")
    link.symlink_to(middle)
    policy = LinUCB(dim=2)
    policy.save(link)
    assert link.is_symlink()
    assert middle.is_symlink()
    assert not target.is_symlink()
    require_state(load(target), policy.state(), "the file")
    assert sorted(path.name for path in target.parent.iterdir()) == ["policy.npz"]


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "policy.npz"
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        LinUCB(dim=2).save(link)
    assert link.is_symlink()


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """As root, a save to /dev/null would have replaced it for all users."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        LinUCB(dim=2).save(tmp_path / "pipe")
    with pytest.raises(StateFileError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_a_file_that_cannot_be_read_is_not_called_damaged(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(OSError, match=re.escape(str(saved))) as caught:
        load(saved)
    assert caught.value.errno == errno.EIO


SAVING = """
import os, sys
import numpy as np
from driftbandits.core import storage
for line in sys.stdin:
    child, k = os.fork(), 0
    while child == 0:
        k += 1
        storage.write_state(sys.argv[1], {"count": k}, {"data": np.full(200_000, float(k))})
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


HALF_WAY = """
import os, sys, time
from driftbandits.core import storage
for _ in range(3):
    if os.fork() == 0:
        with storage.atomic_write(sys.argv[1]) as file:
            file.write(b"half")
            os.write(1, b"%d\\n" % os.getpid())  # in one piece: three of them write
            time.sleep(60)
        sys.exit()
for _ in range(3):
    os.wait()
"""


def test_a_kill_during_save_never_leaves_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    command = [sys.executable, "-c", SAVING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for attempt in range(6):
            process.stdin.write(b"save\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            _wait_for_change(path)
            time.sleep(0.013 * attempt)
            os.kill(child, signal.SIGKILL)
            assert process.stdout.readline() == b"gone\n"
            header, arrays = storage.read_state(path)
            assert (arrays["data"] == header["count"]).all()
        process.stdin.close()
    storage.write_state(path, {"count": 0}, {})
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_what_a_killed_save_left_is_removed(tmp_path: Path) -> None:
    """And files that others are writing are not removed."""
    path = tmp_path / "state.npz"
    command = [sys.executable, "-c", HALF_WAY, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        writers = [int(process.stdout.readline()) for _ in range(3)]
        assert len(list(tmp_path.iterdir())) == 3
        for writer in writers:
            os.kill(writer, signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 3
    with_a_gap = tmp_path / ".state.npz.7.part"
    with_a_gap.touch()
    other = tmp_path / ".state.npz.mine.part"
    other.write_text("not written by this package")
    with storage.atomic_write(path) as first:
        first.write(b"first")
        storage.write_state(path, {"count": 1}, {})
        assert storage.read_state(path)[0]["count"] == 1
    assert path.read_bytes() == b"first"
    assert {left.name for left in tmp_path.iterdir()} == {path.name, other.name}


def test_threads_that_save_to_one_file_leave_a_whole_one(tmp_path: Path) -> None:
    path, failures = tmp_path / "state.npz", []

    def save(number: int) -> None:
        try:
            for _ in range(40):
                storage.write_state(path, {"n": number}, {"data": np.full(500, number)}, sync=False)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    header, arrays = storage.read_state(path)
    assert (arrays["data"] == header["n"]).all()
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def _wait_for_change(path: Path) -> None:
    """Wait until the saving process has saved once more."""
    before = path.stat().st_mtime_ns if path.exists() else None
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and path.stat().st_mtime_ns != before:
            return
        time.sleep(0.002)
    raise AssertionError("nothing was saved")


def test_a_policy_takes_back_its_own_earlier_state() -> None:
    """Even if arrays have grown since."""
    for cls in POLICIES.values():
        policy = cls.tuned(PROBLEM)
        states = []
        for rounds in (0, 1, 70, 200):
            play(policy, rounds)
            states.append((policy.round, policy.state()))
        for round, state in reversed(states):
            policy.restore(state)
            assert policy.round == round
            twin = cls(**policy.config)
            twin.restore(state)
            require_state(policy, twin.state(), "the file")
            assert play(policy.copy(), 30, seed=8) == play(twin, 30, seed=8)


class Bolder(DLinUCB):
    """A user's policy that is not registered."""


def test_an_unregistered_policy_is_saved_and_loaded(tmp_path: Path) -> None:
    policy, path = Bolder(dim=3, gamma=0.9, action_bound=2.0), tmp_path / "policy.npz"
    play(policy, 20)
    policy.save(path)
    again = load(path)
    assert type(again) is Bolder
    require_state(again, policy.state(), "the file")


def test_a_policy_with_the_name_of_another_stays_what_it_is(tmp_path: Path) -> None:
    mine = type("DLinUCB", (DLinUCB,), {"__module__": __name__})
    mine(dim=2, gamma=0.9).save(tmp_path / "mine.npz")
    DLinUCB(dim=2, gamma=0.9).save(tmp_path / "ours.npz")
    assert type(load(tmp_path / "mine.npz")) is mine
    assert type(load(tmp_path / "ours.npz")) is DLinUCB


def test_a_policy_that_is_not_imported_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    DLinUCB(dim=2, gamma=0.9).save(path)
    rewrite(path, with_header(members(path), policy="Theirs", module="theirs"))
    with pytest.raises(StateFileError, match=r"unknown.*'Theirs' of module 'theirs'; import"):
        load(path)
    assert "theirs" not in sys.modules
