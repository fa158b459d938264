"""Sums and draws for numbers given by their logarithms."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array


def log_sum(logs: Array) -> Array:
    """log Σ exp(logs) along the last axis."""
    top = logs.max(axis=-1)
    return np.asarray(top + np.log(np.exp(logs - top[..., None]).sum(axis=-1)))


def pick(logs: Array, generator: np.random.Generator) -> int:
    """An index, drawn with probabilities proportional to exp(logs)."""
    weights = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(weights, generator.random() * weights[-1], side="right"))
