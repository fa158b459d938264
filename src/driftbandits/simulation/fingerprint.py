"""The versions of the software that computed a run, and a hash that names the run."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from .._version import __version__


def versions() -> dict[str, str]:
    """Versions of this package, its code, Python and libraries."""
    return {
        "driftbandits": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "code": _sources_digest()[:16],
    }


def fingerprint(description: Any) -> str:
    """A short hash of a description; different descriptions have different hashes.

    1, 1.0 and True are different, and so are the same policies in another order.
    """
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


@cache
def _sources_digest() -> str:
    """Hash of all sources of the package: numbers may depend on any of them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
