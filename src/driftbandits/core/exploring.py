"""The floor: with a small probability, any action.

With floor ε and K actions, the action that the rule chose is played with probability
1 − ε + ε/K, every other one with ε/K. Draw n of a stream named by the seed decides: a uniform
u < ε plays action ⌊K u/ε⌋. The stream's key and n are part of the saved state, so that a policy
that was saved, or whose events are replayed, draws the same.
"""

from __future__ import annotations

from .arrays import Array
from .compiling import lean_kernel
from .packing import DRAWN, FLOOR, KEY_HIGH, KEY_LOW
from .randomness import uniform_at


@lean_kernel
def explored(packed: Array, rule: int, count: int) -> int:
    """The action to play where the rule chose ``rule`` of ``count``; moves the stream on."""
    floor = packed[FLOOR]
    if floor == 0.0:
        return rule
    u = uniform_at(int(packed[KEY_HIGH]), int(packed[KEY_LOW]), int(packed[DRAWN]))
    packed[DRAWN] += 1.0
    return min(int(u / floor * count), count - 1) if u < floor else rule


@lean_kernel
def propensity_at(floor: float, rule: int, chosen: int, count: int) -> float:
    """(1 − ε) 1[chosen = rule] + ε/K."""
    return floor / count + (1.0 - floor if chosen == rule else 0.0)
