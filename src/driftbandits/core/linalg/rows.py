"""Loops along contiguous rows: the building blocks of the other modules."""

from __future__ import annotations

from ..arrays import Array
from ..compiling import lean_kernel, row_kernel

# Assignments to whole slices compile to general broadcasting code, many times larger than a loop.


@lean_kernel
def clear(vector: Array) -> None:
    """vector ← 0."""
    for i in range(vector.size):
        vector[i] = 0.0


@lean_kernel
def clear_matrix(matrix: Array) -> None:
    """matrix ← 0."""
    for i in range(matrix.shape[0]):
        clear(matrix[i])


@lean_kernel
def copy(source: Array, target: Array) -> None:
    """target ← source, both vectors."""
    for i in range(source.size):
        target[i] = source[i]


@lean_kernel
def copy_matrix(source: Array, target: Array) -> None:
    """target ← source, both matrices."""
    for i in range(source.shape[0]):
        copy(source[i], target[i])


@lean_kernel
def scale(vector: Array, weight: float) -> None:
    """vector ← weight·vector."""
    for i in range(vector.size):
        vector[i] *= weight


@row_kernel
def subtract(vector: Array, weight: float, other: Array) -> None:
    """vector ← vector − weight·other; the two must not overlap."""
    for i in range(vector.size):
        vector[i] -= weight * other[i]


@row_kernel
def inner(vector: Array, other: Array) -> float:
    """⟨vector, other⟩, as four sums side by side: in one sum, each addition waits for the last."""
    sum0 = sum1 = sum2 = sum3 = 0.0
    fours = vector.size // 4 * 4
    for i in range(0, fours, 4):
        sum0 += vector[i] * other[i]
        sum1 += vector[i + 1] * other[i + 1]
        sum2 += vector[i + 2] * other[i + 2]
        sum3 += vector[i + 3] * other[i + 3]
    for i in range(fours, vector.size):
        sum0 += vector[i] * other[i]
    return (sum0 + sum1) + (sum2 + sum3)


@row_kernel
def inner_two(row0: Array, row1: Array, other: Array) -> tuple[float, float]:
    """`inner` of two rows with ``other``, to the same bits: neither waits for the other."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    fours = other.size // 4 * 4
    for i in range(0, fours, 4):
        a0 += row0[i] * other[i]
        a1 += row0[i + 1] * other[i + 1]
        a2 += row0[i + 2] * other[i + 2]
        a3 += row0[i + 3] * other[i + 3]
        b0 += row1[i] * other[i]
        b1 += row1[i + 1] * other[i + 1]
        b2 += row1[i + 2] * other[i + 2]
        b3 += row1[i + 3] * other[i + 3]
    for i in range(fours, other.size):
        a0 += row0[i] * other[i]
        b0 += row1[i] * other[i]
    return (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)


# Most of the work is to subtract multiples of some rows from others. These kernels subtract four
# rows from two at a time: a number is loaded and stored once for eight products, and the processor
# does not wait for memory. Sums stay in the order in which they are written, a chain of fused
# products and additions; reassociated, they would take a fourth more instructions. If d is no
# multiple of four, the remaining rows go one by one.


@row_kernel
def add_four(
    vector: Array,
    weights: tuple[float, float, float, float],
    rows: tuple[Array, Array, Array, Array],
) -> None:
    """vector += Σ weights_r · rows_r."""
    a0, a1, a2, a3 = weights
    row0, row1, row2, row3 = rows
    for k in range(vector.size):
        vector[k] = vector[k] + a0 * row0[k] + a1 * row1[k] + a2 * row2[k] + a3 * row3[k]


@lean_kernel
def sum_rows(weights: Array, matrix: Array, out: Array) -> None:
    """out ← Σ_k weights_k · matrix_k, which is a product if the matrix is symmetric.

    Most features of most actions are zero. It is faster to skip the rows with weight zero.
    """
    fours = weights.size // 4 * 4
    clear(out)
    for k in range(0, fours, 4):
        some = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        if some != (0.0, 0.0, 0.0, 0.0):
            add_four(out, some, four_rows(matrix, k, 0))
    for k in range(fours, weights.size):
        if weights[k] != 0.0:
            subtract(out, -weights[k], matrix[k])


@row_kernel
def subtract_four(
    rows: tuple[Array, Array, Array, Array],
    target: Array,
    weights: tuple[float, float, float, float],
    target_below: Array,
    weights_below: tuple[float, float, float, float],
) -> None:
    """Both targets −= Σ weights_r · rows_r, each with its own weights."""
    row0, row1, row2, row3 = rows
    a0, a1, a2, a3 = weights
    b0, b1, b2, b3 = weights_below
    for k in range(target.size):
        x0, x1, x2, x3 = row0[k], row1[k], row2[k], row3[k]
        target[k] = target[k] - a0 * x0 - a1 * x1 - a2 * x2 - a3 * x3
        target_below[k] = target_below[k] - b0 * x0 - b1 * x1 - b2 * x2 - b3 * x3


@lean_kernel
def four_entries(matrix: Array, i: int, j: int) -> tuple[float, float, float, float]:
    """Rows i to i + 3 of column j."""
    return matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]


@lean_kernel
def four_rows(matrix: Array, i: int, j: int) -> tuple[Array, Array, Array, Array]:
    """Rows i to i + 3, from column j on."""
    return matrix[i, j:], matrix[i + 1, j:], matrix[i + 2, j:], matrix[i + 3, j:]


@lean_kernel
def _larger(one: float, other: float) -> float:
    """The larger of two numbers; `max` would also check for NaN."""
    return one if one > other else other


@lean_kernel
def argmax(values: Array) -> int:
    """Index of the largest value, the first of equals."""
    # First find the group of eight that holds the largest value, then its place among the eight.
    # No step waits for a comparison whose outcome the processor would have to guess.
    best, top = 0, values[0]
    eights = values.size // 8 * 8
    for k in range(0, eights, 8):
        left = _larger(_larger(values[k], values[k + 1]), _larger(values[k + 2], values[k + 3]))
        right = _larger(
            _larger(values[k + 4], values[k + 5]), _larger(values[k + 6], values[k + 7])
        )
        most = _larger(left, right)
        if most > top:
            best, top = k, most
    if eights > 0:
        first = best
        for k in range(first + 7, first - 1, -1):
            if values[k] == top:
                best = k
    for k in range(eights, values.size):
        if values[k] > top:
            best, top = k, values[k]
    return best
