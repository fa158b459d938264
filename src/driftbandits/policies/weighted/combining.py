"""Gives a state of the weighted family more coordinates, and merges two states."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...least_squares.combining import added, padded, padded_rows
from ...least_squares.forgetting import (
    FACTOR_AGE,
    FIRST,
    STEPS,
    STORED,
    UNIT,
    WEIGHT_SQUARES,
    WITHDRAWN,
    all_rows,
)


def widened(state: Any, dim: int, wider: int) -> Any:
    """``state`` with zeros along the coordinates from ``dim`` to ``wider``."""
    squared = wider if state.gram_squared.shape[1] else 0
    counters = state.counters.copy()
    counters[FACTOR_AGE] = -1.0
    return state._replace(
        gram=padded(state.gram, 2, wider, wider),
        gram_squared=padded(state.gram_squared, 2, squared, squared),
        moment=padded(state.moment, 2, wider),
        counters=counters,
        history=padded_rows(state.history, dim, wider),
        belated=padded_rows(state.belated, dim, wider),
        factor=np.zeros((wider, wider)),
        theta=np.zeros(wider),
        work=np.zeros((squared + 1, wider)),
    )


def merged(one: Any, other: Any) -> Any:
    """A state that remembers what ``one`` and ``other`` remember; their clocks must agree."""
    scale = one.counters[UNIT] / other.counters[UNIT]
    counters = one.counters.copy()
    counters[WEIGHT_SQUARES] += scale**2 * other.counters[WEIGHT_SQUARES]
    counters[STEPS] += other.counters[STEPS]
    counters[WITHDRAWN] += other.counters[WITHDRAWN]
    counters[FACTOR_AGE] = -1.0
    rows = np.concatenate([all_rows(s.counters, s.history, s.belated) for s in (one, other)])
    rows = rows[np.argsort(rows[:, -1], kind="stable")]
    counters[FIRST], counters[STORED] = 0.0, len(rows)
    capacity = max(len(one.history), len(other.history), len(rows))
    belated = np.zeros_like(one.belated)
    # Σ|r|, and the largest value that it has had: see `_store`.
    belated[:1, -2:] = one.belated[:1, -2:] + other.belated[:1, -2:]
    return one._replace(
        gram=added(one.gram, other.gram, scale),
        gram_squared=added(one.gram_squared, other.gram_squared, scale**2),
        moment=added(one.moment, other.moment, scale),
        counters=counters,
        history=padded(rows, capacity, rows.shape[1]),
        belated=belated,
    )
