"""The compiled pass: predictions of every reward by several memories side by side.

A lane is one memory. Lanes are the innermost axis of the Gram matrices, so that vector instructions
factor all of them at once. Several series of rewards (the logged one and simulated ones) share the
Gram matrices, since they share the actions. Series are the innermost axis of the arrays that depend
on rewards.

For a row with vector a in block k, predicted at clock c from the rows j that are due by then:

    w_j = count_j γ^(c − c_j)            V = Σ w_j a_j a_jᵀ + λI            b = Σ w_j r_j a_j
    m = aᵀV⁻¹b                           h = 1/count + aᵀV⁻¹a               e = r − m
    s² = mean of e_j²/h_j over the rows that are due                        ν = their number
    log-evidence += log t_ν(e; scale² = s² h)

A second score of the logged rewards, `State.closeness`, uses the errors alone, in units of the
noise s² of the last lane: −count e²/(2s²). It is needed if noise differs between contexts. Then the
wide bounds of a short memory imitate the noise and gain evidence, though its predictions are no
closer.

The mean s² may forget at its own rate, per row learned, the same for all lanes; ν is then the sum
of its weights. All rows of a unit are predicted from the rows due before the unit's first row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.compiling import entry_point, kernel
from .batch import Ints, Mask

# Rows that must be learned before predictions are scored.
START = 10.0


class State(NamedTuple):
    """State of a pass, kept from batch to batch; M lanes, S series, B blocks of width w."""

    gram: Array  # (B, w, w, M), upper triangle, without ridge
    moment: Array  # (B, w, M, S)
    clock: Array  # (B,), the time that a block's sums are decayed to
    squares: Array  # (M, S), Σ e²/h
    evidence: Array  # (M, S)
    closeness: Array  # (M,), Σ −count e²/(2s²), of the first series
    due: Array  # (1,), rows that have been learned, with their weights in s²
    scored: Array  # (1,), rows that have been scored


class Rows(NamedTuple):
    """Rows of a pass: first the rows that still wait for their reward, then a batch."""

    vectors: Array  # (N, w)
    blocks: Ints  # (N,)
    clock: Array  # (N,)
    counts: Array  # (N,)
    reward: Array  # (N, S)
    error: Array  # (N, M, S), e²/h once predicted


@kernel
def _factor(gram: Array, ridge: float, factor: Array) -> None:
    """R of gram + ridge·I = RᵀR for every lane, all (w, w, M); stores 1/R_ii on the diagonal.

    Divisions are several times slower than products, so there is only one per row of R.
    """
    width, lanes = gram.shape[0], gram.shape[2]
    for i in range(width):
        for j in range(i, width):
            for m in range(lanes):
                factor[i, j, m] = gram[i, j, m]
        for m in range(lanes):
            factor[i, i, m] += ridge
        for k in range(i):
            for j in range(i, width):
                for m in range(lanes):
                    factor[i, j, m] -= factor[k, i, m] * factor[k, j, m]
        for m in range(lanes):
            factor[i, i, m] = 1.0 / np.sqrt(max(factor[i, i, m], ridge))
        for j in range(i + 1, width):
            for m in range(lanes):
                factor[i, j, m] *= factor[i, i, m]


@kernel
def _solve(factor: Array, vector: Array, solved: Array, quadratic: Array) -> None:
    """V⁻¹a (w, M) and aᵀV⁻¹a (M,) for every lane."""
    width, lanes = factor.shape[0], factor.shape[2]
    quadratic[:] = 0.0
    for i in range(width):
        for m in range(lanes):
            solved[i, m] = vector[i]
        for k in range(i):
            for m in range(lanes):
                solved[i, m] -= factor[k, i, m] * solved[k, m]
        for m in range(lanes):
            solved[i, m] *= factor[i, i, m]
            quadratic[m] += solved[i, m] * solved[i, m]
    for i in range(width - 1, -1, -1):
        for k in range(i + 1, width):
            for m in range(lanes):
                solved[i, m] -= factor[i, k, m] * solved[k, m]
        for m in range(lanes):
            solved[i, m] *= factor[i, i, m]


@kernel
def _decay(state: State, block: int, now: float, rates: Array) -> None:
    """Decay the sums of a block to ``now``."""
    gap = now - state.clock[block]
    if gap <= 0.0:
        return
    state.clock[block] = now
    kept = np.exp(-rates * gap)
    gram, moment = state.gram[block], state.moment[block]
    for i in range(gram.shape[0]):
        for j in range(i, gram.shape[0]):
            for m in range(kept.size):
                gram[i, j, m] *= kept[m]
        for m in range(kept.size):
            for s in range(moment.shape[2]):
                moment[i, m, s] *= kept[m]


@kernel
def _learn(state: State, rows: Rows, j: int, now: float, rates: Array, kept: float) -> None:
    """Add row j to the sums of its block, with the weight of its age."""
    block = rows.blocks[j]
    _decay(state, block, now, rates)
    weight = rows.counts[j] * np.exp(-rates * (state.clock[block] - rows.clock[j]))
    vector, gram, moment = rows.vectors[j], state.gram[block], state.moment[block]
    for i in range(vector.size):
        if vector[i] == 0.0:
            continue
        for k in range(i, vector.size):
            for m in range(rates.size):
                gram[i, k, m] += weight[m] * vector[i] * vector[k]
        for m in range(rates.size):
            scaled = weight[m] * vector[i]
            for s in range(moment.shape[2]):
                moment[i, m, s] += scaled * rows.reward[j, s]
    for m in range(rates.size):
        for s in range(moment.shape[2]):
            state.squares[m, s] = kept * state.squares[m, s] + rows.error[j, m, s]
    state.due[0] = kept * state.due[0] + 1.0


@kernel
def _score(
    state: State, rows: Rows, j: int, solved: Array, quadratic: Array, scores: bool, widths: bool
) -> None:
    """Predict row j in every lane and series, keep its error, and score it."""
    moment = state.moment[rows.blocks[j]]
    width, lanes, series = moment.shape
    nu = state.due[0]
    constant = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu) if nu > 0.0 else 0.0
    constant -= 0.5 * np.log(np.pi)
    mean = np.empty(series)
    noise = state.squares[lanes - 1, 0] / nu if nu > 0.0 else 0.0
    for m in range(lanes):
        spread = 1.0 / rows.counts[j] + (quadratic[m] if widths else 0.0)
        mean[:] = 0.0
        for i in range(width):
            for s in range(series):
                mean[s] += solved[i, m] * moment[i, m, s]
        for s in range(series):
            error = rows.reward[j, s] - mean[s]
            rows.error[j, m, s] = error * error / spread
        if not scores:
            continue
        if noise > 0.0:
            state.closeness[m] -= 0.5 * rows.error[j, m, 0] * spread * rows.counts[j] / noise
        base = constant - 0.5 * np.log(spread)
        for s in range(series):
            squares, square = state.squares[m, s], rows.error[j, m, s]
            if squares > 0.0:
                # log t_ν with scale² = squares/ν · spread: (ν+1)/2 log(squares + square) − …
                state.evidence[m, s] += base + 0.5 * nu * np.log(squares)
                state.evidence[m, s] -= 0.5 * (nu + 1.0) * np.log(squares + square)


def _walk(
    state: State,
    rows: Rows,
    start: int,
    units: Ints,
    known: Mask,
    order: Ints,
    due: Ints,
    rates: Array,
    ridge: float,
    kept: float,
    widths: bool,
    trace: Array,
    closer: Array,
) -> int:
    """Walk through rows ``start`` to N, unit by unit; returns how many of ``order`` were learned.

    ``units`` (U + 1,) are the bounds of the units, counted from ``start``. Row ``order[l]`` is
    learned before the first unit that begins at ``due[l]`` or later. ``trace`` and ``closer``
    (U, M) receive the evidence and the closeness of the logged rewards after each unit. ``kept`` is
    the factor by which s² decays per row. Without ``widths``, h = 1/count.
    """
    width, lanes = state.gram.shape[1], rates.size
    factor, solved = np.zeros((width, width, lanes)), np.empty((width, lanes))
    quadratic = np.empty(lanes)
    learned = 0
    for u in range(units.size - 1):
        first = start + units[u]
        now = rows.clock[first]
        while learned < order.size and due[learned] <= units[u]:
            _learn(state, rows, order[learned], now, rates, kept)
            learned += 1
        scores = state.due[0] >= START
        factored = -1
        for j in range(first, start + units[u + 1]):
            if not known[j - start]:
                continue
            block = rows.blocks[j]
            if factored != block:
                _decay(state, block, now, rates)
                _factor(state.gram[block], ridge, factor)
                factored = block
            _solve(factor, rows.vectors[j], solved, quadratic)
            _score(state, rows, j, solved, quadratic, scores, widths)
            if scores and state.squares[0, 0] > 0.0:
                state.scored[0] += 1.0
        trace[u], closer[u] = state.evidence[:, 0], state.closeness
    return learned


walk = entry_point(_walk, "logs_lanes")
