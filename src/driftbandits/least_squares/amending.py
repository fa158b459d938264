"""Changes to what was learned: correct a reward, or clear a coordinate.

The functions take the parameters ``p`` and the state ``s`` of
`driftbandits.policies.weighted.family`.
"""

from __future__ import annotations

from typing import Any

from ..core.arrays import Array
from ..core.clock import CLOCK
from ..core.compiling import lean_kernel
from .forgetting import (
    FACTOR_AGE,
    FIRST,
    STEPS,
    STORED,
    UNIT,
    count_reward,
    is_remembered,
    wrapped,
)
from .sums import add_moment

# How far two roundings can shift a round, relative to the clock.
ROUNDING = 2.0**-50


@lean_kernel
def amend_memory(p: Any, s: Any, action: Array, old: float, new: float, age: float) -> bool:
    """b += w (new − old) a, with the present weight w of an observation made ``age`` rounds ago.

    An observation whose round has left the window, or lies before the last restart, no longer
    counts: nothing changes. Returns False if the window holds no such observation.
    """
    if not is_remembered(p, s, age):
        return True
    if p.window > 0.0:
        row = _find(s.counters, s.history, action, old, age)
        if row >= 0:
            s.history[row, action.size] = new
        else:
            row = _find_late(s.counters, s.belated, action, old, age)
            if row < 0:
                return False
            s.belated[row, action.size] = new
        count_reward(s.belated, abs(new))
        count_reward(s.belated, -abs(old))
    weight = s.counters[UNIT]
    if age != 0.0:
        weight *= p.gamma**age
    add_moment(s.moment, action, new - old, weight)
    s.counters[STEPS] += 1.0
    return True


@lean_kernel
def _find(counters: Array, history: Array, action: Array, reward: float, age: float) -> int:
    """The row of ``history`` [action, reward, round] with this action, reward and age, or −1."""
    capacity, dim = history.shape[0], action.size
    first, stored = int(counters[FIRST]), int(counters[STORED])
    # A round is computed as clock − age, and rounded. After the clock has moved, the rounding
    # may differ.
    observed, slack = counters[CLOCK] - age, ROUNDING * (counters[CLOCK] + 1.0)
    low, high = 0, stored
    while low < high:  # rows are in the order of their rounds
        middle = (low + high) // 2
        if history[wrapped(first + middle, capacity), dim + 1] < observed - slack:
            low = middle + 1
        else:
            high = middle
    for place in range(low, stored):
        row = wrapped(first + place, capacity)
        if history[row, dim + 1] > observed + slack:
            break
        if _is_of(history[row], action, reward):
            return int(row)
    return -1


@lean_kernel
def _find_late(counters: Array, belated: Array, action: Array, reward: float, age: float) -> int:
    """Like `_find`, for ``belated``: O(n), but reads one number of most rows."""
    observed, slack = counters[CLOCK] - age, ROUNDING * (counters[CLOCK] + 1.0)
    for row in range(1, 1 + int(belated[0, 0])):
        near = abs(belated[row, action.size + 1] - observed) <= slack
        if near and _is_of(belated[row], action, reward):
            return int(row)
    return -1


@lean_kernel
def _is_of(row: Array, action: Array, reward: float) -> bool:
    """Whether a row [action, reward, round] has this action and this reward."""
    same = row[action.size] == reward
    for i in range(action.size):
        same = same and row[i] == action[i]
    return bool(same)


@lean_kernel
def forget_coordinates(s: Any, mask: Array) -> None:
    """Clear V, Ṽ, b and the window's rows along the coordinates where ``mask`` is 1."""
    for part in range(2):
        clear_along(mask, s.gram[part])
        if s.gram_squared.shape[1] > 0:
            clear_along(mask, s.gram_squared[part])
        clear_entries(mask, s.moment[part])
    for row in range(s.history.shape[0]):
        clear_entries(mask, s.history[row])
    for row in range(1, s.belated.shape[0]):  # row 0 holds the number of rows, not an action
        clear_entries(mask, s.belated[row])
    s.counters[STEPS] += 1.0
    s.counters[FACTOR_AGE] = -1.0


@lean_kernel
def clear_along(mask: Array, matrix: Array) -> None:
    """Clear the rows and columns of ``matrix`` (d, d) where ``mask`` is 1."""
    for i in range(mask.size):
        for j in range(mask.size):
            if mask[i] != 0.0 or mask[j] != 0.0:
                matrix[i, j] = 0.0


@lean_kernel
def clear_entries(mask: Array, vector: Array) -> None:
    """Clear the entries of ``vector`` (d or more,) where ``mask`` (d,) is 1."""
    for i in range(mask.size):
        if mask[i] != 0.0:
            vector[i] = 0.0
