"""What computed a snapshot: versions and processor. Bits may differ where any of these does."""

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
    """In what another stamp differs from the one of this process."""
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
