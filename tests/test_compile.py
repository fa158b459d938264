"""The disk cache of compiled code: valid for the sources that it was made from, and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import driftbandits
from driftbandits import LinUCB, _compile, estimator

PACKAGE = Path(driftbandits.__file__).parent

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without the compiler"
)


@compiled_only
@pytest.mark.parametrize("name", ["select", "score", "learn_one", "learn_many", "advance", "play"])
def test_entry_points_carry_the_digest_of_the_package(name: str) -> None:
    entry = getattr(LinUCB(dim=2)._calls, name)
    assert entry._cache._cache_file._source_stamp == _compile.package_digest()


@compiled_only
def test_the_estimators_entry_points_do_too() -> None:
    stamp = estimator.widths_entry._cache._cache_file._source_stamp  # type: ignore[attr-defined]
    assert stamp == _compile.package_digest()


@compiled_only
def test_policies_of_one_family_share_their_compiled_code() -> None:
    classes = driftbandits.registered()
    calls = {classes[name].kernels for name in ("LinUCB", "D-LinUCB", "SW-LinUCB", "LinUCB-OR")}
    assert len(calls) == 1


def radius_of(package: Path, cache: Path) -> float:
    """A radius, from a process of its own."""
    program = "from driftbandits import LinUCB; print(LinUCB(dim=1, delta=0.5).radius)"
    environment = os.environ | {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def copied(tmp_path: Path) -> Path:
    target = tmp_path / "driftbandits"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


@compiled_only
@pytest.mark.thorough
def test_an_edited_kernel_is_compiled_anew(tmp_path: Path) -> None:
    package, cache = copied(tmp_path), tmp_path / "cache"
    before = radius_of(package, cache)
    made = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    assert made
    assert radius_of(package, cache) == before
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == made
    kernel = package / "confidence.py"
    source = kernel.read_text()
    assert source.count("2.0 * np.log(1.0 / delta)") == 1
    kernel.write_text(source.replace("2.0 * np.log(1.0 / delta)", "8.0 * np.log(1.0 / delta)"))
    assert radius_of(package, cache) > before * 1.5
