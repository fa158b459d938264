"""Plays a block of rounds in one compiled call; rewards come at once, or some come late.

Every round does what the calls `select`, `advance` and `update` do, in the same order. So the bits
are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .blocks import AT_ONCE, PLAY
from .calls import REFUSED
from .checks import fitting, panel
from .clock import CLOCK
from .events import Integers
from .exploring import explored
from .packing import CHANGED, STALE, claim, release


def _unbound(*arguments: Any) -> Any:
    """Placeholder that `entry_points` replaces with a policy's kernel."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


unpack = choose = learn = advance = prepare = expect = misses = late = fits = _unbound

# Placeholder: whether rewards may come late. If it is False, numba drops the code for late rewards,
# and the usual case compiles faster.
LATE = True


def play_template(
    packed: Array,
    actions: Array,
    thetas: Array,
    means: Array,
    best: Array,
    noise: Array,
    regret: Array,
    missing: Array,
    kept: Integers,
    steps: Integers,
    waiting: Array,
    start: int,
) -> int:
    """Take the steps of a block from ``start`` on; see `Policy.play` and `Arrivals`.

    If no reward comes late, the steps are the rounds, and ``kept``, ``steps`` and ``waiting`` are
    not read.

    Returns the number of steps taken so far. If that is fewer than all, an array has to grow first,
    and the call keeps its claim on the policy. Returns REFUSED if the shapes do not fit.
    """
    if not fitting(actions, thetas, means, best, noise):
        return REFUSED
    if start == 0:
        claim(packed)
    parameters, state = unpack(packed)
    dim, count = actions.shape[1:]
    scratch = np.empty((dim + 2, panel(dim, count)))
    scores, action = np.empty(count), np.empty(dim)
    packed[STALE] = CHANGED
    done, last, t, row = start, best.size, start, PLAY
    if LATE:
        last, t = steps.size, 0
        for step in range(start):
            if steps[step] == PLAY:
                t += 1
    total = regret[t - 1] if t > 0 else 0.0
    while done < last:
        if LATE:
            row = steps[done]
        if not fits(parameters, state, 1.0 if row == PLAY else 0.0):
            break
        if LATE and row != PLAY:
            for i in range(dim):
                action[i] = waiting[row, i]
            reward, age = waiting[row, dim], state.counters[CLOCK] - waiting[row, dim + 1]
            late(parameters, state, age)
            learn(parameters, state, action, reward, age)
        else:
            prepare(parameters, state)
            if missing.size > 0:
                missing[t] = 1.0 if misses(parameters, state, thetas[t]) else 0.0
            columns = actions[min(t, actions.shape[0] - 1)]
            k = explored(packed, choose(parameters, state, columns, scratch, scores), count)
            total += best[t] - means[t, k]
            regret[t] = total
            for i in range(dim):
                action[i] = columns[i, k]
            reward = means[t, k] + noise[t, min(k, noise.shape[1] - 1)]
            expect(parameters, state, columns, k)
            advance(parameters, state, 1.0)
            if LATE and kept[t] != AT_ONCE:
                if kept[t] >= 0:
                    for i in range(dim):
                        waiting[kept[t], i] = action[i]
                    waiting[kept[t], dim] = reward
                    waiting[kept[t], dim + 1] = state.counters[CLOCK]
            else:
                learn(parameters, state, action, reward, 0.0)
            t += 1
        done += 1
    if not 0 < done < last:
        release(packed)
    return done
