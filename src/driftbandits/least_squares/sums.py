"""The sums of weighted least squares, compensated for rounding, and the widths from them.

    V = Σ w_s a_s a_sᵀ + λ I      b = Σ w_s r_s a_s      Ṽ = Σ w_s² σ_s² a_s a_sᵀ + μ I

The sums are stored without λ and μ; these enter with each query.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.compiling import entry_point, lean_kernel, precise_kernel, rare_kernel
from ..core.linalg import (
    column_norms_squared,
    column_quadratic,
    scale,
    unwhiten_columns,
    whiten_columns,
)

# A sum is two numbers along the first axis of its array: its value, and the debt, which is what
# rounding still owes it. Plain sums drift: after 10⁶ terms a direction that was never played would
# have lost all but six digits of its ridge.


@precise_kernel
def compensated(value: float, owed: float, term: float) -> tuple[float, float]:
    """Value and debt of a sum with one more term (two-sum; Knuth, TAOCP 2, section 4.2.2)."""
    total = value + term
    shadow = total - value
    owed += (value - (total - shadow)) + (term - shadow)
    rounded = total + owed
    return rounded, owed - (rounded - total)


@precise_kernel
def compensated_for_good(value: float, owed: float, term: float) -> tuple[float, float]:
    """`compensated` for terms that are never taken out again; a third faster (measured at d = 20).

    The debt is added to the next term, and the result is rounded. So value and debt together are
    off by about 2⁻⁵³ Σ |terms|. That is negligible beside the sum, unless a large term leaves it
    again.
    """
    due = term + owed
    total = value + due
    shadow = total - value
    return total, (value - (total - shadow)) + (due - shadow)


@precise_kernel
def _add(values: Array, owed: Array, weight: float, terms: Array) -> None:
    """Add ``weight`` · ``terms`` to the sums ``values``, entry by entry."""
    for j in range(values.size):
        values[j], owed[j] = compensated(values[j], owed[j], weight * terms[j])


@precise_kernel
def _add_for_good(values: Array, owed: Array, weight: float, terms: Array) -> None:
    """Like `_add`, for terms that are never taken out again."""
    for j in range(values.size):
        values[j], owed[j] = compensated_for_good(values[j], owed[j], weight * terms[j])


@precise_kernel
def _add_outer(gram: Array, weight: float, action: Array, for_good: bool) -> None:
    """Add ``weight`` a aᵀ to a matrix (2, d, d), in its upper triangle.

    Many features of an encoder are zero. They add nothing, so their rows are left out.
    """
    if gram.shape[1] == 2:
        _add_outer_in_the_plane(gram[0], gram[1], weight, action, for_good)
        return
    for i in range(gram.shape[1]):
        if action[i] == 0.0:
            continue
        weighted, rest = weight * action[i], action[i:]
        if for_good:
            _add_for_good(gram[0, i, i:], gram[1, i, i:], weighted, rest)
        else:
            _add(gram[0, i, i:], gram[1, i, i:], weighted, rest)


@precise_kernel
def _add_outer_in_the_plane(
    values: Array, owed: Array, weight: float, action: Array, for_good: bool
) -> None:
    """`_add_outer` for d = 2, where loops would cost more than their arithmetic."""
    x0, x1 = action[0], action[1]
    weighted = weight * x0
    if for_good:
        values[0, 0], owed[0, 0] = compensated_for_good(values[0, 0], owed[0, 0], weighted * x0)
        values[0, 1], owed[0, 1] = compensated_for_good(values[0, 1], owed[0, 1], weighted * x1)
        values[1, 1], owed[1, 1] = compensated_for_good(values[1, 1], owed[1, 1], weight * x1 * x1)
    else:
        values[0, 0], owed[0, 0] = compensated(values[0, 0], owed[0, 0], weighted * x0)
        values[0, 1], owed[0, 1] = compensated(values[0, 1], owed[0, 1], weighted * x1)
        values[1, 1], owed[1, 1] = compensated(values[1, 1], owed[1, 1], weight * x1 * x1)


@precise_kernel
def add_moment(moment: Array, action: Array, reward: float, weight: float) -> None:
    """Add w r a to ``moment`` (2, d); ``action`` may be longer than d."""
    for i in range(moment.shape[1]):
        term = reward * (weight * action[i])
        moment[0, i], moment[1, i] = compensated(moment[0, i], moment[1, i], term)


@precise_kernel
def accumulate(
    gram: Array,
    gram_squared: Array,
    moment: Array,
    action: Array,
    reward: float,
    weight: float,
    squared_weight: float,
    for_good: bool,
) -> None:
    """Add w a aᵀ, w² σ² a aᵀ and w r a; negative weights take an observation out again.

    ``gram`` and ``gram_squared`` are (2, d, d), ``moment`` (2, d); no two arguments may overlap. An
    empty ``gram_squared`` means that all weights are one: Ṽ then needs no sum of its own.
    ``action`` may be longer than d; further entries are not read. ``for_good`` means that nothing
    is ever taken out of these sums.
    """
    add_moment(moment, action, reward, weight)
    _add_outer(gram, weight, action, for_good)
    _add_outer(gram_squared, squared_weight, action, for_good)


@rare_kernel
def shrink(gram: Array, gram_squared: Array, moment: Array, factor: float) -> None:
    """Multiply every weight by ``factor``, and every squared weight by ``factor``²."""
    for part in range(2):
        scale(moment[part], factor)
        for i in range(gram.shape[1]):
            scale(gram[part, i], factor)
        for i in range(gram_squared.shape[1]):
            scale(gram_squared[part, i], factor * factor)


@lean_kernel
def square_as_released(
    gamma: float, unit: float, gram: Array, action: Array, gram_squared: Array
) -> None:
    """Ṽ ← γ² V + a aᵀ with the *new* V; Algorithm 1 has the old Ṽ instead. Without ridges."""
    for i in range(action.size):
        for j in range(i, action.size):
            fading = gamma * gamma * gram[0, i, j]
            gram_squared[0, i, j] = unit * (fading + unit * action[i] * action[j])
            gram_squared[1, i, j] = 0.0


@lean_kernel
def image_of_error(gram: Array, ridge: float, estimate: Array, theta: Array, image: Array) -> None:
    """image ← V (θ̂ − θ), where V is ``gram`` + ridge·I; only the upper half of ``gram`` is read."""
    for i in range(theta.size):
        image[i] = ridge * (estimate[i] - theta[i])
        for j in range(theta.size):
            image[i] += gram[min(i, j), max(i, j)] * (estimate[j] - theta[j])


@lean_kernel
def column_widths(
    factor: Array, gram_squared: Array, mu: float, columns: Array, out: Array
) -> None:
    """√(aᵀ V⁻¹ Ṽ V⁻¹ a) for every column a of ``columns`` (d or more, K); overwrites ``columns``.

    Solving for each action keeps the digits of well-explored directions. An explicit V⁻¹ Ṽ V⁻¹
    would lose them to the unexplored directions.
    """
    whiten_columns(factor, columns)
    if gram_squared.shape[1] == 0:
        column_norms_squared(factor.shape[1], columns, out)
    else:
        unwhiten_columns(factor, columns)
        column_quadratic(gram_squared[0], mu, columns, out)
    for k in range(out.size):
        out[k] = np.sqrt(max(out[k], 0.0))


widths_entry = entry_point(column_widths, "sums")
shrink_entry = entry_point(shrink, "sums")
