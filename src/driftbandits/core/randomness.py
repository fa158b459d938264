"""Randomness by name: generators for drawing, and a tiny one that lives inside a state.

No two purposes share a generator. `stream` derives one from a seed and the names of its purpose. So
adding a policy, a thread or a replication changes no other number.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from .arrays import whole
from .compiling import kernel, lean_kernel


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator for ``names`` under ``seed``.

    Examples:
        >>> from driftbandits.core.randomness import stream
        >>> stream(7, "noise", 3).random() == stream(7, "noise", 3).random()
        True
    """
    return np.random.Generator(np.random.PCG64(_entropy(seed, *names)))


def stream_state(seed: int, *names: str | int) -> npt.NDArray[np.uint64]:
    """A one-element state for `uniform`, derived like `stream`: it can be saved and compared."""
    return np.array([_entropy(seed, *names) & 0xFFFF_FFFF_FFFF_FFFF], dtype=np.uint64)


def _entropy(seed: int, *names: str | int) -> int:
    whole("seed", seed, least=0, most=None)
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


_WORD = 0xFFFF_FFFF
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


@lean_kernel
def threefry(k0: int, k1: int, c0: int, c1: int) -> tuple[int, int]:
    """Two random words of 32 bits, from the key (k0, k1) and the counter (c0, c1), also of 32 bits.

    Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011). Draw number c of a key's
    stream needs none of the draws before it.
    """
    keys = (k0, k1, 0x1BD1_1BDA ^ k0 ^ k1)
    x0, x1 = (c0 + k0) & _WORD, (c1 + k1) & _WORD
    for turn in range(20):
        bits = _ROTATIONS[turn % 8]
        x0 = (x0 + x1) & _WORD
        x1 = (((x1 << bits) | (x1 >> (32 - bits))) & _WORD) ^ x0
        if turn % 4 == 3:
            block = turn // 4 + 1
            x0 = (x0 + keys[block % 3]) & _WORD
            x1 = (x1 + keys[(block + 1) % 3] + block) & _WORD
    return x0, x1


@lean_kernel
def uniform_at(high: int, low: int, index: int) -> float:
    """Draw number ``index`` from [0, 1) of the stream with the key (``high``, ``low``)."""
    one, other = threefry(high, low, index & _WORD, index >> 32)
    return (one * 2.0**21 + (other >> 11)) * 2.0**-53
