"""Sums of two estimators added, and sums given more coordinates: on arrays, outside kernels."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .sums import compensated

# The definition that kernels use takes arrays as well as numbers.
_compensated = getattr(compensated, "py_func", compensated)


def added(one: Array, other: Array, scale: float) -> Array:
    """``one`` + ``scale`` · ``other``, compensated sums (2, …) both."""
    value, owed = one
    for term in scale * other:
        value, owed = _compensated(value, owed, term)
    return np.stack([value, owed])


def padded(array: Array, *shape: int) -> Array:
    """``array`` in the corner of zeros of ``shape``."""
    wide = np.zeros(shape)
    wide[tuple(slice(size) for size in array.shape)] = array
    return wide


def longer(array: Array, rows: int) -> Array:
    """``array`` with zeros after it, ``rows`` rows in total."""
    grown = np.zeros((rows, *array.shape[1:]))
    grown[: len(array)] = array
    return grown


def padded_rows(rows: Array, dim: int, wider: int) -> Array:
    """Rows [vector of ``dim``, the rest] with the vector padded to ``wider``."""
    wide = np.zeros((len(rows), rows.shape[1] + wider - dim))
    wide[:, :dim] = rows[:, :dim]
    wide[:, wider:] = rows[:, dim:]
    return wide
