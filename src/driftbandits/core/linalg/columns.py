"""Sets of vectors as the columns of a matrix: a loop along one row covers all vectors."""

from __future__ import annotations

from ..arrays import Array
from ..compiling import lean_kernel, row_kernel
from .factors import backward_four, forward_four
from .rows import clear, four_entries, four_rows, scale, subtract, subtract_four


@lean_kernel
def whiten_columns(factor: Array, columns: Array) -> None:
    """Replace every column c of ``columns`` (d or more, K) by R⁻ᵀc."""
    dim = factor.shape[1]
    fours = dim // 4 * 4
    for i in range(0, fours, 4):
        forward_four(factor, i, four_rows(columns, i, 0))
        for j in range(i + 4, fours, 2):
            subtract_four(
                four_rows(columns, i, 0),
                columns[j],
                four_entries(factor, i, j),
                columns[j + 1],
                four_entries(factor, i, j + 1),
            )
    for i in range(fours, dim):
        for j in range(i):
            subtract(columns[i], factor[j, i], columns[j])
        scale(columns[i], 1.0 / factor[i, i])


@lean_kernel
def unwhiten_columns(factor: Array, columns: Array) -> None:
    """Replace every column c of ``columns`` (d or more, K) by R⁻¹c."""
    dim = factor.shape[1]
    fours = dim // 4 * 4
    for i in range(dim - 1, fours - 1, -1):
        scale(columns[i], 1.0 / factor[i, i])
        for j in range(i):
            subtract(columns[j], factor[j, i], columns[i])
    for i in range(fours - 4, -1, -4):
        backward_four(factor, i, four_rows(columns, i, 0))
        for j in range(0, i, 2):
            row, below = factor[j], factor[j + 1]
            subtract_four(
                four_rows(columns, i, 0),
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


@row_kernel
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


@lean_kernel
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
