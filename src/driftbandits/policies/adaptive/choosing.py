"""How actions are scored: which expert decides, its estimates, and its widths.

The expert in force decides. In an audit, an expert of shorter memory decides, with smaller widths,
if it would play an action that it hardly knows.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.compiling import entry_point, lean_kernel, precise_kernel, row_kernel
from ...core.elementary import log
from ...core.linalg import argmax, clear, column_quadratic, scale, subtract
from .audits import audit_place, auditor
from .awaited import any_awaited, look_ahead, square_awaited
from .bank import features_per_action, is_zero, prior_variance
from .learning import Parameters
from .level import level_of
from .plane import squares_in_plane
from .state import ANCHORED, PRECISION, REMEMBERED, UNIT, VARIANCE, State
from .weights import bank_in_force, in_force

UNUSUAL = 4.0  # an action is little known above this many times the usual squared width
LEAST_PRECISION = 1e-3  # least κ in widths; κ starts at 0, when the level is not known at all


@lean_kernel
def level_precision(s: State, bank: int) -> float:
    """κ for widths; infinite in the centred bank, which needs no level."""
    return max(LEAST_PRECISION, s.counters[PRECISION]) if bank == ANCHORED else np.inf


@row_kernel
def _shift(column: Array, by: float, slope: float, out: Array, leverage: Array) -> None:
    """out ← column − by; leverage ← leverage − slope · column."""
    for k in range(column.size):
        out[k] = column[k] - by
        leverage[k] -= slope * column[k]


@row_kernel
def _add_level(squares: Array, unit: float, leverage: Array, variance: float) -> None:
    """squares ← unit · squares + variance · leverage²."""
    for k in range(squares.size):
        squares[k] = max(squares[k], 0.0) * unit + leverage[k] * leverage[k] * variance


@lean_kernel
def _squares_by_panels(
    inverse: Array,
    unit: float,
    centre: Array,
    slope: Array,
    variance: float,
    columns: Array,
    scratch: Array,
    out: Array,
) -> None:
    """`squares_from` without new coordinates, for as many columns at a time as fit in the cache."""
    width = scratch.shape[1]
    for start in range(0, out.size, width):
        squares = out[start : start + width]
        leverage = scratch[1, : squares.size]
        for k in range(leverage.size):
            leverage[k] = 1.0
        for i in range(columns.shape[0]):
            column = columns[i, start : start + squares.size]
            _shift(column, centre[i], slope[i], scratch[2 + i], leverage)
        column_quadratic(inverse, 0.0, scratch[2:], squares)
        _add_level(squares, unit, leverage, variance)


@lean_kernel
def excess_factor(s: State, x: int, c: float) -> float:
    """n/(4c): a squared width w² of expert ``x`` is unusual if this factor times w² exceeds 1.

    Over n rounds, the mean of w² over the played actions is about c/n. If actions are new in every
    round, hardly any w² is four times as large.
    """
    return float(s.facts[x, REMEMBERED] / (UNUSUAL * c))


@row_kernel
def _add_squares(column: Array, factor: float, out: Array) -> None:
    """out ← out + factor · column²."""
    for k in range(out.size):
        out[k] += factor * (column[k] * column[k])


@lean_kernel
def lengths_of(features: Array, usual: float, columns: Array, out: Array) -> None:
    """|a|² = (Σ_i a_i²/s_i)/k̄ for all columns (d, K): squared lengths relative to played actions.

    s_i is the mean square of feature i. ``features`` are those of the state, and ``usual`` is k̄. A
    new coordinate has no scale s_i yet: it adds 1/k̄ if it is not zero.
    """
    clear(out)
    for i in range(columns.shape[0]):
        if features[1, i] > 0.0:
            _add_squares(columns[i], features[1, i] / (features[0, i] * usual), out)
            continue
        for k in range(out.size):
            out[k] += 0.0 if is_zero(columns[i, k]) else 1.0 / usual


@precise_kernel
def _largest(values: Array) -> float:
    """The largest value, or 0 if all are negative; found as the largest of four lanes."""
    most0 = most1 = most2 = most3 = 0.0
    fours = values.size // 4 * 4
    for k in range(0, fours, 4):
        most0 = values[k] if values[k] > most0 else most0
        most1 = values[k + 1] if values[k + 1] > most1 else most1
        most2 = values[k + 2] if values[k + 2] > most2 else most2
        most3 = values[k + 3] if values[k + 3] > most3 else most3
    for k in range(fours, values.size):
        most0 = max(most0, values[k])
    return max(max(most0, most1), max(most2, most3))


@precise_kernel
def _roots(squares: Array) -> None:
    for k in range(squares.size):
        squares[k] = np.sqrt(squares[k])


@precise_kernel
def _widen(squares: Array, lengths: Array, factor: float, curiosity: float) -> None:
    for k in range(squares.size):
        unusual = log(max(1.0, factor * squares[k] / max(1.0, lengths[k])))
        squares[k] = np.sqrt(squares[k] * (1.0 + curiosity * unusual))


@lean_kernel
def reward_curiosity(
    p: Parameters, s: State, x: int, columns: Array, scratch: Array, squares: Array
) -> None:
    """Replace w² by w √(1 + β log⁺(n w²/(4c |a|²))), |a| ≥ 1: wider if expert ``x`` knows less.

    An arm that was dropped early gets wider as n grows, and so does a new arm (as in MOSS;
    Audibert, Bubeck, 2009). An action that is twice as long is twice as wide, even if its
    direction is well known. Does not use the first row of ``scratch``.
    """
    factor, usual, width = (
        excess_factor(s, x, p.coordinates),
        features_per_action(s),
        scratch.shape[1],
    )
    for start in range(0, squares.size, width):
        part = squares[start : start + width]
        if factor * _largest(part) <= 1.0:  # nothing is unusual, whatever the lengths
            _roots(part)
            continue
        lengths = scratch[1, : part.size]
        lengths_of(s.features, usual, columns[:, start : start + part.size], lengths)
        _widen(part, lengths, factor, p.curiosity)


@lean_kernel
def add_estimates(s: State, x: int, columns: Array, out: Array) -> None:
    """Add aᵀθ_x to ``out`` (K,) for all columns (d, K)."""
    level = level_of(s, x % 2)
    for i in range(columns.shape[0]):
        theta = s.thetas[x, i] - level * s.slopes[x, i]
        subtract(out, -theta, columns[i])


@lean_kernel
def unknown_square(s: State, i: int, entry: float, variance: float) -> float:
    """What a coordinate that was zero in all actions so far adds to a squared width.

    Its scale is that of the ``entry``; so it adds `prior_variance`, or less if rewards of actions
    that are not zero there are on their way.
    """
    if is_zero(entry):
        return 0.0
    if not any_awaited(s):
        return variance
    return variance / (1.0 + variance * square_awaited(s, i, i) / (entry * entry))


@lean_kernel
def squares_from(
    p: Parameters,
    s: State,
    x: int,
    centre: Array,
    precision: float,
    columns: Array,
    scratch: Array,
    out: Array,
) -> None:
    """Squared widths of all columns (d, K) relative to ``centre``, by expert ``x``.

    (a − ā)ᵀV⁻¹(a − ā) + u²/κ, with u = 1 − aᵀV⁻¹Σwx and κ = ``precision``. A coordinate that was
    zero in all actions so far has zeros in V⁻¹: it adds `unknown_square`. If rewards are on their
    way, V is the one of `look_ahead`, which must have been called.
    """
    inverse = s.ahead if any_awaited(s) else s.inverses[x]
    unit, slope, variance = s.facts[x, UNIT], s.slopes[x], 1.0 / precision
    if columns.shape[0] == 2:
        squares_in_plane(inverse, unit, centre, slope, variance, columns, out)
    else:
        _squares_by_panels(inverse, unit, centre, slope, variance, columns, scratch, out)
    for i in range(centre.size):
        if s.features[1, i] == 0.0:
            new = prior_variance(s, p.ridge)
            for k in range(out.size):
                out[k] += unknown_square(s, i, columns[i, k] - centre[i], new)


@lean_kernel
def widths_of(p: Parameters, s: State, x: int, columns: Array, scratch: Array, out: Array) -> None:
    """out ← w(a) for all columns (d, K), by expert ``x``; w includes curiosity."""
    bank = x % 2
    if any_awaited(s):
        look_ahead(s, x, s.centres[bank], prior_variance(s, p.ridge))
    squares_from(p, s, x, s.centres[bank], level_precision(s, bank), columns, scratch, out)
    reward_curiosity(p, s, x, columns, scratch, out)


@lean_kernel
def upper_bounds(
    p: Parameters, s: State, x: int, radius: float, columns: Array, scratch: Array, scores: Array
) -> None:
    """scores ← aᵀθ_x + radius · w(a) for all columns (d, K)."""
    widths_of(p, s, x, columns, scratch, scores)
    scale(scores, radius)
    add_estimates(s, x, columns, scores)


@lean_kernel
def square_of(p: Parameters, s: State, x: int, columns: Array, k: int) -> float:
    """The squared width of column ``k`` by expert ``x``; `squares_from` has the formula.

    `squares_from` takes contiguous columns. For one column of many, it would be compiled once more.
    """
    bank, new = x % 2, prior_variance(s, p.ridge)
    inverse = s.ahead if any_awaited(s) else s.inverses[x]
    centre, square, leverage, unknown = s.centres[bank], 0.0, 1.0, 0.0
    for i in range(columns.shape[0]):
        image, away = 0.0, columns[i, k] - centre[i]
        for j in range(columns.shape[0]):
            image += inverse[i, j] * (columns[j, k] - centre[j])
        square += image * away
        leverage -= s.slopes[x, i] * columns[i, k]
        if s.features[1, i] == 0.0:
            unknown += unknown_square(s, i, away, new)
    known = max(square, 0.0) * s.facts[x, UNIT]
    return float(known + leverage * leverage / level_precision(s, bank) + unknown)


@lean_kernel
def little_known(p: Parameters, s: State, x: int, columns: Array, k: int, length: Array) -> bool:
    """Whether expert ``x`` knows column ``k`` much less than the played actions.

    ``length`` (1,) is overwritten.
    """
    lengths_of(s.features, features_per_action(s), columns[:, k : k + 1], length)
    excess = excess_factor(s, x, p.coordinates) * square_of(p, s, x, columns, k)
    return bool(excess > max(1.0, length[0]))


@lean_kernel
def optimistic(
    p: Parameters, s: State, columns: Array, scratch: Array, scores: Array
) -> tuple[int, float]:
    """Write upper bounds of all columns by the expert that decides; returns its row and radius.

    The expert in force decides. In an audit, an expert of shorter memory decides if it would play
    an action that it hardly knows. Otherwise there is nothing to find out.
    """
    bank = bank_in_force(s)
    x, radius = in_force(s, bank, p.share), p.exploration * np.sqrt(s.counters[VARIANCE])
    place = audit_place(s, p.audit_every)
    if place < 1.0:
        shorter, narrow = auditor(s, p.coordinates, bank, place), p.audit_radius * radius
        if shorter < x:
            upper_bounds(p, s, shorter, narrow, columns, scratch, scores)
            best = argmax(scores)
            if little_known(p, s, shorter, columns, best, scratch[0, :1]):
                return shorter, narrow
    upper_bounds(p, s, x, radius, columns, scratch, scores)
    return x, radius


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action with the largest upper bound."""
    optimistic(p, s, columns, scratch, scores)
    return argmax(scores)


widths_entry = entry_point(widths_of, "adaptive")
