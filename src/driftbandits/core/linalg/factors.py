"""Symmetric positive definite matrices and their factors, V = RᵀR.

Both are stored in the upper triangle; entries below the diagonal have no meaning.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..compiling import lean_kernel, row_kernel
from .rows import (
    add_four,
    clear,
    copy,
    four_entries,
    four_rows,
    inner,
    inner_two,
    scale,
    subtract,
    subtract_four,
)

# If taking out a vector leaves less than this share of a squared pivot, too many digits cancelled.
LOST = 1e-2


@lean_kernel
def _pivot(complement: float, ridge: float) -> float:
    """Pivot of R: the root of a Schur complement of a matrix that is at least ridge·I.

    The complement is at least ``ridge`` too. Clamping it there repairs rounding, and keeps the
    matrix RᵀR positive definite.
    """
    return float(np.sqrt(max(complement + ridge, ridge)))


@lean_kernel
def _finish_row(factor: Array, i: int, ridge: float) -> None:
    """Row i of R, from the rows above."""
    row = factor[i, i:]
    for j in range(i):
        subtract(row, factor[j, i], factor[j, i:])
    pivot = _pivot(row[0], ridge)
    scale(row, 1.0 / pivot)
    row[0] = pivot


@row_kernel
def _factor_four(factor: Array, i: int, ridge: float) -> None:
    """The triangle of rows and columns i to i + 3 of R; all rows above are already subtracted."""
    row0, row1, row2, row3 = four_rows(factor, i, i)
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
    # In the plane, the loops would cost more than their arithmetic.
    pivot = np.sqrt(max(gram[0, 0] + ridge, ridge))
    across = gram[0, 1] / pivot
    factor[1, 1] = np.sqrt(max(gram[1, 1] - across * across + ridge, ridge))
    factor[0, 0], factor[0, 1] = pivot, across


@lean_kernel
def _cholesky_by_rows(gram: Array, ridge: float, factor: Array) -> None:
    dim = gram.shape[0]
    fours = dim // 4 * 4
    for i in range(dim):
        copy(gram[i, i:], factor[i, i:])
    for i in range(0, fours, 4):
        _factor_four(factor, i, ridge)
        # These rows are passed twice. The arguments do not overlap: one is read in columns i to
        # i + 3, the other holds the columns after them.
        forward_four(factor, i, four_rows(factor, i, i + 4))
        for j in range(i + 4, fours, 2):
            subtract_four(
                four_rows(factor, i, j),
                factor[j, j:],
                four_entries(factor, i, j),
                factor[j + 1, j:],
                four_entries(factor, i, j + 1),
            )
    for i in range(fours, dim):
        _finish_row(factor, i, ridge)


@lean_kernel
def whiten(factor: Array, vector: Array) -> float:
    """Replace ``vector`` (d,) by R⁻ᵀ vector, and return the square of its norm."""
    square = 0.0
    for i in range(vector.size):
        vector[i] *= 1.0 / factor[i, i]  # the inverse need not wait for earlier entries
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


@lean_kernel
def _solve_by_rows(factor: Array, vector: Array, out: Array) -> None:
    dim = vector.size
    fours = dim // 4 * 4
    copy(vector, out)
    for i in range(0, fours, 4):
        _forward_block(factor, i, out[i : i + 4])
        weights = -out[i], -out[i + 1], -out[i + 2], -out[i + 3]
        add_four(out[i + 4 :], weights, four_rows(factor, i, i + 4))
    for i in range(fours, dim):
        out[i] *= 1.0 / factor[i, i]
        subtract(out[i + 1 :], out[i], factor[i, i + 1 :])
    for i in range(dim - 1, fours - 1, -1):
        out[i] -= inner(factor[i, i + 1 :], out[i + 1 :])
        out[i] *= 1.0 / factor[i, i]
    for i in range(fours - 4, -1, -4):
        _backward_block(factor, i, out[i : i + 4], out[i + 4 :])


@row_kernel
def _forward_block(factor: Array, i: int, block: Array) -> None:
    """Entries i to i + 3 of R⁻ᵀ vector; the entries before are already subtracted."""
    for j in range(4):
        block[j] *= 1.0 / factor[i + j, i + j]
        for k in range(j + 1, 4):
            block[k] -= block[j] * factor[i + j, i + k]


@lean_kernel
def _backward_block(factor: Array, i: int, block: Array, rest: Array) -> None:
    """Entries i to i + 3 of R⁻¹ vector, from the entries after them."""
    for j in range(0, 4, 2):
        first, second = inner_two(factor[i + j, i + 4 :], factor[i + j + 1, i + 4 :], rest)
        block[j] -= first
        block[j + 1] -= second
    for j in range(3, -1, -1):
        for k in range(j + 1, 4):
            block[j] -= block[k] * factor[i + j, i + k]
        block[j] *= 1.0 / factor[i + j, i + j]


@row_kernel
def forward_four(factor: Array, i: int, rows: tuple[Array, Array, Array, Array]) -> None:
    """Rows i to i + 3 of R⁻ᵀ columns; the rows above are already subtracted."""
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


@row_kernel
def backward_four(factor: Array, i: int, rows: tuple[Array, Array, Array, Array]) -> None:
    """Rows i to i + 3 of R⁻¹ columns; the rows below are already subtracted."""
    s0, s1 = 1.0 / factor[i, i], 1.0 / factor[i + 1, i + 1]
    s2, s3 = 1.0 / factor[i + 2, i + 2], 1.0 / factor[i + 3, i + 3]
    w01, w02, w03 = factor[i, i + 1], factor[i, i + 2], factor[i, i + 3]
    w12, w13, w23 = factor[i + 1, i + 2], factor[i + 1, i + 3], factor[i + 2, i + 3]
    row0, row1, row2, row3 = rows
    for k in range(row0.size):
        x3 = row3[k] * s3
        x2 = (row2[k] - w23 * x3) * s2
        x1 = (row1[k] - w13 * x3 - w12 * x2) * s1
        row0[k] = (row0[k] - w03 * x3 - w02 * x2 - w01 * x1) * s0
        row1[k], row2[k], row3[k] = x1, x2, x3


@lean_kernel
def inverse_rows(factor: Array, out: Array) -> None:
    """out ← R⁻ᵀ, a lower triangle with zeros above it, row by row."""
    for i in range(factor.shape[0]):
        row, inverse_pivot, fours = out[i], 1.0 / factor[i, i], i // 4 * 4
        clear(row)
        for j in range(0, fours, 4):
            a0, a1, a2, a3 = four_entries(factor, j, i)
            add_four(row[: j + 4], (-a0, -a1, -a2, -a3), four_rows(out, j, 0))
        for j in range(fours, i):
            subtract(row[: j + 1], factor[j, i], out[j])
        scale(row[:i], inverse_pivot)
        row[i] = inverse_pivot


@lean_kernel
def inverse_from_rows(rows: Array) -> None:
    """Replace R⁻ᵀ, from `inverse_rows`, by the whole matrix (RᵀR)⁻¹ = R⁻¹R⁻ᵀ.

    Row i of its lower triangle is Σ_{k≥i} R⁻ᵀ_ki R⁻ᵀ_k, so rows can be replaced from the top.
    """
    dim = rows.shape[0]
    for i in range(dim):
        row, fours = rows[i, : i + 1], dim - (dim - 1 - i) // 4 * 4
        scale(row, row[i])
        for k in range(i + 1, fours):
            subtract(row, -rows[k, i], rows[k])
        for k in range(fours, dim, 4):
            add_four(row, four_entries(rows, k, i), four_rows(rows, k, 0))
    for i in range(dim):
        for j in range(i + 1, dim):
            rows[i, j] = rows[j, i]


@row_kernel
def log_determinant(factor: Array) -> float:
    """log det(RᵀR)."""
    total = 0.0
    for i in range(factor.shape[1]):
        total += np.log(factor[i, i])
    return 2.0 * total


@row_kernel
def _rotate(row: Array, rest: Array, cosine: float, sine: float, sign: float) -> None:
    """row ← (row + sign·sine·rest) / cosine, then rest ← cosine·rest − sine·row."""
    inverse, signed = 1.0 / cosine, sign * sine
    for j in range(row.size):
        row[j] = (row[j] + signed * rest[j]) * inverse
        rest[j] = cosine * rest[j] - sine * row[j]


@lean_kernel
def update_factor(factor: Array, vector: Array, weight: float, least: float) -> bool:
    """Replace R by the factor of RᵀR + weight·vvᵀ, for either sign; overwrites ``vector`` (d,).

    Plane rotations, or hyperbolic ones for a negative weight, row by row (Gill, Golub, Murray and
    Saunders, 1974): O(d²). Returns False, and leaves a factor that is of no use, if a squared pivot
    falls below ``least`` or below a hundredth of what it was: too many digits have cancelled.
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
        factor[i, i] = new
        _rotate(factor[i, i + 1 :], vector[i + 1 :], cosine, sine, sign)
    return True


def symmetric(upper: Array) -> Array:
    """The symmetric matrix whose upper triangle is given."""
    return np.triu(upper) + np.triu(upper, 1).T
