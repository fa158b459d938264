"""Upper confidence bounds of all actions, aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a)."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.compiling import lean_kernel
from ...core.linalg import clear, column_products, copy
from ...least_squares.sums import column_widths


@lean_kernel
def optimistic(
    factor: Array,
    gram_squared: Array,
    mu: float,
    theta: Array,
    radius: float,
    columns: Array,
    scratch: Array,
    scores: Array,
) -> None:
    """Upper confidence bound of every column of ``columns`` (d, K), written to ``scores`` (K,).

    Columns are taken in panels of the width of ``scratch`` (d + 2, panel).
    """
    dim, count = columns.shape
    if dim == 2:
        _optimistic_in_the_plane(factor, gram_squared, mu, theta, radius, columns, scores)
        return
    width = scratch.shape[1]
    means, bounds = scratch[dim], scratch[dim + 1]
    for first in range(0, count, width):
        last = min(first + width, count)
        for i in range(dim):
            copy(columns[i, first:last], scratch[i])
            clear(scratch[i, last - first :])
        column_products(theta, scratch, means)
        column_widths(factor, gram_squared, mu, scratch, bounds)
        panel_scores = scores[first:last]
        for k in range(panel_scores.size):
            panel_scores[k] = means[k] + radius * bounds[k]


@lean_kernel
def _optimistic_in_the_plane(
    factor: Array,
    gram_squared: Array,
    mu: float,
    theta: Array,
    radius: float,
    columns: Array,
    scores: Array,
) -> None:
    """`optimistic` for d = 2, in one pass: loops over rows cost more than their arithmetic."""
    across, s0, s1 = factor[0, 1], 1.0 / factor[0, 0], 1.0 / factor[1, 1]
    t0, t1 = theta[0], theta[1]
    first, second = columns[0], columns[1]
    if gram_squared.shape[1] == 0:
        for k in range(scores.size):
            x0 = first[k] * s0
            x1 = (second[k] - across * x0) * s1
            width = np.sqrt(x0 * x0 + x1 * x1)
            scores[k] = t0 * first[k] + t1 * second[k] + radius * width
        return
    w00, w01, w11 = gram_squared[0, 0, 0] + mu, gram_squared[0, 0, 1], gram_squared[0, 1, 1] + mu
    for k in range(scores.size):
        x0 = first[k] * s0
        x1 = (second[k] - across * x0) * s1 * s1
        x0 = (x0 - across * x1) * s0
        square = (w00 * x0 + 2.0 * w01 * x1) * x0 + w11 * x1 * x1
        scores[k] = t0 * first[k] + t1 * second[k] + radius * np.sqrt(max(square, 0.0))
