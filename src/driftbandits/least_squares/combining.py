"""Adds the sums of two estimators, and gives sums more coordinates: on arrays, outside kernels."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .sums import compensated

# The same definition as in kernels: as plain Python it also takes arrays.
_compensated = getattr(compensated, "py_func", compensated)


def added(one: Array, other: Array, scale: float) -> Array:
    """``one`` + ``scale`` · ``other``, where both are compensated sums (2, …)."""
    value, owed = one
    for term in scale * other:
        value, owed = _compensated(value, owed, term)
    return np.stack([value, owed])


def padded(array: Array, *shape: int) -> Array:
    """An array of ``shape`` with ``array`` in its first corner, and zeros elsewhere."""
    wide = np.zeros(shape)
    wide[tuple(slice(size) for size in array.shape)] = array
    return wide


def longer(array: Array, rows: int) -> Array:
    """``array`` with rows of zeros appended, ``rows`` rows in total."""
    grown = np.zeros((rows, *array.shape[1:]))
    grown[: len(array)] = array
    return grown


def padded_rows(rows: Array, dim: int, wider: int) -> Array:
    """Rows [vector of length ``dim``, the rest], with the vector padded to length ``wider``."""
    wide = np.zeros((len(rows), rows.shape[1] + wider - dim))
    wide[:, :dim] = rows[:, :dim]
    wide[:, wider:] = rows[:, dim:]
    return wide
