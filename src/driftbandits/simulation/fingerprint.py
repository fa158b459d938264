"""What computed a run, and a short name for what the run is made of."""

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
    """What computed it."""
    return {
        "driftbandits": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "code": _sources_digest()[:16],
    }


def fingerprint(description: Any) -> str:
    """A short name for a description; different descriptions have different ones.

    So have 1, 1.0 and True, and policies in another order.
    """
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


@cache
def _sources_digest() -> str:
    """Hash of all sources of the package: numbers may depend on any of them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
