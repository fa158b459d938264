"""The reward model q̂ for values: predicts what an action earns, from earlier rewards only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.arrays import Array
from .batch import Batch
from .leverage import Leverage
from .memory import grid
from .passes import Clock, Pass, Stretch, single_units, stretch
from .reading import LogReader

# Rows after which the parameters are recomputed.
_REFRESH = 256
# Rows that are predicted together to choose a memory; factorisations dominate the cost otherwise.
_UNIT = 8
_LANES = 8


class RewardModel:
    """Linear regression with forgetting; it uses the memory that predicted best so far.

    The memory and the parameters for a row depend only on rewards that came before this row.
    """

    def __init__(self, log: LogReader) -> None:
        self._clock, self._scales = Clock("decisions", log.rate), log.scales()
        self._lanes = grid(log, _LANES)
        self._pass = Pass(self._lanes, width=log.width, blocks=log.blocks)
        self._leverage = Leverage(log.width)
        self._held: Stretch | None = None
        self._theta: Array | None = None

    def pieces(self, batch: Batch) -> Iterator[tuple[slice, Array]]:
        """Parts of a batch, each with the parameters (B, w) for its rows; then learns these rows.

        Parameters are recomputed after every 256 rows of the log, for any batch size.
        """
        rows, at = stretch(batch, self._clock(batch), self._scales, self._leverage), 0
        while at < len(batch):
            waiting = 0 if self._held is None else len(self._held)
            part = slice(at, min(at + _REFRESH - waiting, len(batch)))
            yield part, self.theta
            taken = rows.part(part)
            self._held = taken if self._held is None else self._held.then(taken)
            if len(self._held) == _REFRESH:
                self._pass.take(self._held, single_units(_REFRESH, _UNIT))
                self._held, self._theta = None, None
            at = part.stop

    @property
    def theta(self) -> Array:
        """Parameters per block in the units of the log's vectors, shape (B, w)."""
        if self._theta is None:
            self._theta = np.asarray(self._pass.theta(self._best) / self._scales)
        return self._theta

    @property
    def memory(self) -> float:
        """The memory that predicted best so far, in decisions."""
        return float(self._lanes[self._best])

    @property
    def _best(self) -> int:
        return int(np.argmax(self._pass.evidence))
