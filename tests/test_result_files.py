"""Results on disk: the old result stays until the new one is complete; damage is noticed."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from driftbandits import DLinUCB, DynamicLinUCB, Policy
from driftbandits.cli import cli
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.simulation import Recording, Result, ResultFileError, simulate

POLICIES: dict[str, Policy] = {
    "D-LinUCB": DLinUCB(dim=2, gamma=0.98),
    "dLinUCB": DynamicLinUCB(dim=2),
}


def environment() -> Environment:
    return Environment(
        path=Rotation(angle=3.0, rounds=60),
        actions=ClippedCube(dim=2, count=5),
        noise=Gaussian(0.5),
        horizon=60,
    )


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(
        environment(), POLICIES, replications=3, record=Recording(estimates=(20, 60), states=True)
    )


@pytest.fixture
def folder(result: Result, tmp_path: Path) -> Path:
    result.save(tmp_path / "result")
    return tmp_path / "result"


def assert_same(one: Result, other: Result) -> None:
    assert one.policies == other.policies
    for name in ("regret", "estimates", "path", "detections"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.states.keys() == other.states.keys()
    for name, array in one.states.items():
        np.testing.assert_array_equal(array, other.states[name], err_msg=name)


def test_a_flipped_bit_is_noticed(folder: Path, result: Result) -> None:
    """In any file: each flipped bit is refused, and the message names the file."""
    rng = np.random.default_rng(3)
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 6
    for name in names:
        path = folder / name
        whole = path.read_bytes()
        for _ in range(60):
            content = bytearray(whole)
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
            path.write_bytes(content)
            with pytest.raises(ResultFileError, match=name):
                Result.load(folder)
        path.write_bytes(whole)
    assert_same(Result.load(folder), result)


@pytest.mark.parametrize("lines", [0, 1, 4])
def test_checksums_that_are_not_whole_are_noticed(folder: Path, lines: int) -> None:
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(sums.read_text().splitlines(keepends=True)[:lines]))
    with pytest.raises(ResultFileError, match="SHA256SUMS"):
        Result.load(folder)


def test_a_missing_table_is_noticed(folder: Path) -> None:
    (folder / "estimates.parquet").unlink()
    with pytest.raises(ResultFileError, match=r"estimates\.parquet is missing"):
        Result.load(folder)


def test_checksums_are_those_of_sha256sum(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    tables = [path.name for path in folder.iterdir() if path.name != "SHA256SUMS"]
    expected = [f"{hashlib.sha256((folder / t).read_bytes()).hexdigest()}  {t}" for t in tables]
    assert sorted(lines) == sorted(expected)


def test_a_file_that_cannot_be_read_is_not_called_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(OSError, match="SHA256SUMS"):
        Result.load(folder)


def test_a_smaller_result_leaves_nothing_of_a_larger_one(folder: Path, result: Result) -> None:
    nothing = np.zeros((2, 3, 0, 0))
    small = replace(
        result, estimate_rounds=np.zeros(0), estimates=nothing, path=np.zeros((0, 0)), states={}
    )
    (folder / "notes.txt").write_text("mine")
    small.save(folder)
    names = {"regret.parquet", "detections.parquet", "SHA256SUMS", "notes.txt"}
    assert {path.name for path in folder.iterdir()} == names
    assert Result.load(folder).states == {}


def test_a_save_that_fails_leaves_the_old_result(
    folder: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it fails, either the old or the new result is complete."""
    new = replace(result, regret=result.regret + 1.0)
    steps = 0
    for operation in ("replace", "rename", "unlink", "rmdir"):
        original = getattr(os, operation)
        for failing in range(40):
            calls = 0

            def broken(*arguments: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls > failing:  # noqa: B023
                    raise OSError(errno.ENOSPC, "No space left on device")
                return original(*arguments, **options)  # noqa: B023

            with monkeypatch.context() as patch:
                patch.setattr(os, operation, broken)
                try:
                    new.save(folder)
                    failed = False
                except OSError:
                    failed = True
            found = Result.load(folder)
            assert_same(found, result if (found.regret == result.regret).all() else new)
            if not failed:
                assert_same(found, new)
                break
            steps += 1
            result.save(folder)
            assert_same(Result.load(folder), result)
    assert steps > 8
    assert all(not path.name.startswith(".") for path in folder.iterdir())


# Each line of input forks a process that saves for ever; a fork avoids the slow imports.
SAVING = """
import os, sys
from dataclasses import replace
from driftbandits.simulation import Result
first, folder = Result.load(sys.argv[1]), sys.argv[2]
second = replace(first, regret=first.regret + 1.0, states={})
for line in sys.stdin:
    child = os.fork()
    while child == 0:
        second.save(folder)
        first.save(folder)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def test_a_kill_during_save_leaves_one_result_or_the_other(folder: Path, result: Result) -> None:
    shutil.copytree(folder, folder.parent / "source")
    rng = np.random.default_rng(5)
    command = [sys.executable, "-c", SAVING, str(folder.parent / "source"), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(12):
            process.stdin.write(b"save\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.15))
            os.kill(child, signal.SIGKILL)
            assert process.stdout.readline() == b"gone\n"
            found = Result.load(folder)
            added = 0.0 if found.states else 1.0
            np.testing.assert_array_equal(found.regret, result.regret + added)
        process.stdin.close()
    result.save(folder)
    assert {path.name for path in folder.iterdir()} == {
        path.name for path in (folder.parent / "source").iterdir()
    }


def test_a_damaged_result_is_played_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"replications": 2, "folder": tmp_path / "run"}
    first = simulate(environment(), POLICIES, **options)
    path = tmp_path / "run" / "regret.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-30] + bytes(30))
    with pytest.warns(UserWarning, match=r"regret\.parquet is damaged.*played again"):
        again = simulate(environment(), POLICIES, **options)
    np.testing.assert_array_equal(first.regret, again.regret)
    assert path.read_bytes() == whole


def test_one_damaged_result_does_not_stop_the_report_of_others(tmp_path: Path) -> None:
    for name in ("bad", "good"):
        simulate(environment(), POLICIES, replications=2, folder=tmp_path / name)
    path = tmp_path / "bad" / "regret.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    done = CliRunner().invoke(cli, ["report", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"warning: {path} is damaged" in done.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Results that cannot be read" in page
    assert f"<strong>bad</strong>: {path} is damaged" in page
    assert (tmp_path / "good" / "figures").exists()
    (tmp_path / "good" / "regret.parquet").unlink()
    with pytest.raises(ValueError, match="holds no results that can be read"):
        CliRunner().invoke(cli, ["report", str(tmp_path)], catch_exceptions=False)


def test_names_that_differ_by_a_nul_are_refused(result: Result, tmp_path: Path) -> None:
    """NumPy drops NUL at the end of a text, and zip archives drop everything after a NUL."""
    pair = {"x": POLICIES["D-LinUCB"], "x\0": POLICIES["dLinUCB"]}
    with pytest.raises(ValueError, match=r"text without NUL, got 'x\\x00'"):
        simulate(environment(), pair, replications=1, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="without NUL"):
        replace(result, policies=("x", "x\0")).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("label", ["\ud800", 1])
def test_names_that_no_file_can_hold_are_refused(label: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="names of policies must be text"):
        simulate(environment(), {label: POLICIES["D-LinUCB"]}, replications=1)


def test_unusual_names_are_kept(result: Result, tmp_path: Path) -> None:
    names = ("../x/\u202e\n ", "é\t'\"")
    states = {
        f"{names[result.policies.index(key.split('/')[0])]}/0/theta": array
        for key, array in result.states.items()
    }
    replace(result, policies=names, states=states).save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.policies == names
    assert loaded.states.keys() == states.keys()
