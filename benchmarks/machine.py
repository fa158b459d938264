"""Description of the machine that the numbers were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "driftbandits",
    "numpy",
    "numba",
    "vowpalwabbit",
    "gittins",
    "bayesianbandits",
    "coba",
    "river",
    "mabwiser",
)


def describe() -> dict[str, str]:
    """Processor, cores, load, Python and versions."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    facts = {
        "code": _code(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load at the end": f"{load:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    return facts | {package: _version(package) for package in PACKAGES}


def _code() -> str:
    """The measured commit, and whether there were uncommitted changes."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "not in a repository"
    return done.stdout.strip()


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
