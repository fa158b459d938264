"""If the disk cache is missing, full or damaged, one warning is given and all calls work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import driftbandits
from driftbandits.core.disk_cache import CacheFiles, DamagedError

PACKAGE = Path(driftbandits.__file__).parent

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without the compiler"
)

# Four small functions, one per kind of damage, on a disk that can be full or read-only.
SMALL = """
import errno, os, resource, tempfile

from driftbandits.core.compiling import entry_point

def refused(*arguments, **options):
    raise OSError(errno.EROFS, "Read-only file system")

if "READ_ONLY" in os.environ:
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile = refused
if "FULL" in os.environ:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

def empty():
    return 2

def cut():
    return 3

def garbage():
    return 5

def one_bit():
    return 7

calls = [entry_point(function, "mine") for function in (empty, cut, garbage, one_bit)]
print([call() for call in calls], [sum(call.stats.cache_hits.values()) for call in calls])
"""
COMPILED, READ = "[2, 3, 5, 7] [0, 0, 0, 0]\n", "[2, 3, 5, 7] [1, 1, 1, 1]\n"


def run(program: Path, **variables: str) -> tuple[str, str]:
    """The output and the warnings of a process."""
    done = subprocess.run(
        [sys.executable, "-B", str(program)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def cached(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.nbc"))}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and beside it the folder "made" with the cache of its first run."""
    program = tmp_path_factory.mktemp("small") / "program.py"
    program.write_text(SMALL)
    made = program.with_name("made")
    assert run(program, NUMBA_CACHE_DIR=str(made)) == (COMPILED, "")
    assert len(cached(made)) == 4
    return program


@pytest.fixture
def cache(small: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return shutil.copytree(small.with_name("made"), tmp_path / "cache")


@compiled_only
def test_without_a_folder_that_can_be_written_to_each_start_compiles(tmp_path: Path) -> None:
    """Files in place of folders also stop root, whom permissions do not stop."""
    package = tmp_path / "driftbandits"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").write_text("not a folder")
    (tmp_path / "file").write_text("not a folder either")
    nowhere = str(tmp_path / "file" / "nowhere")
    program = tmp_path / "program.py"
    program.write_text(
        "import driftbandits\nprint(driftbandits.__file__)\n"
        "policy = driftbandits.Random(dim=1)\npolicy.update([1.0], 1.0)\n"
        "print(policy.select([[1.0]]), policy.round)\n"
        "driftbandits.WeightedLeastSquares(dim=1).discount(1e-99)"  # compiled elsewhere
    )
    out, err = run(
        program,
        PYTHONPATH=str(tmp_path),
        HOME=nowhere,
        XDG_CACHE_HOME=nowhere,
        NUMBA_CACHE_DIR=nowhere,
    )
    assert out.split() == [str(package / "__init__.py"), "0", "2"]
    assert err.count("CacheWarning") == 1
    assert "NUMBA_CACHE_DIR" in err


@compiled_only
def test_a_disk_that_is_full_stops_no_call(small: Path, tmp_path: Path) -> None:
    out, err = run(small, NUMBA_CACHE_DIR=str(tmp_path), FULL="1")
    assert out == COMPILED
    assert err.count("CacheWarning") == 1
    assert "File too large" in err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    # When there is room again, the code is kept.
    assert run(small, NUMBA_CACHE_DIR=str(tmp_path)) == (COMPILED, "")
    assert len(cached(tmp_path)) == 4


@compiled_only
def test_a_folder_that_can_only_be_read_is_read(small: Path, cache: Path) -> None:
    """As in a prepared image that runs with a read-only file system."""
    made = cached(cache)
    assert run(small, NUMBA_CACHE_DIR=str(cache), READ_ONLY="1") == (READ, "")
    assert cached(cache) == made


def _flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


# Kinds of damage, by the function whose code is damaged.
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-1],
    "garbage": lambda content: b"x" * 999,
    "one_bit": _flip,
}


@compiled_only
def test_damaged_files_are_made_again(small: Path, cache: Path) -> None:
    made = cached(cache)
    for name, damage in DAMAGES.items():
        (path,) = (path for path in made if f".{name}_mine" in path.name)
        path.write_bytes(damage(made[path]))
    damaged = cached(cache)
    assert not any(content == made[path] for path, content in damaged.items())
    out, err = run(small, NUMBA_CACHE_DIR=str(cache))
    assert out == COMPILED
    assert err.count("CacheWarning: ") == 4
    for path in made:
        assert f"{path.name} is damaged" in err
    assert cached(cache).keys() == made.keys()
    assert not any(content == damaged[path] for path, content in cached(cache).items())
    assert run(small, NUMBA_CACHE_DIR=str(cache)) == (READ, "")


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
