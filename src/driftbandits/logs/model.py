"""The model q̂ of values: what earlier rewards say an action earns, and nothing later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.arrays import Array
from .batch import Batch
from .leverage import Leverage
from .memory import grid
from .passes import Clock, Pass, single_units, stretch
from .reading import LogReader

# Rows after which the parameters are computed anew.
_REFRESH = 256
# Rows that are predicted together, to choose a memory: factorisations would dominate otherwise.
_UNIT = 8
_LANES = 8


class RewardModel:
    """Linear regression with forgetting; at any time with the memory that predicted best so far.

    Which memory that is, and its parameters, follow from rewards that had come before the rows
    they are used for.
    """

    def __init__(self, log: LogReader) -> None:
        self._clock, self._scales = Clock("decisions", log.rate), log.scales()
        self._lanes = grid(log, _LANES)
        self._pass = Pass(self._lanes, width=log.width, blocks=log.blocks)
        self._leverage = Leverage(log.width)

    def pieces(self, batch: Batch) -> Iterator[tuple[slice, Array]]:
        """Parts of a batch, each with the parameters (B, w) for its rows; then it learns them."""
        rows = stretch(batch, self._clock(batch), self._scales, self._leverage)
        for start in range(0, len(batch), _REFRESH):
            part = slice(start, min(start + _REFRESH, len(batch)))
            yield part, self.theta
            self._pass.take(rows.part(part), single_units(part.stop - part.start, _UNIT))

    @property
    def theta(self) -> Array:
        """Parameters per block in the units of the log's vectors, shape (B, w)."""
        return np.asarray(self._pass.theta(self._best) / self._scales)

    @property
    def memory(self) -> float:
        """The memory that predicted best so far, in decisions."""
        return float(self._lanes[self._best])

    @property
    def _best(self) -> int:
        return int(np.argmax(self._pass.evidence))
