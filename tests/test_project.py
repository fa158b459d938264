"""The project around the package: make, pytest, the version."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import driftbandits

ROOT = Path(__file__).parents[1]

# Replacements for the environment's uv and Python. The first records its arguments. The second runs
# without installed packages, so that it finds only those on PYTHONPATH.
UV = """#!/bin/sh
echo "$@" >> "$UV_LOG"
"""
PYTHON = f"""#!/bin/sh
exec "{sys.executable}" -S "$@"
"""


def requested(folder: Path, direct_url: dict[str, object] | None) -> list[str]:
    """The arguments of uv when make installs the docs' packages; ``direct_url`` is the install."""
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    for name, text in (("uv", UV), ("python", PYTHON)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    site = folder / "site"
    site.mkdir()
    if direct_url is not None:
        info = site / "driftbandits-0.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: driftbandits\nVersion: 0.0.0\n"
        )
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    log = folder / "log"
    venv = folder / "venv"
    subprocess.run(
        ["make", f"VENV={venv}", f"{venv}/docs"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "UV_LOG": str(log), "PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
    )
    assert (venv / "docs").exists()
    return log.read_text().split()


@pytest.mark.parametrize(
    ("direct_url", "editable"),
    [
        (None, True),
        ({"url": "file:///clone", "dir_info": {"editable": True}}, True),
        ({"url": "file:///clone", "dir_info": {}}, False),
    ],
    ids=["nothing installed", "editable", "a copy"],
)
def test_make_leaves_an_installed_copy_a_copy(
    direct_url: dict[str, object] | None, editable: bool, tmp_path: Path
) -> None:
    words = requested(tmp_path, direct_url)
    assert ("-e" in words) == editable
    assert words[-1] == ".[experiments,logs,service,docs]"


def test_plain_pytest_finds_what_the_tests_import() -> None:
    """Without ``python -m``, the current folder is not on the path (-P)."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "--collect-only", "-q", "tests/test_rivals.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},  # nor is anything else
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_version_is_stated_once() -> None:
    """The build and the package read the version from the same file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{driftbandits.__version__}"' in source.read_text("utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", driftbandits.__version__)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## [{driftbandits.__version__}]" in changes
