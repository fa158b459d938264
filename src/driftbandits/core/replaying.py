"""Many events in one compiled call: one function checks them all, another runs them.

Every event does what its own entry point does (`driftbandits.core.entry_points`), in the same
order: fits, prepare, choose, expect, advance, learn. So the bits are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .checks import LARGEST_REWARD, admissible, panel, transpose
from .clock import CLOCK, can_close
from .compiling import entry_point, lean_kernel
from .events import (
    ADVANCE,
    ALSO,
    AMEND,
    DECIDE,
    FORGET,
    LEARN,
    NEW,
    ROUND,
    SELECT,
    UPDATE,
    VALUE,
    Integers,
)
from .exploring import explored, mix_floor
from .packing import CHANGED, FRESH, STALE, claim, release


def _unbound(*arguments: Any) -> Any:
    """Placeholder that `entry_points` replaces with a policy's kernel."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


unpack = choose = learn = advance = prepare = expect = late = _unbound
propensities = fits = amend = forget = _unbound


@lean_kernel
def _event_is_right(packed: Array, kind: int, rows: Array, values: Array, clock: float) -> bool:
    """Whether the call that an event stands for is valid when the clock is at ``clock``."""
    value = values[VALUE]
    if kind == ADVANCE:
        return bool(value > 0.0 and can_close(clock, value))
    if kind == FORGET:
        return bool(rows.shape[0] == 1)
    if not admissible(packed, rows):
        return False
    if kind == SELECT:
        return True
    if kind == DECIDE:
        return bool(value >= 0.0 and can_close(clock, value))
    if kind == UPDATE and not can_close(clock, 1.0):
        return False
    if rows.shape[0] != 1 or not abs(value) <= LARGEST_REWARD:
        return False
    if kind in (LEARN, AMEND) and not 1.0 <= values[ROUND] <= clock + 1.0:
        return False
    return bool(kind != AMEND or abs(values[NEW]) <= LARGEST_REWARD)


def _first_wrong(
    packed: Array,
    kinds: Integers,
    starts: Integers,
    counts: Integers,
    numbers: Array,
    rows: Array,
    clock: float,
) -> int:
    """Index of the first event that is not valid, or −1; the clock starts at ``clock``."""
    closed = False  # whether the event before has closed a round with a reward
    for i in range(kinds.size):
        kind, start, size = kinds[i], starts[i], counts[i]
        if not SELECT <= kind <= FORGET:
            return i
        if kind != ADVANCE and not (start >= 0 and 0 <= size <= rows.shape[0] - start):
            return i
        part = rows[start : start + size] if kind != ADVANCE else rows[:0]
        if (kind == ALSO and not closed) or not _event_is_right(
            packed, kind, part, numbers[i], clock
        ):
            return i
        closed = bool(kind in (UPDATE, ALSO))
        if kind == UPDATE:
            clock += 1.0
        elif kind in (DECIDE, ADVANCE):
            clock += numbers[i, VALUE]
    return -1


first_wrong = entry_point(_first_wrong, "events")


def replay_template(
    packed: Array,
    kinds: Integers,
    starts: Integers,
    counts: Integers,
    numbers: Array,
    rows: Array,
    start: int,
    chosen: Integers,
    chances: Array,
    found: Integers,
) -> int:
    """Run the events from ``start`` on, which must have passed `first_wrong`.

    Returns the number of events done so far. If that is fewer than all, either an array has to grow
    first, or an amendment has found no observation (``found[0]`` is then 0). ``chosen`` and
    ``chances`` (n,) get the choices and their propensities.
    """
    dim, widest = rows.shape[1], 1
    for i in range(kinds.size):
        if kinds[i] in (SELECT, DECIDE):
            widest = max(widest, counts[i])
    # Each set of actions gets a part of its own size: kernels take contiguous arrays only.
    room, scratch_room = np.empty((dim + 2) * widest), np.empty((dim + 2) * (widest + 3))
    claim(packed)
    parameters, state = unpack(packed)
    done = start
    while done < kinds.size:
        i, kind, value = done, kinds[done], numbers[done, VALUE]
        closing = value if kind in (DECIDE, ADVANCE) else (1.0 if kind == UPDATE else 0.0)
        if kind not in (SELECT, AMEND, FORGET) and not fits(parameters, state, closing):
            break
        if kind in (SELECT, DECIDE):
            size, width = counts[i], panel(dim, counts[i])
            columns = room[: dim * size].reshape((dim, size))
            scores = room[dim * size : (dim + 1) * size]
            scratch = scratch_room[: (dim + 2) * width].reshape((dim + 2, width))
            transpose(rows[starts[i] : starts[i] + size], columns)
            if packed[STALE] != FRESH:
                prepare(parameters, state)
                packed[STALE] = FRESH
            rule = choose(parameters, state, columns, scratch, scores)
            if kind == DECIDE:
                among = room[(dim + 1) * size : (dim + 2) * size]
                propensities(parameters, state, columns, scratch, scores, rule, among)
                mix_floor(packed, rule, among)
            chosen[i] = explored(packed, rule, size)
            if kind == DECIDE:
                chances[i] = among[chosen[i]]
            expect(parameters, state, columns, chosen[i])
        if closing > 0.0:
            packed[STALE] = CHANGED
            advance(parameters, state, closing)
        if kind in (UPDATE, ALSO, LEARN, AMEND, FORGET):
            packed[STALE] = CHANGED
            row, age = rows[starts[i]], 0.0
            if kind in (LEARN, AMEND):
                age = state.counters[CLOCK] - numbers[i, ROUND]
            if kind == FORGET:
                forget(parameters, state, row)
            elif kind == AMEND:
                if not amend(parameters, state, row, value, numbers[i, NEW], age):
                    found[0] = 0
                    break
            else:
                if kind == LEARN:
                    late(parameters, state, age)
                learn(parameters, state, row, value, age)
        done += 1
    release(packed)
    return done
