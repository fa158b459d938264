"""Dense linear algebra for symmetric positive definite matrices, compiled.

Symmetric matrices live in their upper triangle, and so do their factors: V = RᵀR, where what is
below the diagonal of R has no meaning. Sets of vectors are stored as columns, one column a vector
and shape (d, K). All inner loops then run along rows, which are contiguous.
"""

from __future__ import annotations

import numpy as np

from ._compile import large_kernel, lean_kernel, ordered_kernel
from .arrays import Array

# Share of a squared pivot below which taking out a vector has cancelled too many digits.
LOST = 1e-2

# Assignments to whole slices compile to general broadcasting code, many times larger than a loop.


@lean_kernel
def clear(vector: Array) -> None:
    """vector ← 0."""
    for i in range(vector.size):
        vector[i] = 0.0


@large_kernel
def clear_matrix(matrix: Array) -> None:
    """matrix ← 0."""
    for i in range(matrix.shape[0]):
        clear(matrix[i])


@lean_kernel
def copy(source: Array, target: Array) -> None:
    """target ← source, both vectors."""
    for i in range(source.size):
        target[i] = source[i]


@large_kernel
def copy_matrix(source: Array, target: Array) -> None:
    """target ← source, both matrices."""
    for i in range(source.shape[0]):
        copy(source[i], target[i])


@lean_kernel
def scale(vector: Array, weight: float) -> None:
    """vector ← weight·vector."""
    for i in range(vector.size):
        vector[i] *= weight


@lean_kernel
def subtract(vector: Array, weight: float, other: Array) -> None:
    """vector ← vector − weight·other."""
    for i in range(vector.size):
        vector[i] -= weight * other[i]


@lean_kernel
def inner(vector: Array, other: Array) -> float:
    """⟨vector, other⟩."""
    total = 0.0
    for i in range(vector.size):
        total += vector[i] * other[i]
    return total


# Most of the work is to subtract multiples of some rows from others. Taking four rows from two at a
# time, each number is loaded and stored once for eight products, and the processor computes instead
# of waiting for memory. Sums stay in the order in which they are written, a chain of fused products
# and additions; reassociated, they take a fourth more instructions. What remains where d is no
# multiple of four goes row by row.


@ordered_kernel
def _subtract_four(
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
def _four(matrix: Array, i: int, j: int) -> tuple[float, float, float, float]:
    """Rows i to i + 3 of column j."""
    return matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]


@lean_kernel
def _rows(matrix: Array, i: int, j: int) -> tuple[Array, Array, Array, Array]:
    """Rows i to i + 3, from column j on."""
    return matrix[i, j:], matrix[i + 1, j:], matrix[i + 2, j:], matrix[i + 3, j:]


@lean_kernel
def _pivot(complement: float, ridge: float) -> float:
    """Pivot of R: the root of a Schur complement of a matrix that is at least ridge·I.

    So it is at least ``ridge`` itself: clamping it there repairs rounding, and the factor is always
    positive definite.
    """
    return float(np.sqrt(max(complement + ridge, ridge)))


@lean_kernel
def _finish_row(factor: Array, i: int, ridge: float) -> None:
    """Row i of R, from those above."""
    row = factor[i, i:]
    for j in range(i):
        subtract(row, factor[j, i], factor[j, i:])
    pivot = _pivot(row[0], ridge)
    scale(row, 1.0 / pivot)
    row[0] = pivot


@ordered_kernel
def _factor_four(factor: Array, i: int, ridge: float) -> None:
    """The triangle of rows and columns i to i + 3 of R, all above it subtracted already."""
    row0, row1, row2, row3 = _rows(factor, i, i)
    p0 = _pivot(row0[0], ridge)
    w01, w02, w03 = row0[1] * (1.0 / p0), row0[2] * (1.0 / p0), row0[3] * (1.0 / p0)
    p1 = _pivot(row1[1] - w01 * w01, ridge)
    w12, w13 = (row1[2] - w01 * w02) * (1.0 / p1), (row1[3] - w01 * w03) * (1.0 / p1)
    p2 = _pivot(row2[2] - w02 * w02 - w12 * w12, ridge)
    w23 = (row2[3] - w02 * w03 - w12 * w13) * (1.0 / p2)
    row3[3] = _pivot(row3[3] - w03 * w03 - w13 * w13 - w23 * w23, ridge)
    row0[0], row0[1], row0[2], row0[3] = p0, w01, w02, w03
    row1[1], row1[2], row1[3] = p1, w12, w13
    row2[2], row2[3] = p2, w23


@lean_kernel
def cholesky(gram: Array, ridge: float, factor: Array) -> None:
    """R of ``gram + ridge·I`` = RᵀR, written to ``factor`` (d, d), which may be ``gram``."""
    if gram.shape[0] != 2:
        _cholesky_by_rows(gram, ridge, factor)
        return
    # In the plane, loops cost more than what they do.
    pivot = np.sqrt(max(gram[0, 0] + ridge, ridge))
    across = gram[0, 1] / pivot
    factor[1, 1] = np.sqrt(max(gram[1, 1] - across * across + ridge, ridge))
    factor[0, 0], factor[0, 1] = pivot, across


@large_kernel
def _cholesky_by_rows(gram: Array, ridge: float, factor: Array) -> None:
    dim = gram.shape[0]
    fours = dim // 4 * 4
    for i in range(dim):
        copy(gram[i, i:], factor[i, i:])
    for i in range(0, fours, 4):
        _factor_four(factor, i, ridge)
        _forward_four(factor, i, _rows(factor, i, i + 4))
        for j in range(i + 4, fours, 2):
            _subtract_four(
                _rows(factor, i, j),
                factor[j, j:],
                _four(factor, i, j),
                factor[j + 1, j:],
                _four(factor, i, j + 1),
            )
    for i in range(fours, dim):
        _finish_row(factor, i, ridge)


@lean_kernel
def whiten(factor: Array, vector: Array) -> float:
    """Replace ``vector`` (d,) by R⁻ᵀ vector, and return the square of its norm."""
    square = 0.0
    for i in range(vector.size):
        vector[i] *= 1.0 / factor[i, i]  # which need not wait for the entries before
        square += vector[i] * vector[i]
        subtract(vector[i + 1 :], vector[i], factor[i, i + 1 :])
    return square


@lean_kernel
def solve(factor: Array, vector: Array, out: Array) -> None:
    """x = (RᵀR)⁻¹ vector, written to ``out`` (d,), which may be ``vector``."""
    if vector.size != 2:
        _solve_by_rows(factor, vector, out)
        return
    across, s0, s1 = factor[0, 1], 1.0 / factor[0, 0], 1.0 / factor[1, 1]
    x0 = vector[0] * s0
    out[1] = (vector[1] - across * x0) * s1 * s1
    out[0] = (x0 - across * out[1]) * s0


@large_kernel
def _solve_by_rows(factor: Array, vector: Array, out: Array) -> None:
    dim = vector.size
    fours = dim // 4 * 4
    copy(vector, out)
    for i in range(0, fours, 4):
        _forward_block(factor, i, out[i : i + 4], out[i + 4 :])
    for i in range(fours, dim):
        out[i] *= 1.0 / factor[i, i]
        subtract(out[i + 1 :], out[i], factor[i, i + 1 :])
    for i in range(dim - 1, fours - 1, -1):
        out[i] -= inner(factor[i, i + 1 :], out[i + 1 :])
        out[i] *= 1.0 / factor[i, i]
    for i in range(fours - 4, -1, -4):
        _backward_block(factor, i, out[i : i + 4], out[i + 4 :])


@ordered_kernel
def _forward_block(factor: Array, i: int, block: Array, rest: Array) -> None:
    """Entries i to i + 3 of R⁻ᵀ vector, subtracted from those that follow."""
    for j in range(4):
        block[j] *= 1.0 / factor[i + j, i + j]
        for k in range(j + 1, 4):
            block[k] -= block[j] * factor[i + j, i + k]
    x0, x1, x2, x3 = block[0], block[1], block[2], block[3]
    row0, row1 = factor[i, i + 4 :], factor[i + 1, i + 4 :]
    row2, row3 = factor[i + 2, i + 4 :], factor[i + 3, i + 4 :]
    for k in range(rest.size):
        rest[k] = rest[k] - x0 * row0[k] - x1 * row1[k] - x2 * row2[k] - x3 * row3[k]


@lean_kernel
def _backward_block(factor: Array, i: int, block: Array, rest: Array) -> None:
    """Entries i to i + 3 of R⁻¹ vector, from those that follow."""
    for j in range(4):
        block[j] -= inner(factor[i + j, i + 4 :], rest)
    for j in range(3, -1, -1):
        for k in range(j + 1, 4):
            block[j] -= block[k] * factor[i + j, i + k]
        block[j] *= 1.0 / factor[i + j, i + j]


@ordered_kernel
def _forward_four(factor: Array, i: int, rows: tuple[Array, Array, Array, Array]) -> None:
    """Rows i to i + 3 of R⁻ᵀ columns, from which the rows above are subtracted already."""
    s0, s1 = 1.0 / factor[i, i], 1.0 / factor[i + 1, i + 1]
    s2, s3 = 1.0 / factor[i + 2, i + 2], 1.0 / factor[i + 3, i + 3]
    w01, w02, w03 = factor[i, i + 1], factor[i, i + 2], factor[i, i + 3]
    w12, w13, w23 = factor[i + 1, i + 2], factor[i + 1, i + 3], factor[i + 2, i + 3]
    row0, row1, row2, row3 = rows
    for k in range(row0.size):
        x0 = row0[k] * s0
        x1 = (row1[k] - w01 * x0) * s1
        x2 = (row2[k] - w02 * x0 - w12 * x1) * s2
        row3[k] = (row3[k] - w03 * x0 - w13 * x1 - w23 * x2) * s3
        row0[k], row1[k], row2[k] = x0, x1, x2


@ordered_kernel
def _backward_four(factor: Array, columns: Array, i: int) -> None:
    """Rows i to i + 3 of R⁻¹ columns, from which the rows below are subtracted already."""
    s0, s1 = 1.0 / factor[i, i], 1.0 / factor[i + 1, i + 1]
    s2, s3 = 1.0 / factor[i + 2, i + 2], 1.0 / factor[i + 3, i + 3]
    w01, w02, w03 = factor[i, i + 1], factor[i, i + 2], factor[i, i + 3]
    w12, w13, w23 = factor[i + 1, i + 2], factor[i + 1, i + 3], factor[i + 2, i + 3]
    row0, row1, row2, row3 = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
    for k in range(row0.size):
        x3 = row3[k] * s3
        x2 = (row2[k] - w23 * x3) * s2
        x1 = (row1[k] - w13 * x3 - w12 * x2) * s1
        row0[k] = (row0[k] - w03 * x3 - w02 * x2 - w01 * x1) * s0
        row1[k], row2[k], row3[k] = x1, x2, x3


@large_kernel
def whiten_columns(factor: Array, columns: Array) -> None:
    """Replace every column c of ``columns`` (d or more, K) by R⁻ᵀc."""
    dim = factor.shape[1]
    fours = dim // 4 * 4
    for i in range(0, fours, 4):
        _forward_four(factor, i, _rows(columns, i, 0))
        for j in range(i + 4, fours, 2):
            _subtract_four(
                _rows(columns, i, 0),
                columns[j],
                _four(factor, i, j),
                columns[j + 1],
                _four(factor, i, j + 1),
            )
    for i in range(fours, dim):
        for j in range(i):
            subtract(columns[i], factor[j, i], columns[j])
        scale(columns[i], 1.0 / factor[i, i])


@large_kernel
def unwhiten_columns(factor: Array, columns: Array) -> None:
    """Replace every column c of ``columns`` (d or more, K) by R⁻¹c."""
    dim = factor.shape[1]
    fours = dim // 4 * 4
    for i in range(dim - 1, fours - 1, -1):
        scale(columns[i], 1.0 / factor[i, i])
        for j in range(i):
            subtract(columns[j], factor[j, i], columns[i])
    for i in range(fours - 4, -1, -4):
        _backward_four(factor, columns, i)
        for j in range(0, i, 2):
            row, below = factor[j], factor[j + 1]
            _subtract_four(
                (columns[i], columns[i + 1], columns[i + 2], columns[i + 3]),
                columns[j],
                (row[i], row[i + 1], row[i + 2], row[i + 3]),
                columns[j + 1],
                (below[i], below[i + 1], below[i + 2], below[i + 3]),
            )


@lean_kernel
def column_norms_squared(dim: int, columns: Array, out: Array) -> None:
    """‖c‖² of the columns c of ``columns`` (d or more, K), in ``out`` (K,)."""
    clear(out)
    for i in range(dim):
        row = columns[i]
        for k in range(out.size):
            out[k] += row[k] * row[k]


@lean_kernel
def column_products(vector: Array, columns: Array, out: Array) -> None:
    """⟨vector, c⟩ of the columns c of ``columns`` (d or more, K), in ``out`` (K,)."""
    clear(out)
    for i in range(vector.size):
        subtract(out, -vector[i], columns[i])


@ordered_kernel
def _add_pair(gram: Array, ridge: float, columns: Array, i: int, out: Array) -> None:
    """Add half of what rows i and i + 1 of ``gram`` contribute to `column_quadratic`."""
    w00, w01, w11 = 0.5 * (gram[i, i] + ridge), gram[i, i + 1], 0.5 * (gram[i + 1, i + 1] + ridge)
    row, below = columns[i], columns[i + 1]
    for k in range(out.size):
        out[k] += (w00 * row[k] + w01 * below[k]) * row[k] + w11 * below[k] * below[k]
    dim = gram.shape[0]
    fours = i + 2 + (dim - i - 2) // 4 * 4
    for j in range(i + 2, fours, 4):
        a0, a1, a2, a3 = gram[i, j], gram[i, j + 1], gram[i, j + 2], gram[i, j + 3]
        b0, b1 = gram[i + 1, j], gram[i + 1, j + 1]
        b2, b3 = gram[i + 1, j + 2], gram[i + 1, j + 3]
        row0, row1, row2, row3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for k in range(out.size):
            x0, x1, x2, x3 = row0[k], row1[k], row2[k], row3[k]
            image = a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
            image_below = b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
            out[k] = out[k] + row[k] * image + below[k] * image_below
    for j in range(fours, dim):
        a0, b0, row0 = gram[i, j], gram[i + 1, j], columns[j]
        for k in range(out.size):
            out[k] += (a0 * row[k] + b0 * below[k]) * row0[k]


@large_kernel
def column_quadratic(gram: Array, ridge: float, columns: Array, out: Array) -> None:
    """cᵀ(gram + ridge·I)c of the columns c of ``columns`` (d or more, K), in ``out`` (K,)."""
    dim = gram.shape[0]
    clear(out)
    for i in range(0, dim - 1, 2):
        _add_pair(gram, ridge, columns, i, out)
    if dim % 2 == 1:
        weight, row = 0.5 * (gram[dim - 1, dim - 1] + ridge), columns[dim - 1]
        for k in range(out.size):
            out[k] += weight * row[k] * row[k]
    scale(out, 2.0)


@lean_kernel
def log_determinant(factor: Array) -> float:
    """log det(RᵀR)."""
    total = 0.0
    for i in range(factor.shape[1]):
        total += np.log(factor[i, i])
    return 2.0 * total


@large_kernel
def update_factor(factor: Array, vector: Array, weight: float, least: float) -> bool:
    """Factor of RᵀR + weight·vvᵀ in place of R, for either sign; ``vector`` (d,) is overwritten.

    Plane rotations, or hyperbolic ones for a negative weight, row by row (Gill, Golub, Murray and
    Saunders, 1974): O(d²). False, and a factor that is of no use, where a pivot squared falls
    below ``least``, or to a hundredth of itself: taking out is only as good as what remains.
    """
    sign = 1.0 if weight > 0.0 else -1.0
    scale(vector, np.sqrt(abs(weight)))
    for i in range(vector.size):
        old = factor[i, i]
        square = old * old + sign * vector[i] * vector[i]
        if square < least or square < LOST * old * old:
            return False
        new = np.sqrt(square)
        cosine, sine = new / old, vector[i] / old
        inverse, signed = 1.0 / cosine, sign * sine
        factor[i, i] = new
        row, rest = factor[i, i + 1 :], vector[i + 1 :]
        for j in range(row.size):
            row[j] = (row[j] + signed * rest[j]) * inverse
            rest[j] = cosine * rest[j] - sine * row[j]
    return True


@lean_kernel
def argmax(values: Array) -> int:
    """Index of the largest value, the first of equals."""
    # Four searches side by side, since each comparison of one waits for the last.
    best0 = best1 = best2 = best3 = 0
    top0 = top1 = top2 = top3 = values[0]
    fours = values.size // 4 * 4
    for k in range(0, fours, 4):
        if values[k] > top0:
            best0, top0 = k, values[k]
        if values[k + 1] > top1:
            best1, top1 = k + 1, values[k + 1]
        if values[k + 2] > top2:
            best2, top2 = k + 2, values[k + 2]
        if values[k + 3] > top3:
            best3, top3 = k + 3, values[k + 3]
    for k in range(fours, values.size):
        if values[k] > top0:
            best0, top0 = k, values[k]
    if top1 > top0 or (top1 == top0 and best1 < best0):
        best0, top0 = best1, top1
    if top2 > top0 or (top2 == top0 and best2 < best0):
        best0, top0 = best2, top2
    if top3 > top0 or (top3 == top0 and best3 < best0):
        best0 = best3
    return best0


def symmetric(upper: Array) -> Array:
    """The symmetric matrix whose upper triangle is given."""
    return np.triu(upper) + np.triu(upper, 1).T
