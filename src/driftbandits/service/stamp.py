"""Versions and processor that made a snapshot. If one of them differs, bits may differ."""

from __future__ import annotations

import json
import platform
from functools import cache

import llvmlite.binding
import numba
import numpy as np

from .._version import __version__


@cache
def stamp() -> str:
    """Versions and processor, as JSON."""
    return json.dumps(
        {
            "driftbandits": __version__,
            "numba": numba.__version__,
            "numpy": np.__version__,
            "machine": platform.machine(),
            "cpu": llvmlite.binding.get_host_cpu_name(),
        },
        sort_keys=True,
    )


def differences(other: str) -> list[str]:
    """How another stamp differs from the stamp of this process."""
    try:
        theirs = json.loads(other)
        ours = json.loads(stamp())
        return [
            f"{name} {theirs.get(name)} then, {value} now"
            for name, value in ours.items()
            if theirs.get(name) != value
        ]
    except (ValueError, AttributeError):
        return ["its stamp cannot be read"]
