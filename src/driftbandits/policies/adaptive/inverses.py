"""V⁻¹ of an expert, computed afresh from its sums: when Λ is due, or when rounding has grown.

In between, rank-one changes keep V⁻¹ up to date (`absorb`), and Λ fades with the data.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, row_kernel
from ...core.linalg import cholesky, inverse_from_rows, inverse_rows, sum_rows
from .bank import mean_square, memory_of, prior_variance
from .plane import invert_in_plane
from .state import CHANGES, EXPERTS, GROWTH, RESTORED, UNIT, State


@lean_kernel
def invert(s: State, e: int, variance: float) -> None:
    """Restore Λ, and compute V⁻¹, θ and slopes of expert ``e`` from the sums.

    ``variance`` is `prior_variance`.
    """
    dim, priors = s.factor.shape[0], s.images[e]
    for i in range(dim):
        across = mean_square(s, i)
        priors[i] = variance / across if across > 0.0 else 0.0
    if dim == 2:
        invert_in_plane(s, e, priors[0], priors[1])
    else:
        _invert_gram(s, e, priors)
    s.facts[e, RESTORED] = s.counters[CLOCK]
    s.facts[e, CHANGES] = 0.0


@row_kernel
def _multiply(row: Array, factors: Array) -> None:
    """row ← row · factors, entry by entry."""
    for j in range(row.size):
        row[j] *= factors[j]


@lean_kernel
def inverse_in_units(s: State, unit: float, scales: Array, inverse: Array) -> None:
    """inverse ← diag(scales) (F + unit · I)⁻¹ diag(scales), for the matrix F in ``factor``.

    The features' scales are the units: in them, Λ is a multiple of the identity.
    """
    cholesky(s.factor, unit, s.factor)
    inverse_rows(s.factor, inverse)
    for i in range(scales.size):
        _multiply(inverse[i, : i + 1], scales)
    inverse_from_rows(inverse)


@lean_kernel
def _invert_gram(s: State, e: int, priors: Array) -> None:
    """Compute V⁻¹, θ and slopes of expert ``e``; ``priors`` are 1/Λ, replaced by their roots."""
    dim, inverse, scales = priors.size, s.inverses[e], priors
    for i in range(dim):
        scales[i] = np.sqrt(priors[i])
    for i in range(dim):
        for j in range(i, dim):
            s.factor[i, j] = s.grams[e, 0, i, j] * (scales[i] * scales[j])
    inverse_in_units(s, s.facts[e, UNIT], scales, inverse)
    sum_rows(s.moments[e, 0], inverse, s.thetas[e])
    sum_rows(s.offsets[e, 0], inverse, s.slopes[e])


@lean_kernel
def restore(s: State, c: float, ridge: float) -> None:
    """Restore Λ and compute V⁻¹ of every expert for which Λ is due or `is_worn` is true.

    Λ is due after half a memory. Early on, scales and noise are hardly known. So Λ is also due when
    the clock has doubled since Λ was last restored, but not before c rounds have passed.
    """
    clock, half = s.counters[CLOCK], 0.5 * memory_of(c, 0)
    for j in range(int(s.counters[EXPERTS])):
        for e in range(2 * j, 2 * j + 2):
            restored = s.facts[e, RESTORED]
            if clock - restored >= min(half, max(c, restored)) or is_worn(s, c, e):
                invert(s, e, prior_variance(s, ridge))
        half *= GROWTH


@lean_kernel
def is_worn(s: State, c: float, e: int) -> bool:
    """Whether the inverse of expert ``e`` is missing, or has been changed often.

    Rank-one changes leave rounding errors behind, which must not accumulate.
    """
    return not 0.0 <= s.facts[e, CHANGES] <= 32.0 + 4.0 * c


@lean_kernel
def mend(s: State, c: float, ridge: float) -> None:
    """Like `restore`, if the clock has not moved since then: no Λ is due, only worn inverses."""
    for e in range(2 * int(s.counters[EXPERTS])):
        if is_worn(s, c, e):
            invert(s, e, prior_variance(s, ridge))
