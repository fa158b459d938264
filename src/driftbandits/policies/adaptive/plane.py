"""Operations on one expert, written out for two coordinates.

For two coordinates, a loop costs more than the work inside it.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.compiling import lean_kernel, precise_kernel, row_kernel
from ...least_squares.sums import compensated, compensated_for_good
from .state import CHANGES, LEVERAGE, RAW, SPREAD, UNIT, State


@lean_kernel
def predict_in_plane(s: State, e: int, x: Array, y: float, held: float) -> None:
    """Like `predict`, for two coordinates."""
    x0, x1 = x[0], x[1]
    inverse, theta, slope = s.inverses[e], s.thetas[e], s.slopes[e]
    forecasts, j = s.forecasts[e & 1], e >> 1
    image0 = inverse[0, 0] * x0 + inverse[0, 1] * x1
    image1 = inverse[0, 1] * x0 + inverse[1, 1] * x1
    s.images[e, 0], s.images[e, 1] = image0, image1
    forecasts[RAW, j] = y - (theta[0] * x0 + theta[1] * x1)
    forecasts[LEVERAGE, j] = held - (slope[0] * x0 + slope[1] * x1)
    forecasts[SPREAD, j] = max(image0 * x0 + image1 * x1, 0.0) * s.facts[e, UNIT]


@precise_kernel
def _add_outer(values: Array, owed: Array, weight: float, x0: float, x1: float) -> None:
    """Add ``weight`` x xᵀ to the upper triangle of a matrix."""
    weighted = weight * x0
    v00, o00 = compensated_for_good(values[0, 0], owed[0, 0], weighted * x0)
    v01, o01 = compensated_for_good(values[0, 1], owed[0, 1], weighted * x1)
    v11, o11 = compensated_for_good(values[1, 1], owed[1, 1], weight * x1 * x1)
    values[0, 0], values[0, 1], values[1, 1] = v00, v01, v11
    owed[0, 0], owed[0, 1], owed[1, 1] = o00, o01, o11


@precise_kernel
def _add_moment(values: Array, owed: Array, y: float, x0: float, x1: float) -> None:
    """Add y x to a vector."""
    v0, o0 = compensated(values[0], owed[0], y * x0)
    v1, o1 = compensated(values[1], owed[1], y * x1)
    values[0], values[1] = v0, v1
    owed[0], owed[1] = o0, o1


@lean_kernel
def absorb_in_plane(s: State, e: int, x: Array, y: float, weight: float, held: float) -> None:
    """Like `absorb`, for two coordinates."""
    inverse, theta, slope = s.inverses[e], s.thetas[e], s.slopes[e]
    forecasts, j = s.forecasts[e & 1], e >> 1
    stored = weight * s.facts[e, UNIT]
    gain = stored / (1.0 + weight * forecasts[SPREAD, j])
    _add_outer(s.grams[e, 0], s.grams[e, 1], stored, x[0], x[1])
    x0, x1 = stored * x[0], stored * x[1]
    _add_moment(s.moments[e, 0], s.moments[e, 1], y, x0, x1)
    if held > 0.0:
        _add_moment(s.offsets[e, 0], s.offsets[e, 1], 1.0, x0, x1)
    image0, image1 = s.images[e, 0], s.images[e, 1]
    gained0, gained1 = gain * image0, gain * image1
    raw, leverage = forecasts[RAW, j], forecasts[LEVERAGE, j]
    theta[0], theta[1] = theta[0] + raw * gained0, theta[1] + raw * gained1
    slope[0], slope[1] = slope[0] + leverage * gained0, slope[1] + leverage * gained1
    inverse[0, 0] -= gained0 * image0
    inverse[1, 1] -= gained1 * image1
    inverse[0, 1] = inverse[1, 0] = inverse[0, 1] - gained0 * image1
    s.facts[e, CHANGES] += 1.0


@lean_kernel
def invert_in_plane(s: State, e: int, prior0: float, prior1: float) -> None:
    """Compute V⁻¹, θ and slopes of expert ``e``; priors are 1/Λ, pivots at least those of Λ."""
    gram, unit = s.grams[e, 0], s.facts[e, UNIT]
    across = np.sqrt(prior0) * np.sqrt(prior1)
    pivot = max(gram[0, 0] * prior0, 0.0) + unit
    share = gram[0, 1] * across / pivot
    below = max(gram[1, 1] * prior1 - gram[0, 1] * across * share, 0.0) + unit
    v11 = prior1 / below
    v01 = -across * share / below
    v00 = prior0 * (1.0 / pivot + share * share / below)
    inverse, moment, offset = s.inverses[e], s.moments[e, 0], s.offsets[e, 0]
    inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = v00, v01, v01, v11
    s.thetas[e, 0] = v00 * moment[0] + v01 * moment[1]
    s.thetas[e, 1] = v01 * moment[0] + v11 * moment[1]
    s.slopes[e, 0] = v00 * offset[0] + v01 * offset[1]
    s.slopes[e, 1] = v01 * offset[0] + v11 * offset[1]


@row_kernel
def squares_in_plane(
    inverse: Array,
    unit: float,
    centre: Array,
    slope: Array,
    variance: float,
    columns: Array,
    out: Array,
) -> None:
    """Like `squares_from` without new coordinates, for d = 2, in one loop over the columns."""
    v00, v01, v11 = 0.5 * inverse[0, 0], inverse[0, 1], 0.5 * inverse[1, 1]
    c0, c1, s0, s1 = centre[0], centre[1], slope[0], slope[1]
    row, below = columns[0], columns[1]
    for k in range(out.size):
        x0, x1 = row[k] - c0, below[k] - c1
        leverage = 1.0 - s0 * row[k]
        leverage -= s1 * below[k]
        square = (v00 * x0 + v01 * x1) * x0 + v11 * x1 * x1
        out[k] = max(2.0 * square, 0.0) * unit + leverage * leverage * variance
