"""What a policy remembers: the sums of the estimator, and three ways to forget.

It is one mechanism with three settings. Discounting multiplies every weight by γ per round. A
window keeps the last l rounds. A restart drops everything before it. Without any of them nothing is
forgotten.

Time is a clock of rounds (`driftbandits.core.clock`): an observation of round s has age n − s and
weight γ^age. A late observation enters with the weight that it would have now, so the order of
arrival does not matter.

Weights are stored in a unit: w = γ^age is stored as γ^age · unit. When a round passes, the unit is
divided by γ, instead of multiplying all sums by γ. The estimator does not depend on the unit (scale
invariance, Section 2 of the paper). No sum is rounded, and a passing round costs nothing.

Where that pays, rank-one changes keep the Cholesky factor of V up to date. λI has full rank. So
under discounting the factor can follow only while λ fades with the sums: stored in units, λ then
does not change. λ is restored every ``restore`` rounds; 1 keeps it in place, as Algorithm 1 does.

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
STEPS = 1  # changes of the state so far; an anytime bound has to cover them
UNIT = 2  # a weight of one is stored as this number
WEIGHT_SQUARES = 3  # Σ w² over all remembered observations, in units squared
RADIUS = 4  # β when the estimate was last computed
FIRST = 5  # row of ``history`` with the oldest observation
STORED = 6  # observations in ``history``; observations out of order are in ``belated``
WITHDRAWN = 7  # observations taken out since the last fresh summation
RESTARTS_DONE = 8
LAST_RESTART = 9  # rounds before this one are forgotten
RIDGE = 10  # λ in force, in units
MU = 11  # μ in force, in units squared
RESTORED = 12  # the clock when λ was last restored
FACTOR_AGE = 13  # rank-one changes since the factor was computed; see `serves`
COUNTERS = 14

# If λ fades below this share of its value, it is restored early.
FADED = 1e-2

# Up to this unit, the squares of stored numbers stay far from overflow.
LARGEST_UNIT = 2.0**256

# A sum is exact to 2⁻¹⁰⁶ of the largest value that it has had. If a window's Σ|r| falls below this
# share of its largest value, all rows are summed afresh.
LEAST_LEFT = 2.0**-30


@lean_kernel
def block_length(dim: int, gamma: float, restore: float) -> float:
    """Rounds H that share one mixing law in the block-wise radius.

    Any H > 0 gives a valid radius. A frozen law costs up to 2dH log(1/γ) under the root, about
    half of that on average, and saves 2 log H. So H = 2/(d log(1/γ)) is best. It is rounded to a
    multiple of the rounds between two restorations of λ, since the law costs nothing there.
    """
    rate = -np.log(gamma)
    between = min(max(restore, 1.0), np.ceil(-np.log(FADED) / rate))
    return float(between * max(1.0, np.rint(2.0 / (dim * rate * between))))


@lean_kernel
def serves(age: float, dim: int) -> bool:
    """Whether decisions can use a factor of this age; if not, it must be computed.

    Rank-one changes leave rounding behind. A new factor after about d of them bounds the rounding
    and costs no more than they do. Age −1: there is no factor. Age −2 − n: a factor that was
    computed for a property and has changed n times since. Later readings use it; decisions do not.
    """
    return 0.0 <= age < 32.0 + dim


@lean_kernel
def other_age(age: float) -> float:
    """Convert the age of a factor between decisions (n) and properties (−2 − n)."""
    return -2.0 - age


@lean_kernel
def pass_time(p: Any, s: Any, rounds: float) -> None:
    """Close ``rounds`` rounds: discount, move the window on, restart if that is due."""
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
    # Compare ages, not rounds: both sides subtract in the same way, so rounding cannot differ.
    in_window = p.window == 0.0 or age < p.window
    return bool(in_window and age <= s.counters[CLOCK] - s.counters[LAST_RESTART])


@lean_kernel
def remember(p: Any, s: Any, action: Array, reward: float, age: float) -> None:
    """Add an observation made ``age`` rounds ago, as if it had come on time.

    If its round has left the window, or lies before the last restart, nothing changes.
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
    """Add an observation to the sums, or take it out if the weight is negative.

    The factor follows if it can.
    """
    squared = weight * abs(weight)
    # Without discounting, LinUCB must agree to the last bit with a window that holds all rounds,
    # so both use the sums from which observations can be taken out.
    for_good = p.gamma < 1.0
    accumulate(s.gram, s.gram_squared, s.moment, action, reward, weight, squared, for_good)
    s.counters[WEIGHT_SQUARES] += squared
    if p.follow == 0.0:
        s.counters[FACTOR_AGE] = -1.0
    elif s.counters[FACTOR_AGE] != -1.0:
        _follow(s.counters, s.factor, s.theta, action, weight)


@lean_kernel
def _follow(counters: Array, factor: Array, theta: Array, action: Array, weight: float) -> None:
    """Apply the same rank-one change to the factor as to the sums."""
    # θ̂ is out of date now, so its array can hold the vector of the change.
    for i in range(theta.size):
        theta[i] = action[i]
    kept = update_factor(factor, theta, weight, 0.5 * counters[RIDGE])
    age = counters[FACTOR_AGE]
    older = age + 1.0 if age >= 0.0 else age - 1.0
    kept = kept and (serves(older, theta.size) or serves(other_age(older), theta.size))
    counters[FACTOR_AGE] = older if kept else -1.0


@lean_kernel
def _discount(p: Any, s: Any, rounds: float) -> None:
    """Let the unit grow, reset it to 1 if it is too large, and restore λ when that is due."""
    # Nearly every call closes one round; a power would cost as much as all the rest.
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
    # If λ fades too far, it disappears in rounding errors.
    if due or s.counters[RIDGE] < FADED * p.ridge * unit:
        s.counters[RIDGE] = p.ridge * unit
        s.counters[MU] = p.mu * unit * unit
        s.counters[RESTORED] = s.counters[CLOCK]
        s.counters[FACTOR_AGE] = -1.0


@lean_kernel
def wrapped(place: int, capacity: int) -> int:
    """``place`` modulo ``capacity``, for places below 2 · ``capacity``, without a slow division."""
    return place - capacity if place >= capacity else place


@lean_kernel
def _store(
    counters: Array, history: Array, belated: Array, action: Array, reward: float, observed: float
) -> None:
    """Keep a row [action, reward, round] until its round leaves the window.

    A row in the order of rounds goes to the ring ``history``: O(d). Any other row goes to the heap
    ``belated``: O(d log n). Row 1 of the heap is the earliest. Row 0 is a header: its first entry
    is the number of rows in the heap. Its entry for the reward is Σ|r| over all rows of ring and
    heap. Its entry for the round is the largest Σ|r| since the last fresh summation.
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
    """Add ``size`` to the Σ|r| of a window, and update the largest value that Σ|r| has had."""
    head, place = belated[0], belated.shape[1] - 2
    head[place] += size
    head[place + 1] = max(head[place + 1], head[place])


@lean_kernel
def has_room(s: Any) -> bool:
    """Whether there is room for one more row, in order or late."""
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
    """Withdraw observations of rounds n − l and before, and now and then sum afresh.

    A large value that comes and goes leaves a rounding error behind, which never decays. Two fresh
    summations bound it. One is due after more than four times as many withdrawals as the window
    holds observations: O(d²) per round. The other is due when a reward has left that was far larger
    than all that remain: at most one in a window.
    """
    dim = s.moment.shape[1]
    capacity = s.history.shape[0]
    clock = s.counters[CLOCK]
    while True:
        row = s.history[int(s.counters[FIRST])]
        # Compare ages, as `is_remembered` does.
        in_order = s.counters[STORED] > 0.0 and clock - row[dim + 1] >= p.window
        if not in_order:
            if s.belated[0, 0] == 0.0 or clock - s.belated[1, dim + 1] < p.window:
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
    """Forget everything at the rounds ``restarts`` (increasing), and after each ``period`` > 0."""
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
    """Forget everything; from now on, ignore observations of rounds before ``first``."""
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
    """All stored rows: first the rows in order, then the rows that came late."""
    late = int(belated[0, 0]) if len(belated) > 0 else 0
    return np.concatenate([_ordered_rows(counters, history), belated[1 : 1 + late]])


def _ordered_rows(counters: Array, history: Array) -> Array:
    """The rows of the ring, oldest first."""
    order = (int(counters[FIRST]) + np.arange(int(counters[STORED]))) % max(len(history), 1)
    return np.asarray(history[order])


def longer_history(counters: Array, history: Array) -> tuple[Array, Array]:
    """``counters`` and ``history`` as new arrays, with twice the room, and one row at least."""
    rows = _ordered_rows(counters, history)
    grown = np.zeros((max(2 * len(history), len(rows) + 1), history.shape[1]))
    grown[: len(rows)] = rows
    moved = counters.copy()
    moved[FIRST] = 0.0
    return moved, grown
