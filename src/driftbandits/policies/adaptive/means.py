"""Running means of rewards and actions, at the latest round and around earlier ones.

Running mean h discounts by δ_h per round between two rewards. A reward is in order, however late it
is, if no reward of a later round came before it. For a reward of round s that is out of order, the
means are taken around s:

    Σ_t δ_h^|s − t| (1, r_t, a_t)      over the rewards of the rounds t that have arrived

For this, the sums of the last PAST rounds are kept apart. Parts of rounds do not count here.

When the level jumps, the running means start anew with the rewards of the round SINCE
(`driftbandits.policies.adaptive.jumps`). From then on, rewards of earlier rounds do not enter them,
and a mean around another round holds only rewards from the same side of the last jump.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel
from ...core.linalg import clear, subtract
from .state import (
    BEHIND,
    LATEST,
    LEVEL_GROWTH,
    LEVELS,
    ORIGIN,
    PAST,
    PAST_COUNT,
    PAST_REWARDS,
    PAST_SUMS,
    SHORTEST_LEVEL,
    SINCE,
    SUMS,
    TRACKED,
    TRACKED_REWARDS,
    State,
)

NOTHING_LEFT = 1e-100  # a mean of fewer rewards says nothing; the square of this must not underflow
NEGLIGIBLE = 1e-4  # a round with less weight than this adds nothing to a mean around another round
ROUNDING = 1e-12  # a smaller count of rewards is rounding after a subtraction
_DISCOUNTS = 1.0 - 1.0 / (SHORTEST_LEVEL * LEVEL_GROWTH ** np.arange(LEVELS))


@lean_kernel
def level_discount(h: int) -> float:
    """δ_h, the discount of running mean ``h``, whose memory is 3·√10^h rounds."""
    return float(_DISCOUNTS[h])


@lean_kernel
def first_mean(s: State) -> int:
    """The first row of ``trackers`` to use for the last reward: see `find_means`."""
    return LEVELS if s.counters[BEHIND] > 0.0 else 0


@lean_kernel
def any_mean(s: State) -> bool:
    """Whether any running mean holds a reward; if any does, the longest one does."""
    return bool(s.trackers[LEVELS - 1, TRACKED] >= NOTHING_LEFT)


@lean_kernel
def pass_to(s: State, time: float) -> None:
    """Let the running means fade up to ``time``, unless they are already later."""
    c = s.counters
    steps = max(0.0, time - c[LATEST])
    if steps > 0.0:
        for h in range(LEVELS):
            kept = level_discount(h)
            if steps != 1.0:
                kept = kept**steps
            s.trackers[h, TRACKED] *= kept
            s.trackers[h, TRACKED_REWARDS] *= kept
            for i in range(s.rows.shape[1]):
                s.trackers[h, SUMS + i] *= kept
        opened = np.floor(time) - np.floor(c[LATEST])
        for k in range(int(min(opened, float(PAST)))):
            clear(s.past[slot_of(time - k)])
        c[LATEST] += steps


@lean_kernel
def slot_of(time: float) -> int:
    """The row of ``past`` for the round that ``time`` is in."""
    return int(np.floor(time)) & (PAST - 1)


@lean_kernel
def find_means(s: State, time: float) -> bool:
    """Find the means for a reward of round ``time``; returns False if it is too long ago.

    Sets BEHIND. If the reward comes out of order, writes the means around its round.
    """
    s.counters[BEHIND] = max(0.0, s.counters[LATEST] - time)
    if s.counters[BEHIND] == 0.0:
        return True
    behind = np.floor(s.counters[LATEST]) - np.floor(time)
    if behind >= PAST:
        return False
    # Rounds are counted back from the latest one. A mean ends before it crosses the last jump.
    jumped = np.floor(s.counters[LATEST]) - s.counters[SINCE]
    back, forth = PAST, -1
    if behind <= jumped:
        back = int(min(float(PAST), jumped + 1.0))
    else:
        forth = int(jumped)
    for h in range(LEVELS):
        clear(s.trackers[LEVELS + h])
        _gather(s, h, int(behind), back, 1)
        _gather(s, h, int(behind) - 1, forth, -1)
    return True


@lean_kernel
def _gather(s: State, h: int, start: int, stop: int, step: int) -> None:
    """Add rounds to mean ``h`` around a past round, ever farther away from it.

    They are ``start``, ``start + step``, … rounds before the latest one.
    """
    mean, kept, latest = s.trackers[LEVELS + h], level_discount(h), slot_of(s.counters[LATEST])
    weight = 1.0 if step > 0 else kept
    for k in range(start, stop, step):
        row = s.past[(latest - k) & (PAST - 1)]
        if row[PAST_COUNT] != 0.0:
            mean[TRACKED] += weight * row[PAST_COUNT]
            mean[TRACKED_REWARDS] += weight * row[PAST_REWARDS]
            subtract(mean[SUMS:], -weight, row[PAST_SUMS:])
        weight *= kept
        if weight < NEGLIGIBLE:
            break


@lean_kernel
def add_to_means(s: State, action: Array, reward: float, age: float, sign: float) -> None:
    """Add a reward to the running means, or take it out if ``sign`` is −1."""
    time, y = s.counters[CLOCK] - age, reward - s.counters[ORIGIN]
    behind = max(0.0, s.counters[LATEST] - time)
    for h in range(LEVELS if np.floor(time) >= s.counters[SINCE] else 0):
        mean, weight = s.trackers[h], sign
        if behind > 0.0:
            weight *= level_discount(h) ** behind
        count = mean[TRACKED] + weight
        mean[TRACKED] = count if count > ROUNDING else 0.0
        mean[TRACKED_REWARDS] += weight * y
        for i in range(action.size):
            mean[SUMS + i] += weight * action[i]
    if np.floor(s.counters[LATEST]) - np.floor(time) < PAST:
        row = s.past[slot_of(time)]
        row[PAST_COUNT] += sign
        row[PAST_REWARDS] += sign * y
        for i in range(action.size):
            row[PAST_SUMS + i] += sign * action[i]
