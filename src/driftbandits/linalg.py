"""Dense linear algebra for symmetric positive definite matrices, compiled.

Symmetric matrices live in their lower triangle. Sets of vectors are stored as columns, one
column a vector and shape (d, K), so that the inner loops run over contiguous memory.
"""

from __future__ import annotations

import numpy as np

from ._compile import lean_kernel
from .arrays import Array

# Share of a squared pivot below which taking out a vector has cancelled too many digits.
LOST = 1e-2

# Assignments to whole slices compile to general broadcasting code, many times larger than a loop.


@lean_kernel
def fill(vector: Array, value: float) -> None:
    """vector ← value."""
    for i in range(vector.size):
        vector[i] = value


@lean_kernel
def fill_matrix(matrix: Array, value: float) -> None:
    """matrix ← value."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] = value


@lean_kernel
def copy(source: Array, target: Array) -> None:
    """target ← source, both vectors."""
    for i in range(source.size):
        target[i] = source[i]


@lean_kernel
def copy_matrix(source: Array, target: Array) -> None:
    """target ← source, both matrices."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@lean_kernel
def cholesky(gram: Array, ridge: float, factor: Array) -> None:
    """Lower factor L of ``gram + ridge·I`` = L Lᵀ, written to ``factor`` (d, d).

    A pivot is a Schur complement of a matrix that is at least ridge·I, so it is at least
    ``ridge``: clamping it there repairs rounding, and the factor is always positive definite.
    """
    for i in range(gram.shape[0]):
        for j in range(i + 1):
            total = gram[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(max(total + ridge, ridge))
            else:
                factor[i, j] = total / factor[j, j]


@lean_kernel
def solve(factor: Array, vector: Array, out: Array) -> None:
    """x = (L Lᵀ)⁻¹ vector, written to ``out`` (d,)."""
    dim = vector.size
    for i in range(dim):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]
    for i in range(dim - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, dim):
            total -= factor[k, i] * out[k]
        out[i] = total / factor[i, i]


@lean_kernel
def whiten(factor: Array, vector: Array) -> float:
    """Replace ``vector`` (d,) by L⁻¹ vector, and return the square of its norm."""
    square = 0.0
    for i in range(vector.size):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]
        square += vector[i] * vector[i]
    return square


@lean_kernel
def copy_columns(source: Array, target: Array, first: int, count: int) -> None:
    """``count`` columns of ``source`` from ``first`` on, as the first columns of ``target``."""
    for i in range(source.shape[0]):
        copy(source[i, first : first + count], target[i])


# The loops over columns take four rows at a time: each column entry is then loaded and stored once
# for four products, and memory, not arithmetic, is what they wait for. They handle the first
# ``count`` columns, so that a caller can keep a block of them in the fastest cache.


@lean_kernel
def solve_lower(factor: Array, columns: Array, count: int) -> None:
    """Replace the first ``count`` columns c of ``columns`` (d or more, K) by L⁻¹c."""
    for i in range(factor.shape[1]):
        fours = i // 4 * 4
        for j in range(0, fours, 4):
            w0, w1, w2, w3 = factor[i, j], factor[i, j + 1], factor[i, j + 2], factor[i, j + 3]
            for k in range(count):
                columns[i, k] -= (
                    w0 * columns[j, k]
                    + w1 * columns[j + 1, k]
                    + w2 * columns[j + 2, k]
                    + w3 * columns[j + 3, k]
                )
        for j in range(fours, i):
            weight = factor[i, j]
            for k in range(count):
                columns[i, k] -= weight * columns[j, k]
        scale = 1.0 / factor[i, i]
        for k in range(count):
            columns[i, k] *= scale


@lean_kernel
def solve_upper(factor: Array, columns: Array, count: int) -> None:
    """Replace the first ``count`` columns c of ``columns`` (d or more, K) by L⁻ᵀc."""
    dim = factor.shape[1]
    for i in range(dim - 1, -1, -1):
        fours = i + 1 + (dim - 1 - i) % 4
        for j in range(i + 1, fours):
            weight = factor[j, i]
            for k in range(count):
                columns[i, k] -= weight * columns[j, k]
        for j in range(fours, dim, 4):
            w0, w1, w2, w3 = factor[j, i], factor[j + 1, i], factor[j + 2, i], factor[j + 3, i]
            for k in range(count):
                columns[i, k] -= (
                    w0 * columns[j, k]
                    + w1 * columns[j + 1, k]
                    + w2 * columns[j + 2, k]
                    + w3 * columns[j + 3, k]
                )
        scale = 1.0 / factor[i, i]
        for k in range(count):
            columns[i, k] *= scale


@lean_kernel
def column_norms_squared(dim: int, columns: Array, out: Array, count: int) -> None:
    """‖c‖² of the first ``count`` columns c of ``columns`` (d, K), in ``out`` (K,)."""
    for k in range(count):
        out[k] = columns[0, k] * columns[0, k]
    for i in range(1, dim):
        for k in range(count):
            out[k] += columns[i, k] * columns[i, k]


@lean_kernel
def column_quadratic(gram: Array, ridge: float, columns: Array, out: Array, count: int) -> None:
    """cᵀ(gram + ridge·I)c of the first ``count`` columns c, in ``out`` (K,)."""
    for k in range(count):
        out[k] = 0.0
    for i in range(gram.shape[0]):
        fours = i // 4 * 4
        for j in range(0, fours, 4):
            w0, w1, w2, w3 = gram[i, j], gram[i, j + 1], gram[i, j + 2], gram[i, j + 3]
            for k in range(count):
                out[k] += (2.0 * columns[i, k]) * (
                    w0 * columns[j, k]
                    + w1 * columns[j + 1, k]
                    + w2 * columns[j + 2, k]
                    + w3 * columns[j + 3, k]
                )
        for j in range(fours, i):
            weight = 2.0 * gram[i, j]
            for k in range(count):
                out[k] += weight * columns[i, k] * columns[j, k]
        weight = gram[i, i] + ridge
        for k in range(count):
            out[k] += weight * columns[i, k] * columns[i, k]


@lean_kernel
def column_products(vector: Array, columns: Array, out: Array, count: int) -> None:
    """⟨vector, c⟩ of the first ``count`` columns c of ``columns``, in ``out`` (K,)."""
    for k in range(count):
        out[k] = 0.0
    for i in range(vector.size):
        weight = vector[i]
        for k in range(count):
            out[k] += weight * columns[i, k]


@lean_kernel
def log_determinant(factor: Array) -> float:
    """log det(L Lᵀ)."""
    total = 0.0
    for i in range(factor.shape[1]):
        total += np.log(factor[i, i])
    return 2.0 * total


@lean_kernel
def update_factor(factor: Array, vector: Array, weight: float, least: float) -> bool:
    """Factor of L Lᵀ + weight·vvᵀ in place of L, for either sign; ``vector`` (d,) is overwritten.

    Plane rotations, or hyperbolic ones for a negative weight, column by column (Gill, Golub, Murray
    and Saunders, 1974): O(d²). False, and a factor that is of no use, where a pivot squared falls
    below ``least``, or to a hundredth of itself: taking out is only as good as what remains.
    """
    dim = factor.shape[0]
    root = np.sqrt(abs(weight))
    for i in range(dim):
        vector[i] *= root
    sign = 1.0 if weight > 0.0 else -1.0
    for j in range(dim):
        old = factor[j, j]
        square = old * old + sign * vector[j] * vector[j]
        if square < least or square < LOST * old * old:
            return False
        new = np.sqrt(square)
        cosine, sine = new / old, vector[j] / old
        inverse = 1.0 / cosine
        factor[j, j] = new
        for i in range(j + 1, dim):
            changed = (factor[i, j] + sign * sine * vector[i]) * inverse
            factor[i, j] = changed
            vector[i] = cosine * vector[i] - sine * changed
    return True


def symmetric(lower: Array) -> Array:
    """The symmetric matrix whose lower triangle is given."""
    return np.tril(lower) + np.tril(lower, -1).T
