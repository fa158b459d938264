"""Damaged and forged files are harmless or refused, with no more memory than the file takes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftbandits import (
    AdaptiveLinUCB,
    DetectRestartLinUCB,
    DLinUCB,
    DynamicLinUCB,
    Policy,
    Random,
    StateFileError,
    SWLinUCB,
    load,
)
from driftbandits.testing.policies.lives import play, require_state
from test_storage import PROBLEM, members, rewrite, saved, with_header

__all__ = ["saved"]  # a fixture


def npy(array: Any, shape: Any = None, descr: str | None = None) -> bytes:
    """An array as a member of an archive; its header may be false."""
    buffer = io.BytesIO()
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype) if descr is None else descr,
        "fortran_order": False,
        "shape": array.shape if shape is None else shape,
    }
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(array.tobytes())


def archive(parts: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with correct checksums for any content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in parts.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def test_a_smaller_shape_is_refused(saved: Path) -> None:
    """A reader that stops at the end of the shape would never compare the checksum."""
    policy = SWLinUCB(dim=3, window=5000, action_bound=2.0)
    play(policy, 300)
    policy.save(saved)
    shape = str(members(saved)["history"].shape)
    assert int(shape[1:4]) > 400  # everything in use would be read
    whole, smaller = saved.read_bytes(), f"(301{shape[4:]}"
    assert whole.count(shape.encode()) == 1
    saved.write_bytes(whole.replace(shape.encode(), smaller.encode()))
    with pytest.raises(StateFileError, match="CRC"):
        load(saved)


@pytest.mark.parametrize(
    "shape", [(64, 5), (0, 5), (91, 5), (10**12, 5), (2**63, 5), (-90, -5), (90, 5, 0), (-1, 5)]
)
def test_a_shape_must_account_for_every_byte(saved: Path, shape: tuple[int, ...]) -> None:
    """Even if the checksum is right."""
    arrays = members(saved)
    parts = {name: npy(array) for name, array in arrays.items()}
    saved.write_bytes(archive(parts))
    load(saved)  # shows that the shape is the reason for the refusal
    saved.write_bytes(archive(parts | {"history": npy(arrays["history"], shape)}))
    with pytest.raises(StateFileError, match="history"):
        load(saved)


@pytest.mark.parametrize("descr", ["|O", "|V0", "<U0", "|S8", "<M8[ns]", "<c16", ">f8", "<f4"])
def test_other_types_are_refused(saved: Path, descr: str) -> None:
    arrays = members(saved)
    parts = {name: npy(array) for name, array in arrays.items()}
    saved.write_bytes(archive(parts | {"theta": npy(arrays["theta"], descr=descr)}))
    with pytest.raises(StateFileError):
        load(saved)


def test_members_of_one_name_are_refused(saved: Path) -> None:
    parts = {name: npy(array) for name, array in members(saved).items()}
    buffer = io.BytesIO(archive(parts))
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("theta.npy", npy(np.zeros(3)))
    saved.write_bytes(buffer.getvalue())
    with pytest.raises(StateFileError, match="same name"):
        load(saved)


def peak(path: Path) -> int:
    """Most bytes that were reserved while a file was refused."""
    tracemalloc.start()
    try:
        with pytest.raises(StateFileError):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_small_file_cannot_take_much_memory(saved: Path) -> None:
    """Zeros that compress a thousandfold."""
    arrays = members(saved)
    parts = {name: npy(array) for name, array in arrays.items()}
    parts["history"] = npy(np.zeros((2_000_000, 5)))
    saved.write_bytes(archive(parts, compression=zipfile.ZIP_DEFLATED))
    assert saved.stat().st_size < 200_000
    assert peak(saved) < 2_000_000


@pytest.mark.parametrize("cls", [DLinUCB, DynamicLinUCB, AdaptiveLinUCB, SWLinUCB])
def test_a_forged_dimension_takes_no_memory(cls: type[Policy], saved: Path) -> None:
    policy = cls.tuned(PROBLEM)
    policy.save(saved)
    load(saved)  # compile first, so that it is not counted
    arrays = members(saved)
    for dim in (1_000, 10**6, 10**15, 10**400):
        rewrite(saved, with_header(arrays, config=policy.config | {"dim": dim}))
        assert peak(saved) < 3_000_000


def test_a_forged_memory_takes_none(saved: Path) -> None:
    """It is reserved but never touched; on Linux that takes no memory."""
    policy = DynamicLinUCB.tuned(PROBLEM)
    policy.save(saved)
    rewrite(saved, with_header(members(saved), config=policy.config | {"memory": 10_000_000}))
    code = """
import resource, sys
from driftbandits import StateFileError, load
def used(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = used()
try:
    load(sys.argv[1])
except StateFileError as error:
    print(used() - before, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True
    )
    kilobytes, _, reason = done.stdout.partition(" ")
    assert "failures" in reason
    assert int(kilobytes) < 500_000  # the array would take 1,280,000


def test_a_memory_that_no_computer_has_is_refused(saved: Path) -> None:
    """Reserving it raises MemoryError, which must not reach the caller."""
    policy = DynamicLinUCB.tuned(PROBLEM)
    policy.save(saved)
    rewrite(saved, with_header(members(saved), config=policy.config | {"memory": 10**15}))
    with pytest.raises(StateFileError, match="does not hold a valid DynamicLinUCB"):
        load(saved)


def test_a_large_dimension_that_is_meant_is_loaded(tmp_path: Path) -> None:
    """The state of this policy does not depend on the dimension."""
    Random(dim=10**9).save(tmp_path / "policy.npz")
    assert load(tmp_path / "policy.npz").dim == 10**9


FORGED: list[dict[str, Any]] = [
    {"config": {"dim": 3, "window": 10**400}},
    {"config": {"dim": 3, "window": 5, "ridge": 10**400}},
    {"config": {"dim": 3, "window": 5, "noise": "loud"}},
    {"config": {"dim": 3, "window": 5, "action_bound": [1.0]}},
    {"config": {"dim": 3, "window": 5, "horizon": {"deep": 1}}},
    {"config": {"dim": 10**18, "window": 5}},
    {"config": {"dim": -1, "window": 5}},
    {"config": {"dim": True, "window": 5}},
    {"config": {"dim": 3, "window": 5, "_packed": [0.0]}},
    {"config": {"dim": 3, "window": 5, "self": 1}},
    {"config": [3, 5]},
    {"config": "dim"},
    {"policy": "Policy"},
    {"policy": "WeightedPolicy"},
    {"policy": "__main__"},
    {"policy": {"a": 1}},
    {"module": 7},
    {"module": ["driftbandits"]},
    {"policy": "Path", "module": "pathlib"},
    {"version": 10**5000 if sys.get_int_max_str_digits() == 0 else 10**4000},
    {"version": float("nan")},
    {"format": None},
]


@pytest.mark.parametrize("changes", FORGED, ids=lambda changes: str(changes)[:60])
def test_a_forged_header_is_refused(saved: Path, changes: dict[str, Any]) -> None:
    rewrite(saved, with_header(members(saved), **changes))
    with pytest.raises(StateFileError):
        load(saved)


@pytest.mark.parametrize("depth", [100, 900, 5_000, 200_000])
def test_a_deep_header_is_refused(saved: Path, depth: int) -> None:
    arrays = members(saved)
    config = b'{"dim": 3, "window": ' + b"[" * depth + b"]" * depth + b"}"
    text = json.dumps({"format": "driftbandits-state", "version": 1, "policy": "SWLinUCB"}).encode()
    text = text[:-1] + b', "config": ' + config + b"}"
    rewrite(saved, arrays | {"header.json": np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(StateFileError):
        load(saved)


def flipped(rng: np.random.Generator, content: bytearray) -> None:
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)


def overwritten(rng: np.random.Generator, content: bytearray) -> None:
    start, length = int(rng.integers(len(content))), int(rng.integers(1, 40))
    content[start : start + length] = rng.bytes(length)


def cut_out(rng: np.random.Generator, content: bytearray) -> None:
    start = rng.integers(len(content))
    del content[start : start + rng.integers(1, 200)]


def cut_off(rng: np.random.Generator, content: bytearray) -> None:
    del content[rng.integers(len(content)) :]


def doubled(rng: np.random.Generator, content: bytearray) -> None:
    start = rng.integers(len(content))
    content[start:start] = content[start : start + rng.integers(1, 300)]


def moved(rng: np.random.Generator, content: bytearray) -> None:
    """Copy one part of the file over another, like a disk that mixes up its blocks."""
    source, target = rng.integers(len(content), size=2)
    piece = content[source : source + 64]
    content[target : target + len(piece)] = piece


DAMAGE: list[Callable[[np.random.Generator, bytearray], None]] = [
    flipped,
    overwritten,
    cut_out,
    cut_off,
    doubled,
    moved,
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("cls", [SWLinUCB, AdaptiveLinUCB, Random])
def test_random_damage_is_refused_or_harmless(
    cls: type[Policy], damage: Callable[[np.random.Generator, bytearray], None], tmp_path: Path
) -> None:
    policy, path = cls.tuned(PROBLEM), tmp_path / "policy.npz"
    play(policy, 40)
    policy.save(path)
    whole, expected = path.read_bytes(), policy.state()
    rng = np.random.default_rng(7)
    for _ in range(250):
        content = bytearray(whole)
        damage(rng, content)
        path.write_bytes(content)
        try:
            loaded = load(path)
        except StateFileError:
            continue
        assert loaded.config == policy.config
        require_state(loaded, expected, "the file")


def test_a_member_that_is_overwritten_is_reported_briefly(saved: Path) -> None:
    """zipfile's message quotes everything that it finds in place of a name."""
    whole = bytearray(saved.read_bytes())
    start = whole.index(b"PK\x03\x04")
    whole[start + 26 : start + 28] = (4000).to_bytes(2, "little")  # the length of the name
    saved.write_bytes(whole)
    with pytest.raises(StateFileError, match="damaged") as caught:
        load(saved)
    assert len(str(caught.value)) < 300 + len(str(saved))


NO_ARRAYS: list[Any] = [None, 3.0, "x", [1.0, 2.0, 3.0], {}, np.float64(1.0), np.zeros(())]


@pytest.mark.parametrize("name", ["theta", "floor", "history", "counters"])
@pytest.mark.parametrize("value", NO_ARRAYS, ids=repr)
def test_what_is_no_array_is_no_state(name: str, value: Any) -> None:
    policy = SWLinUCB.tuned(PROBLEM)
    play(policy, 20)
    before = policy.state()
    with pytest.raises(StateFileError, match=f"array {name}"):
        policy.restore(before | {name: value})
    require_state(policy, before, "a refused state")


def test_names_that_are_no_text_are_no_state() -> None:
    policy = SWLinUCB.tuned(PROBLEM)
    strange: dict[Any, Any] = {7: np.zeros(2)}
    with pytest.raises(StateFileError, match="the state has arrays"):
        policy.restore(policy.state() | strange)


def test_a_policy_with_a_floor_goes_on_with_its_own_draws() -> None:
    """0.1.0 had no floor. With a floor, a state without its next draw is not valid."""
    plain, floored = DLinUCB(dim=3, gamma=0.9), DLinUCB(dim=3, gamma=0.9, floor=0.5)
    for policy in (plain, floored):
        play(policy, 20)
    older = {name: array for name, array in plain.state().items() if name != "floor"}
    plain.restore(older)
    older = {name: array for name, array in floored.state().items() if name != "floor"}
    with pytest.raises(StateFileError, match="array floor"):
        floored.restore(older)


def test_rewards_that_came_late_are_not_left_out() -> None:
    """0.1.0 kept them with the others. Without them, their terms would never leave the sums."""
    policy = SWLinUCB.tuned(PROBLEM)
    play(policy, 20)
    state = policy.state()
    del state["belated"]
    with pytest.raises(StateFileError, match="the state has arrays"):
        policy.restore(state)
    del state["floor"]
    policy.restore(state)


# Finite numbers with results that are not finite: each gave NaN or infinity, and no error.
IMPOSSIBLE: list[tuple[Policy, str, int, float]] = [
    (DLinUCB(dim=3, gamma=0.9), "gram", 2, 1e308),
    (DLinUCB(dim=3, gamma=0.9), "gram", 2, 1e100),
    (DLinUCB(dim=3, gamma=0.9), "counters", 2, 5e-324),
    (DLinUCB(dim=3, gamma=0.9), "counters", 11, 0.0),
    (DetectRestartLinUCB(dim=3), "counters", 1, -1e300),
    (AdaptiveLinUCB(dim=3), "centres", 0, 1e308),
    (AdaptiveLinUCB(dim=3), "facts", 16, -1.0),
    (AdaptiveLinUCB(dim=3), "trackers", 1, 1e280),
]


@pytest.mark.parametrize(("policy", "name", "place", "value"), IMPOSSIBLE)
def test_a_state_without_finite_estimates_is_refused(
    policy: Policy, name: str, place: int, value: float, tmp_path: Path
) -> None:
    policy = policy.copy()
    play(policy, 60)
    before = policy.state()
    array = before[name].copy()
    array.flat[place] = value
    with pytest.raises(StateFileError, match=r"entries|estimates|unit"):
        policy.restore(before | {name: array})
    require_state(policy, before, "a refused state")
    policy.save(tmp_path / "policy.npz")
    rewrite(tmp_path / "policy.npz", members(tmp_path / "policy.npz") | {name: array})
    with pytest.raises(StateFileError, match=r"entries|estimates|unit"):
        load(tmp_path / "policy.npz")


def test_random_contents_with_right_checksums_do_no_harm(saved: Path) -> None:
    """Forged numbers load or are refused; if they load, the policy can be used and saved."""
    rng, arrays = np.random.default_rng(11), members(saved)
    extremes = [0.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf, 2.0**53, 1.5]
    for _ in range(150):
        name = str(rng.choice([name for name in arrays if name != "header.json"]))
        array = arrays[name].copy()
        if array.size == 0:
            continue
        value = rng.choice(extremes) if array.dtype.kind == "f" else rng.integers(2**63)
        array.flat[rng.integers(array.size)] = value
        rewrite(saved, arrays | {name: array})
        try:
            policy = load(saved)
        except StateFileError:
            continue
        with np.errstate(all="ignore"):
            policy.select(np.eye(3))
            policy.update(np.eye(3)[0], 1.0)
