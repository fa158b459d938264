"""Propensities estimated from shares of earlier plays, for loggers that ignored contexts."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .batch import Batch
from .reading import LogReader

_MEMORY = 2000.0


class RunningShares:
    """How often each action was played lately when it could be, from earlier batches of rows.

    p̂ = (plays + 1)/(rows that could + K), each with a memory of about 2,000 rows, taken before the
    rows it is used for, in steps of 100 rows.
    """

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._plays = np.zeros(0)
        self._could = np.zeros(0)

    def __call__(self, batch: Batch) -> Array:
        """Estimated propensities of the rows of the next batch, shape (n,)."""
        out = np.empty(len(batch))
        for start in range(0, len(batch), 100):
            part = np.arange(start, min(start + 100, len(batch)))
            self._grow(len(self._log.action_names))
            label = batch.labels[batch.played[part]]
            size = batch.size[part]
            out[part] = (self._plays[label] + 1.0) / (self._could[label] + size)
            kept = 1.0 - len(part) / _MEMORY
            self._plays *= kept
            self._could *= kept
            np.add.at(self._plays, label, 1.0)
            offsets = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
            offered = batch.labels[np.repeat(batch.first[part], size) + offsets]
            np.add.at(self._could, offered, 1.0)
        return out

    def _grow(self, size: int) -> None:
        missing = size - len(self._plays)
        if missing > 0:
            self._plays = np.append(self._plays, np.zeros(missing))
            self._could = np.append(self._could, np.zeros(missing))
