"""The disk cache of compiled code: missing, full or damaged, it is said once and stops no call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import driftbandits
from driftbandits.core.disk_cache import CacheFiles, DamagedError

PACKAGE = Path(driftbandits.__file__).parent

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without the compiler"
)

SMALL = """
from driftbandits.core.compiling import entry_point

def answer():
    return 42

def question(x):
    return x + 1

compiled, other = entry_point(answer, "mine"), entry_point(question, "mine")
print(compiled() + other(-1))
"""


def run(program: str, folder: Path, **variables: str) -> tuple[str, str]:
    """What a process prints, and what it warns of."""
    script = folder / "program.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, "-B", str(script)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def cached(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted((folder / "cache").rglob("*.nbc"))}


@compiled_only
def test_without_a_folder_that_can_be_written_to_each_start_compiles(tmp_path: Path) -> None:
    """Files in the place of folders stop even those whom permissions do not."""
    package = tmp_path / "driftbandits"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").write_text("not a folder")
    (tmp_path / "file").write_text("not a folder either")
    nowhere = str(tmp_path / "file" / "nowhere")
    out, err = run(
        "import driftbandits\nprint(driftbandits.__file__)\n"
        "policy = driftbandits.Random(dim=1)\npolicy.update([1.0], 1.0)\n"
        "print(policy.select([[1.0]]), policy.round)\n"
        "driftbandits.WeightedLeastSquares(dim=1).discount(1e-99)",  # compiled elsewhere
        tmp_path,
        PYTHONPATH=str(tmp_path),
        HOME=nowhere,
        XDG_CACHE_HOME=nowhere,
        NUMBA_CACHE_DIR=nowhere,
    )
    assert out.split() == [str(package / "__init__.py"), "0", "2"]
    assert err.count("CacheWarning") == 1
    assert "NUMBA_CACHE_DIR" in err


@compiled_only
def test_a_disk_that_is_full_stops_no_call(tmp_path: Path) -> None:
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    out, err = run(full + SMALL, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert out.split() == ["42"]
    assert err.count("CacheWarning") == 1
    assert "File too large" in err
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    # Once there is room, the code is kept.
    assert run(SMALL, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) == ("42\n", "")
    assert len(cached(tmp_path)) == 2


READ_ONLY = """
import errno, os, tempfile

def refused(*arguments, **options):
    raise OSError(errno.EROFS, "Read-only file system")

if "READ_ONLY" in os.environ:
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile = refused
"""


@compiled_only
def test_a_folder_that_can_only_be_read_is_read(tmp_path: Path) -> None:
    """As in an image that was prepared, and runs with a read-only file system."""
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    hits = "print([sum(f.stats.cache_hits.values()) for f in (compiled, other)])"
    program = READ_ONLY + SMALL + hits
    assert run(program, tmp_path, **place) == ("42\n[0, 0]\n", "")
    made = cached(tmp_path)
    assert run(program, tmp_path, READ_ONLY="1", **place) == ("42\n[1, 1]\n", "")
    assert cached(tmp_path) == made


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@compiled_only
@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:-1], lambda content: b"x" * 999, _flip],
    ids=["empty", "cut", "garbage", "one bit"],
)
def test_damaged_files_are_made_again(damage: Any, tmp_path: Path) -> None:
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(SMALL, tmp_path, **place) == ("42\n", "")
    made = cached(tmp_path)
    assert len(made) == 2
    for path, content in made.items():
        path.write_bytes(damage(content))
    damaged = cached(tmp_path)
    out, err = run(SMALL, tmp_path, **place)
    assert out == "42\n"
    assert err.count("CacheWarning: ") == 2
    assert err.count("is damaged") == 2
    assert cached(tmp_path).keys() == made.keys()
    assert not any(content == damaged[path] for path, content in cached(tmp_path).items())
    assert run(SMALL, tmp_path, **place) == ("42\n", "")


def test_files_of_other_sources_are_not_read(tmp_path: Path) -> None:
    key = ("signature", ("x86", "cpu"), ("code", "cells"))
    CacheFiles(tmp_path, "name", "old").save(key, [1])
    assert CacheFiles(tmp_path, "name", "old").load(key) == [1]
    assert CacheFiles(tmp_path, "name", "new").load(key) is None
    assert CacheFiles(tmp_path, "name", "old").load((*key[:2], ("other", "cells"))) is None
    assert CacheFiles(tmp_path, "other", "old").load(key) is None
    CacheFiles(tmp_path, "name", "new").save(key, [2])
    assert CacheFiles(tmp_path, "name", "new").load(key) == [2]
    assert CacheFiles(tmp_path, "name", "old").load(key) is None
    (file,) = tmp_path.glob("*.nbc")
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(DamagedError, match="damaged"):
        CacheFiles(tmp_path, "name", "new").load(key)
    CacheFiles(tmp_path, "name", "new").flush()
    assert not list(tmp_path.iterdir())
