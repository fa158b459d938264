"""How actions are scored: who decides, what it estimates, and how wide it is unsure.

The expert in force decides. In an audit, one of shorter memory does, with smaller widths, if it
would play what it hardly knows.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.compiling import entry_point, lean_kernel
from ...core.linalg import argmax, clear
from .audits import audit_place, auditor
from .bank import is_zero, prior_variance
from .learning import Parameters
from .level import level_of
from .state import ANCHORED, PRECISION, REMEMBERED, UNIT, VARIANCE, State
from .weights import bank_in_force, in_force

UNUSUAL = 4.0  # squared widths, in units of what is usual, from which an action is little known
LEAST_PRECISION = 1e-3  # of the level in widths: before two rewards it is not known at all


@lean_kernel
def level_precision(s: State, bank: int) -> float:
    """κ as widths need it; the centred bank knows no level, and needs none."""
    return max(LEAST_PRECISION, s.counters[PRECISION]) if bank == ANCHORED else np.inf


@lean_kernel
def spread_out(
    inverse: Array,
    unit: float,
    present: Array,
    centre: Array,
    slope: Array,
    precision: float,
    new: float,
    columns: Array,
    scratch: Array,
    out: Array,
) -> None:
    """‖a − ā‖ in V⁻¹ = ``unit · inverse``, with the level's uncertainty, for all columns (d, K).

    √( (a − ā)ᵀV⁻¹(a − ā) + u²/κ ), u = 1 − aᵀV⁻¹Σwx. A coordinate that no action has had so far
    adds ``new``.
    """
    dim, width = columns.shape[0], scratch.shape[1]
    for start in range(0, out.size, width):
        count = min(width, out.size - start)
        squares, leverage = out[start : start + count], scratch[1, :count]
        clear(squares)
        for k in range(count):
            leverage[k] = 1.0
        for i in range(dim):
            row, column = scratch[2 + i, :count], columns[i, start : start + count]
            for k in range(count):
                row[k] = column[k] - centre[i]
            if present[i] == 0.0:
                for k in range(count):
                    squares[k] += 0.0 if is_zero(row[k]) else new / unit
                continue
            for k in range(count):
                leverage[k] -= slope[i] * column[k]
            for j in range(i + 1):
                weight, other = inverse[i, j] * (1.0 if i == j else 2.0), scratch[2 + j, :count]
                for k in range(count):
                    squares[k] += weight * row[k] * other[k]
        for k in range(count):
            level = leverage[k] * leverage[k] / precision
            squares[k] = np.sqrt(max(squares[k], 0.0) * unit + level)


@lean_kernel
def excess_factor(s: State, x: int, c: float) -> float:
    """n/(4c): what squared widths of expert ``x`` are multiplied by to see how unusual they are.

    Over n rounds, the mean of w² over the actions that were played is about c/n. Where actions are
    fresh, hardly any is four times as wide.
    """
    return float(s.facts[x, REMEMBERED] / (UNUSUAL * c))


@lean_kernel
def reward_curiosity(s: State, x: int, p: Parameters, widths: Array) -> None:
    """Widen what is known much less than what is played: w ← w √(1 + β log(n w²/(4c))).

    An arm that was dropped early gets wider as n grows, and so does one that is new (as in MOSS;
    Audibert, Bubeck, 2009).
    """
    factor = excess_factor(s, x, p.coordinates)
    for k in range(widths.size):
        excess = factor * widths[k] * widths[k]
        if excess > 1.0:
            widths[k] *= np.sqrt(1.0 + p.curiosity * np.log(excess))


@lean_kernel
def add_estimates(s: State, x: int, columns: Array, out: Array) -> None:
    """Add aᵀθ_x to ``out`` (K,) for all columns (d, K)."""
    level = level_of(s, x % 2)
    for i in range(columns.shape[0]):
        theta = s.thetas[x, i] - level * s.slopes[x, i]
        for k in range(out.size):
            out[k] += theta * columns[i, k]


@lean_kernel
def widths_from(
    p: Parameters,
    s: State,
    x: int,
    centre: Array,
    precision: float,
    columns: Array,
    scratch: Array,
    out: Array,
) -> None:
    """Widths of all columns (d, K) from ``centre`` by expert ``x``."""
    spread_out(
        s.inverses[x],
        s.facts[x, UNIT],
        s.features[1],
        centre,
        s.slopes[x],
        precision,
        prior_variance(s, p.ridge),
        columns,
        scratch,
        out,
    )


@lean_kernel
def upper_bounds(
    p: Parameters, s: State, x: int, radius: float, columns: Array, scratch: Array, scores: Array
) -> None:
    """scores ← aᵀθ_x + radius · w(a) for all columns (d, K), w with what curiosity adds."""
    bank = x % 2
    widths_from(p, s, x, s.centres[bank], level_precision(s, bank), columns, scratch, scores)
    reward_curiosity(s, x, p, scores)
    for k in range(scores.size):
        scores[k] *= radius
    add_estimates(s, x, columns, scores)


@lean_kernel
def little_known(p: Parameters, s: State, x: int, column: Array, scratch: Array) -> bool:
    """Whether expert ``x`` knows an action (d, 1) much less than those it has seen played."""
    width, bank = scratch[0, :1], x % 2
    widths_from(p, s, x, s.centres[bank], level_precision(s, bank), column, scratch, width)
    return bool(excess_factor(s, x, p.coordinates) * width[0] * width[0] > 1.0)


@lean_kernel
def optimistic(
    p: Parameters, s: State, columns: Array, scratch: Array, scores: Array
) -> tuple[int, float]:
    """Upper bounds of all columns by the expert that decides; returns its row and its radius.

    The expert in force decides. In an audit one of shorter memory may, if what it would play is
    little known to it: otherwise there is nothing to find out.
    """
    bank = bank_in_force(s)
    x, radius = in_force(s, bank, p.share), p.exploration * np.sqrt(s.counters[VARIANCE])
    place = audit_place(s, p.audit_every)
    if place < 1.0:
        shorter, narrow = auditor(s, p.coordinates, bank, place), p.audit_radius * radius
        if shorter < x:
            upper_bounds(p, s, shorter, narrow, columns, scratch, scores)
            best = argmax(scores)
            if little_known(p, s, shorter, columns[:, best : best + 1], scratch):
                return shorter, narrow
    upper_bounds(p, s, x, radius, columns, scratch, scores)
    return x, radius


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action of the largest upper bound."""
    optimistic(p, s, columns, scratch, scores)
    return argmax(scores)


spread_out_entry = entry_point(spread_out, "adaptive")
