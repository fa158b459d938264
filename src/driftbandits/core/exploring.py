"""The floor: with a small probability, any action.

With floor ε and K actions, the action that the rule chose is played with probability
1 − ε + ε/K, every other one with ε/K. Draw n of a stream named by the seed decides: a uniform
u < ε plays action ⌊K u/ε⌋. The stream's key and n are part of the saved state. So a policy draws
the same numbers after loading, and when its events are replayed.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array
from .compiling import lean_kernel
from .packing import DRAWN, FLOOR, KEY_HIGH, KEY_LOW
from .randomness import uniform_at


@lean_kernel
def explored(packed: Array, rule: int, count: int) -> int:
    """The action to play if the rule chose ``rule`` out of ``count``; moves the stream on."""
    floor = packed[FLOOR]
    if floor == 0.0:
        return rule
    u = uniform_at(int(packed[KEY_HIGH]), int(packed[KEY_LOW]), int(packed[DRAWN]))
    packed[DRAWN] += 1.0
    return min(int(u / floor * count), count - 1) if u < floor else rule


@lean_kernel
def only(rule: int, chances: Array) -> None:
    """Probability one for the action ``rule``, zero for the others."""
    for k in range(chances.size):
        chances[k] = 0.0
    chances[rule] = 1.0


@lean_kernel
def mix(share: float, chances: Array) -> None:
    """p ← (1 − ε) p + ε/K: with probability ε = ``share``, any of the K actions is played."""
    for k in range(chances.size):
        chances[k] = (1.0 - share) * chances[k] + share / chances.size


@lean_kernel
def mix_floor(packed: Array, rule: int, chances: Array) -> None:
    """Turn the rule's own propensities into those with the floor; the rule chose ``rule``.

    If the rule draws and has no closed form, its propensities given its draw are used: 1 for
    ``rule``. They are valid too: given any draw, weights 1/p have the same mean.
    """
    floor = packed[FLOOR]
    if floor == 0.0:
        return
    if np.isnan(chances[0]):
        only(rule, chances)
    mix(floor, chances)
