"""What a policy remembers: the sums of the estimator, and three ways to forget.

One mechanism with three settings. Discounting multiplies every weight by γ a round; a window
keeps the last l rounds; a restart drops all that came before it. Without any of them nothing is
forgotten.

Time is a clock of rounds (`driftbandits.core.clock`): an observation of round s has age n − s and
weight γ^age. A late observation enters at the weight that it would have by now, so the order of
arrival does not matter.

Weights are stored in a unit: w = γ^age as γ^age · unit, and a round that passes divides the unit
by γ instead of multiplying all sums by γ. The estimator does not depend on the unit (scale
invariance, Section 2 of the paper), nothing is rounded for it, and a passing round costs nothing.

The Cholesky factor of V follows the sums by rank-one changes where that pays. λI is of full rank,
so under discounting the factor can follow only while λ fades with the rest: in the stored unit,
while it stays as it is. It is restored every ``restore`` rounds; 1 keeps it in place, as
Algorithm 1 does.

The functions take the parameters ``p`` and the state ``s`` of
`driftbandits.policies.weighted.family`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.clock import CLOCK
from ..core.compiling import lean_kernel
from ..core.linalg import clear, clear_matrix, copy, update_factor
from .sums import accumulate, shrink

# Positions in ``counters``, after CLOCK.
STEPS = 1  # changes of the state so far, what an anytime bound has to cover
UNIT = 2  # what a weight of one is stored as
WEIGHT_SQUARES = 3  # Σ w² over what is remembered, in units squared
RADIUS = 4  # β when the estimate was last made
FIRST = 5  # row of ``history`` with the oldest observation
STORED = 6  # observations in ``history``; those out of order are in ``belated``
WITHDRAWN = 7  # observations taken out since the sums were last made afresh
RESTARTS_DONE = 8
LAST_RESTART = 9  # rounds before this one are forgotten
RIDGE = 10  # λ in force, in units
MU = 11  # μ in force, in units squared
RESTORED = 12  # the clock when λ was last put in place
FACTOR_AGE = 13  # rank-one changes of the factor since it was made; −1 where it has to be made
COUNTERS = 14

# Share of λ below which it is restored before its time.
FADED = 1e-2

# The squares of what is stored stay far from overflow.
LARGEST_UNIT = 2.0**256

# Sums are exact to 2⁻¹⁰⁶ of the largest they have been. What is left of a window's rewards, as a
# share of that, may fall to this before they are summed up afresh.
LEAST_LEFT = 2.0**-30


@lean_kernel
def block_length(dim: int, gamma: float, restore: float) -> float:
    """Rounds H that share one mixing law in the block-wise radius.

    Any H > 0 gives a valid radius. A frozen law costs up to 2dH log(1/γ) under the root, about
    half of that on average, and saves 2 log H: best is H = 2/(d log(1/γ)). It is rounded to a
    multiple of the rounds between two restorations of λ, since the law costs nothing there.
    """
    rate = -np.log(gamma)
    between = min(max(restore, 1.0), np.ceil(-np.log(FADED) / rate))
    return float(between * max(1.0, np.rint(2.0 / (dim * rate * between))))


@lean_kernel
def pass_time(p: Any, s: Any, rounds: float) -> None:
    """Close ``rounds`` rounds: discount, let the window move on, restart where it is due."""
    s.counters[CLOCK] += rounds
    s.counters[STEPS] += 1.0
    if p.gamma < 1.0:
        _discount(p, s, rounds)
    if p.window > 0.0:
        _leave_window(p, s)
    if p.period > 0.0 or s.restarts.size > 0:
        _restart_if_due(
            p.period, s.restarts, s.gram, s.gram_squared, s.moment, s.counters, s.belated
        )


@lean_kernel
def is_remembered(p: Any, s: Any, age: float) -> bool:
    """Whether an observation made ``age`` rounds ago is in the window and not before a restart."""
    # Ages are compared, not rounds: the same subtraction on both sides leaves no rounding.
    in_window = p.window == 0.0 or age < p.window
    return bool(in_window and age <= s.counters[CLOCK] - s.counters[LAST_RESTART])


@lean_kernel
def remember(p: Any, s: Any, action: Array, reward: float, age: float) -> None:
    """Add an observation made ``age`` rounds ago, as if it had come on time.

    One whose round has left the window, or lies before the last restart, changes nothing.
    """
    if not is_remembered(p, s, age):
        return
    weight = s.counters[UNIT]
    if age != 0.0:
        weight *= p.gamma**age
    _add(p, s, action, reward, weight)
    if p.window > 0.0:
        observed = s.counters[CLOCK] - age
        _store(s.counters, s.history, s.belated, action, reward, observed)


@lean_kernel
def _add(p: Any, s: Any, action: Array, reward: float, weight: float) -> None:
    """Add to the sums, or for a negative weight take out; the factor follows if it can."""
    squared = weight * abs(weight)
    # Where nothing is discounted, LinUCB and a window that holds all rounds agree to the last bit.
    for_good = p.gamma < 1.0
    accumulate(s.gram, s.gram_squared, s.moment, action, reward, weight, squared, for_good)
    s.counters[WEIGHT_SQUARES] += squared
    if p.follow == 0.0:
        s.counters[FACTOR_AGE] = -1.0
    elif s.counters[FACTOR_AGE] >= 0.0:
        _follow(s.counters, s.factor, s.theta, action, weight)


@lean_kernel
def _follow(counters: Array, factor: Array, theta: Array, action: Array, weight: float) -> None:
    """Change the factor as the sums have changed."""
    # θ̂ is out of date from here on, so that its place can hold the vector of the change.
    for i in range(theta.size):
        theta[i] = action[i]
    kept = update_factor(factor, theta, weight, 0.5 * counters[RIDGE])
    counters[FACTOR_AGE] = counters[FACTOR_AGE] + 1.0 if kept else -1.0


@lean_kernel
def _discount(p: Any, s: Any, rounds: float) -> None:
    """Let the unit grow, bring it back where it is too large, and restore λ when that is due."""
    # One round at a time is what nearly every call asks for; a power costs as much as all the rest.
    unit = s.counters[UNIT] / (p.gamma if rounds == 1.0 else p.gamma**rounds)
    if not unit < LARGEST_UNIT:
        factor = p.gamma**rounds / s.counters[UNIT]
        shrink(s.gram, s.gram_squared, s.moment, factor)
        s.counters[WEIGHT_SQUARES] *= factor * factor
        s.counters[RIDGE] *= factor
        s.counters[MU] *= factor * factor
        s.counters[FACTOR_AGE] = -1.0
        unit = 1.0
    s.counters[UNIT] = unit
    due = p.restore <= 1.0 or s.counters[CLOCK] - s.counters[RESTORED] >= p.restore
    # λ that has faded too far could not be told from rounding.
    if due or s.counters[RIDGE] < FADED * p.ridge * unit:
        s.counters[RIDGE] = p.ridge * unit
        s.counters[MU] = p.mu * unit * unit
        s.counters[RESTORED] = s.counters[CLOCK]
        s.counters[FACTOR_AGE] = -1.0


@lean_kernel
def wrapped(place: int, capacity: int) -> int:
    """Where a place below 2 · ``capacity`` is in a ring: a remainder without a slow division."""
    return place - capacity if place >= capacity else place


@lean_kernel
def _store(
    counters: Array, history: Array, belated: Array, action: Array, reward: float, observed: float
) -> None:
    """Keep a row [action, reward, round] until its round leaves the window.

    In order of rounds, rows go to the ring ``history``, at O(d). Others go to the heap ``belated``,
    at O(d log n); its row 0 holds their number, and row 1 the earliest. Row 0 also has Σ|r| over
    all rows of both, where a row has its reward, and the largest that this sum has been since the
    rows were last summed up, where a row has its round.
    """
    count_reward(belated, abs(reward))
    capacity, dim = history.shape[0], action.size
    first, stored = int(counters[FIRST]), int(counters[STORED])
    if stored == 0 or history[wrapped(first + stored - 1, capacity), dim + 1] <= observed:
        row = history[wrapped(first + stored, capacity)]
        counters[STORED] += 1.0
    else:
        place = int(belated[0, 0]) + 1
        while place > 1 and belated[place // 2, dim + 1] > observed:
            copy(belated[place // 2], belated[place])
            place //= 2
        row = belated[place]
        belated[0, 0] += 1.0
    copy(action, row)
    row[dim] = reward
    row[dim + 1] = observed


@lean_kernel
def count_reward(belated: Array, size: float) -> None:
    """Add ``size`` to the Σ|r| of a window, and note the largest that it has been."""
    head, place = belated[0], belated.shape[1] - 2
    head[place] += size
    head[place + 1] = max(head[place + 1], head[place])


@lean_kernel
def has_room(s: Any) -> bool:
    """Whether one more row can be kept, in order or late."""
    late = s.belated[0, 0] + 1.0
    return bool(s.counters[STORED] < s.history.shape[0] and late < s.belated.shape[0])


@lean_kernel
def _drop_earliest(belated: Array) -> None:
    """Remove row 1 from the heap."""
    count, observed = int(belated[0, 0]), belated.shape[1] - 1
    last, place, child = belated[count], 1, 2
    while child < count:
        if child + 1 < count and belated[child + 1, observed] < belated[child, observed]:
            child += 1
        if belated[child, observed] >= last[observed]:
            break
        copy(belated[child], belated[place])
        place, child = child, 2 * child
    copy(last, belated[place])
    belated[0, 0] -= 1.0


@lean_kernel
def _leave_window(p: Any, s: Any) -> None:
    """Withdraw observations of rounds n − l and before, and now and then sum up afresh.

    A large value that comes and goes leaves rounding behind, which never decays. A fresh sum after
    four times as many withdrawals as the window holds costs O(d²) a round and bounds it. So does
    one when a reward has left that was far larger than all that remain: there is at most one such
    in a window.
    """
    dim = s.moment.shape[1]
    capacity = s.history.shape[0]
    last = s.counters[CLOCK] - p.window
    while True:
        row = s.history[int(s.counters[FIRST])]
        in_order = s.counters[STORED] > 0.0 and row[dim + 1] <= last
        if not in_order:
            if s.belated[0, 0] == 0.0 or s.belated[1, dim + 1] > last:
                break
            row = s.belated[1]
        _add(p, s, row, row[dim], -1.0)
        count_reward(s.belated, -abs(row[dim]))
        if in_order:
            s.counters[FIRST] = wrapped(int(s.counters[FIRST]) + 1, capacity)
            s.counters[STORED] -= 1.0
        else:
            _drop_earliest(s.belated)
        s.counters[WITHDRAWN] += 1.0
    overdue = s.counters[WITHDRAWN] > 4.0 * (s.counters[STORED] + s.belated[0, 0])
    if overdue or s.belated[0, dim] < LEAST_LEFT * s.belated[0, dim + 1]:
        _sum_afresh(s.gram, s.gram_squared, s.moment, s.counters, s.history, s.belated)


@lean_kernel
def _sum_afresh(
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    history: Array,
    belated: Array,
) -> None:
    _clear(gram, gram_squared, moment)
    dim = moment.shape[1]
    capacity = history.shape[0]
    first, stored = int(counters[FIRST]), int(counters[STORED])
    belated[0, dim] = belated[0, dim + 1] = 0.0
    for place in range(stored + int(belated[0, 0])):
        in_order = place < stored
        row = history[wrapped(first + place, capacity)] if in_order else belated[place - stored + 1]
        count_reward(belated, abs(row[dim]))
        accumulate(gram, gram_squared, moment, row, row[dim], 1.0, 1.0, False)
    counters[WITHDRAWN] = 0.0


@lean_kernel
def _restart_if_due(
    period: float,
    restarts: Array,
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    belated: Array,
) -> None:
    """Forget all at the rounds of ``restarts``, in order, and after each ``period``, if any."""
    opening = counters[CLOCK] + 1.0
    due = int(counters[RESTARTS_DONE])
    while due < restarts.size and restarts[due] <= opening:
        due += 1
    if due > counters[RESTARTS_DONE]:
        start_afresh(gram, gram_squared, moment, counters, belated, restarts[due - 1])
        counters[RESTARTS_DONE] = due
    if period > 0.0:
        first = 1.0 + period * np.floor(counters[CLOCK] / period)
        # Before round 1 there is nothing to forget.
        if first > max(counters[LAST_RESTART], 1.0):
            start_afresh(gram, gram_squared, moment, counters, belated, first)


@lean_kernel
def start_afresh(
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    belated: Array,
    first: float,
) -> None:
    """Forget all, and from now on every observation of a round before ``first``."""
    _clear(gram, gram_squared, moment)
    counters[WEIGHT_SQUARES] = 0.0
    counters[STORED] = 0.0
    if belated.shape[0] > 0:
        clear(belated[0])
    counters[WITHDRAWN] = 0.0
    counters[LAST_RESTART] = first
    counters[FACTOR_AGE] = -1.0


@lean_kernel
def _clear(gram: Array, gram_squared: Array, moment: Array) -> None:
    for part in range(2):
        clear_matrix(gram[part])
        clear_matrix(gram_squared[part])
    clear_matrix(moment)


def all_rows(counters: Array, history: Array, belated: Array) -> Array:
    """The rows that are stored: those in order, and then those that came late."""
    late = int(belated[0, 0]) if len(belated) > 0 else 0
    return np.concatenate([_ordered_rows(counters, history), belated[1 : 1 + late]])


def _ordered_rows(counters: Array, history: Array) -> Array:
    """The rows of the ring, oldest first."""
    order = (int(counters[FIRST]) + np.arange(int(counters[STORED]))) % max(len(history), 1)
    return np.asarray(history[order])


def longer_history(counters: Array, history: Array) -> tuple[Array, Array]:
    """``counters`` and ``history`` as new arrays, with room for as many rows again, and one."""
    rows = _ordered_rows(counters, history)
    grown = np.zeros((max(2 * len(history), len(rows) + 1), history.shape[1]))
    grown[: len(rows)] = rows
    moved = counters.copy()
    moved[FIRST] = 0.0
    return moved, grown
