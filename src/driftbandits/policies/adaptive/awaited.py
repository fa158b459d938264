"""Rewards on their way: decisions whose rewards are still to come make their actions better known.

A policy that plays by widths would play the same action until its first reward comes, then the next
one, and so on. So widths are those that V will have when the rewards on their way have come:

    V + P      P = Σ w (a − ā)(a − ā)ᵀ      over the decisions without a reward

Estimates stay those of V. Which decisions still wait is not stored. Instead, w is the probability
of it: after k rounds (D/(1 + D))^k if delays are geometric with mean D, the mean age of recent
rewards. Also, w fades as the weights of the expert in force, since a late reward gets the weight
that its round then has. So P is a sum that fades, and a reward that never comes leaves it too.

A choice becomes a decision when its round closes. From then on it is awaited, with w = 1 until the
clock moves again, unless its reward comes at once. So asking again changes nothing.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel
from ...core.linalg import scale
from ...least_squares.forgetting import LARGEST_UNIT
from .bank import mean_square
from .inverses import inverse_in_units
from .state import (
    AWAITED,
    AWAITED_UNIT,
    CHOSEN,
    CLOSED,
    CLOSED_ROUND,
    DELAYS,
    REWARDS_AGED,
    UNIT,
    State,
)

# Rounds. If every round has a decision, hardly any reward is on its way with a shorter mean delay.
SHORTEST_DELAY = 1.0
SAME_ROUND = 1e-9  # rounds differ by less than this, relative to the clock, only by rounding


@lean_kernel
def note_arrival(s: State, age: float, memory: float) -> None:
    """Add the age of a reward to the mean delay D, which has a memory of so many rewards.

    A reward of the decision closed last comes at once, even if the clock has moved by many rounds.
    Neither that decision nor one of the open round is awaited once a reward of its round has come.
    """
    c, kept, delay = s.counters, 1.0 - 1.0 / memory, max(age, 0.0)
    round, least = c[CLOCK] - age, SAME_ROUND * (c[CLOCK] + 1.0)
    if abs(round - c[CLOSED_ROUND]) < least:
        c[CLOSED], delay = 0.0, 0.0
    if abs(round - c[CLOCK] - 1.0) < least:
        c[CHOSEN] = 0.0
    c[DELAYS] = kept * c[DELAYS] + delay
    c[REWARDS_AGED] = kept * c[REWARDS_AGED] + 1.0


@lean_kernel
def waits(s: State) -> bool:
    """Whether rewards come late, as far as is known; true before the first reward."""
    return bool(s.counters[DELAYS] >= SHORTEST_DELAY * s.counters[REWARDS_AGED])


@lean_kernel
def number_awaited(s: State) -> float:
    """Expected number of rewards on their way; 0 while rewards come at once."""
    return float(s.counters[AWAITED] + s.counters[CLOSED]) if waits(s) else 0.0


@lean_kernel
def any_awaited(s: State) -> bool:
    """Whether at least one reward is on its way; then widths come from V + P."""
    return bool(number_awaited(s) >= 1.0)


@lean_kernel
def note_choice(s: State, columns: Array, k: int) -> None:
    """Keep the action in column ``k``, chosen for the open round."""
    for i in range(columns.shape[0]):
        s.chosen[0, i] = columns[i, k]
    s.counters[CHOSEN] = 1.0


@lean_kernel
def _fade(s: State, kept: float) -> None:
    """P ← kept · P: the unit grows, as in `bank.fade`."""
    c = s.counters
    c[AWAITED] *= kept
    if c[AWAITED_UNIT] < LARGEST_UNIT * kept:
        c[AWAITED_UNIT] /= kept
        return
    for i in range(s.awaited.shape[0]):
        scale(s.awaited[i], kept / c[AWAITED_UNIT])
    c[AWAITED_UNIT] = 1.0


@lean_kernel
def await_rewards(s: State, rounds: float, discount: float) -> None:
    """Let P grow by the decision closed before, and fade by ``rounds`` rounds.

    Then the choice for the open round becomes the decision closed last. ``discount`` is that of
    the expert in force.
    """
    c, dim = s.counters, s.chosen.shape[1]
    if c[CLOSED] > 0.0 and waits(s):
        for i in range(dim):
            for j in range(i, dim):
                s.awaited[i, j] += c[AWAITED_UNIT] * s.chosen[1, i] * s.chosen[1, j]
            s.awaited[dim, i] += c[AWAITED_UNIT] * s.chosen[1, i]
        c[AWAITED] += 1.0
    if c[AWAITED] > 0.0 and c[REWARDS_AGED] > 0.0:
        going = c[DELAYS] / (c[DELAYS] + c[REWARDS_AGED]) if waits(s) else 0.0
        _fade(s, (discount * going) ** rounds)
    for i in range(dim):
        s.chosen[1, i] = s.chosen[0, i]
    c[CLOSED], c[CHOSEN], c[CLOSED_ROUND] = c[CHOSEN], 0.0, c[CLOCK] + 1.0


@lean_kernel
def square_awaited(s: State, i: int, j: int) -> float:
    """Σ w a_i a_j over the decisions without a reward, for i ≤ j."""
    c = s.counters
    return float(s.awaited[i, j] / c[AWAITED_UNIT] + c[CLOSED] * s.chosen[1, i] * s.chosen[1, j])


@lean_kernel
def sum_awaited(s: State, i: int) -> float:
    """Σ w a_i over the decisions without a reward."""
    c, sums = s.counters, s.awaited[s.chosen.shape[1]]
    return float(sums[i] / c[AWAITED_UNIT] + c[CLOSED] * s.chosen[1, i])


@rare_kernel
def look_ahead(s: State, e: int, centre: Array, variance: float) -> None:
    """Write the inverse of V + P to ``ahead``, for expert ``e`` and the ``centre`` ā of its bank.

    ``variance`` is `prior_variance`: Λ is in place. As in `invert`, the factor is in units of the
    features' scales. If the actions on their way are longer, these set the scale: else Λ would be
    lost by rounding. Features that have not been seen with a reward have no scale.
    """
    dim, scales, unit, count = s.factor.shape[0], s.images[e], s.facts[e, UNIT], number_awaited(s)
    for i in range(dim):
        across = max(mean_square(s, i), square_awaited(s, i, i) / count)
        scales[i] = np.sqrt(variance / across) if s.features[1, i] > 0.0 else 0.0
    for i in range(dim):
        row, shift = s.factor[i], sum_awaited(s, i) - count * centre[i]
        for j in range(i, dim):
            entry = square_awaited(s, i, j) - centre[i] * sum_awaited(s, j) - shift * centre[j]
            row[j] = (s.grams[e, 0, i, j] + unit * entry) * (scales[i] * scales[j])
    inverse_in_units(s, unit, scales, s.ahead)
