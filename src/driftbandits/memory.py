"""What a policy remembers: the sums of the estimator, and three ways to forget.

One mechanism with three settings. Discounting multiplies every weight by γ a round; a window
keeps the last l rounds; a restart drops all that came before it. Without any of them nothing is
forgotten.

Time is a clock of rounds. ``counters[CLOCK]`` is n, the rounds closed so far; an observation of
round s has age n − s and weight γ^age. A late observation enters at the weight that it would have
by now, so the order of arrival does not matter.
"""

from __future__ import annotations

import numpy as np

from ._compile import kernel
from .arrays import Array
from .estimator import accumulate, discount
from .linalg import copy, fill, fill_matrix

# Positions in ``counters``. CLOCK comes first in the state of every policy.
CLOCK = 0  # n, rounds closed
STEPS = 1  # changes of the state so far, what an anytime bound has to cover
WEIGHT_SQUARES = 2  # Σ w² over what is remembered
STALE = 3  # 1 where the factorisation is older than the sums
RADIUS = 4  # of the last factorisation
FIRST = 5  # row of ``history`` with the oldest observation
STORED = 6  # observations in ``history``
WITHDRAWN = 7  # observations taken out since the sums were last made afresh
RESTARTS_DONE = 8
LAST_RESTART = 9  # rounds before this one are forgotten
COUNTERS = 10


@kernel
def pass_time(
    gamma: float,
    window: float,
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    history: Array,
    restarts: Array,
    rounds: float,
) -> None:
    """Close ``rounds`` rounds: discount, let the window move on, restart where it is due."""
    counters[CLOCK] += rounds
    counters[STEPS] += 1.0
    counters[STALE] = 1.0
    if gamma < 1.0:
        factor = gamma**rounds
        discount(gram, gram_squared, moment, factor)
        counters[WEIGHT_SQUARES] *= factor * factor
    if window > 0.0:
        _leave_window(window, gram, gram_squared, moment, counters, history)
    _restart_if_due(gram, gram_squared, moment, counters, restarts)


@kernel
def remember(
    gamma: float,
    window: float,
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    history: Array,
    action: Array,
    reward: float,
    age: float,
) -> None:
    """Add an observation made ``age`` rounds ago, as if it had come on time.

    One whose round has left the window, or lies before the last restart, changes nothing.
    """
    # Ages are compared, not rounds: the same subtraction on both sides leaves no rounding.
    if (window > 0.0 and age >= window) or age > counters[CLOCK] - counters[LAST_RESTART]:
        return
    weight = gamma**age if age != 0.0 else 1.0
    accumulate(gram, gram_squared, moment, action, reward, weight, weight * weight)
    counters[WEIGHT_SQUARES] += weight * weight
    counters[STALE] = 1.0
    if age > 0.0:
        counters[STEPS] += 1.0
    if window > 0.0:
        _store(counters, history, action, reward, counters[CLOCK] - age)


@kernel
def _store(counters: Array, history: Array, action: Array, reward: float, observed: float) -> None:
    """Insert a row [action, reward, round] into the ring ``history``, which is kept by round."""
    capacity, dim = history.shape[0], action.size
    first = int(counters[FIRST])
    place = int(counters[STORED])
    while place > 0 and history[(first + place - 1) % capacity, dim + 1] > observed:
        copy(history[(first + place - 1) % capacity], history[(first + place) % capacity])
        place -= 1
    row = history[(first + place) % capacity]
    copy(action, row)
    row[dim] = reward
    row[dim + 1] = observed
    counters[STORED] += 1.0


@kernel
def _leave_window(
    window: float,
    gram: Array,
    gram_squared: Array,
    moment: Array,
    counters: Array,
    history: Array,
) -> None:
    """Withdraw observations of rounds n − l and before, and now and then sum up afresh.

    Adding and withdrawing leave rounding behind, which never decays. A fresh sum after as many
    withdrawals as the window holds costs O(d²) a round and bounds it.
    """
    dim = moment.size
    capacity = history.shape[0]
    while counters[STORED] > 0.0:
        row = history[int(counters[FIRST])]
        if row[dim + 1] > counters[CLOCK] - window:
            break
        accumulate(gram, gram_squared, moment, row, row[dim], -1.0, -1.0)
        counters[WEIGHT_SQUARES] -= 1.0
        counters[FIRST] = (counters[FIRST] + 1.0) % capacity
        counters[STORED] -= 1.0
        counters[WITHDRAWN] += 1.0
    if counters[WITHDRAWN] > 0.0 and counters[WITHDRAWN] >= counters[STORED]:
        _sum_afresh(gram, gram_squared, moment, counters, history)


@kernel
def _sum_afresh(
    gram: Array, gram_squared: Array, moment: Array, counters: Array, history: Array
) -> None:
    _clear(gram, gram_squared, moment)
    dim = moment.size
    capacity = history.shape[0]
    first = int(counters[FIRST])
    for place in range(int(counters[STORED])):
        row = history[(first + place) % capacity]
        accumulate(gram, gram_squared, moment, row, row[dim], 1.0, 1.0)
    counters[WITHDRAWN] = 0.0


@kernel
def _restart_if_due(
    gram: Array, gram_squared: Array, moment: Array, counters: Array, restarts: Array
) -> None:
    """Forget all at ``restarts``: the rounds, in order, at which a new start is to be made."""
    opening = counters[CLOCK] + 1.0
    due = int(counters[RESTARTS_DONE])
    while due < restarts.size and restarts[due] <= opening:
        due += 1
    if due > counters[RESTARTS_DONE]:
        _clear(gram, gram_squared, moment)
        counters[WEIGHT_SQUARES] = 0.0
        counters[STORED] = 0.0
        counters[LAST_RESTART] = restarts[due - 1]
        counters[RESTARTS_DONE] = due


@kernel
def _clear(gram: Array, gram_squared: Array, moment: Array) -> None:
    fill_matrix(gram, 0.0)
    fill_matrix(gram_squared, 0.0)
    fill(moment, 0.0)


def make_room(counters: Array, history: Array, *, more: int) -> tuple[Array, Array]:
    """``counters`` and ``history`` with room for ``more`` rows, as new arrays if it grew."""
    stored = int(counters[STORED])
    if stored + more <= len(history):
        return counters, history
    grown = np.zeros((max(2 * len(history), stored + more), history.shape[1]))
    order = (int(counters[FIRST]) + np.arange(stored)) % max(len(history), 1)
    grown[:stored] = history[order]
    moved = counters.copy()
    moved[FIRST] = 0.0
    return moved, grown
