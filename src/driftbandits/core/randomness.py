"""Randomness by name: generators for drawing, and a tiny one that lives inside a state.

No generator is shared and none is counted on: `stream` derives one from a seed and the names of
what it is for, so that adding a policy, a thread or a replication changes no other number.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from .arrays import whole
from .compiling import kernel


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator for ``names`` under ``seed``.

    Examples:
        >>> from driftbandits.core.randomness import stream
        >>> stream(7, "noise", 3).random() == stream(7, "noise", 3).random()
        True
    """
    return np.random.Generator(np.random.PCG64(_entropy(seed, *names)))


def stream_state(seed: int, *names: str | int) -> npt.NDArray[np.uint64]:
    """The same, as a one-element state for `uniform`: it can be saved, copied and compared."""
    return np.array([_entropy(seed, *names) & 0xFFFF_FFFF_FFFF_FFFF], dtype=np.uint64)


def _entropy(seed: int, *names: str | int) -> int:
    whole("seed", seed, least=0)
    text = "\x1f".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


@kernel
def uniform(state: npt.NDArray[np.uint64]) -> float:
    """A draw from [0, 1) by SplitMix64 (Steele, Lea and Flood, 2014), which moves ``state`` on."""
    # Arrays of one element, since numpy's scalars warn where the arithmetic is meant to wrap.
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z[0] >> np.uint64(11)) * 2.0**-53
