"""Propensities estimated from shares of earlier plays, for loggers that ignored contexts."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .batch import Batch
from .reading import LogReader

_MEMORY, _STEP = 2000.0, 100


class RunningShares:
    """How often each action was recently played when it was offered.

    p̂ = (plays + 1)/(rows offered + K), both with a memory of about 2,000 rows. Only earlier rows
    count, in steps of 100 rows of the log.
    """

    def __init__(self, log: LogReader) -> None:
        self._log = log
        # Per action: plays and rows offered, faded up to the last step; and the same since then.
        self._sums, self._since, self._rows = np.zeros((2, 0)), np.zeros((2, 0)), 0

    def __call__(self, batch: Batch) -> Array:
        """Estimated propensities of the rows of the next batch, shape (n,)."""
        out, at = np.empty(len(batch)), 0
        self._grow(len(self._log.action_names))
        while at < len(batch):
            part = slice(at, min(at + _STEP - self._rows, len(batch)))
            label, size = batch.labels[batch.played[part]], batch.size[part]
            out[part] = (self._sums[0, label] + 1.0) / (self._sums[1, label] + size)
            np.add.at(self._since[0], label, 1.0)
            offsets = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
            offered = batch.labels[np.repeat(batch.first[part], size) + offsets]
            np.add.at(self._since[1], offered, 1.0)
            self._rows += part.stop - part.start
            if self._rows == _STEP:
                self._sums = (1.0 - _STEP / _MEMORY) * self._sums + self._since
                self._since, self._rows = np.zeros_like(self._since), 0
            at = part.stop
        return out

    def _grow(self, size: int) -> None:
        missing = ((0, 0), (0, max(0, size - self._sums.shape[1])))
        self._sums, self._since = np.pad(self._sums, missing), np.pad(self._since, missing)
