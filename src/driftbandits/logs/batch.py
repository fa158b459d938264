"""A batch: consecutive rows of a log as arrays, the same for all file formats."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Value of `chosen` if the log has none.
MISSING = int(np.iinfo(np.int64).min)
# Fields that do not have one entry per row.
_SHARED = ("vectors", "blocks", "labels", "table")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """n consecutive rows.

    The actions of row i are entries ``first[i]`` to ``first[i] + size[i]`` of ``vectors``,
    ``blocks`` and ``labels``. Several rows may share entries, for example with a catalogue. The
    full vector of entry j has ``vectors[j]`` at the coordinates of block ``blocks[j]`` and zeros
    elsewhere: e_block ⊗ x.

    Attributes:
        row: Number of the row in the log, from 1, shape (n,).
        time: Seconds, shape (n,).
        vectors: Vectors of the actions, shape (m, w).
        blocks: Block of each entry, shape (m,); all 0 if vectors are given in full.
        labels: Action of each entry, as a position in ``Log.action_names``, shape (m,).
        first: First entry of each row, shape (n,).
        size: Number K of actions of each row, shape (n,).
        chosen: Position of the played action in its set, shape (n,).
        propensity: Probability of the played action, shape (n,); NaN if not logged.
        reward: Reward of the played action, shape (n,); NaN if not known.
        arrival: Seconds when the reward came, shape (n,); infinity if it has not come.
        count: Number of decisions that a row stands for, shape (n,).
        id: Names of the decisions, shape (n,), or None.
        policy: Names of the loggers, shape (n,), or None.
        ripe: Seconds from which a missing reward means the default, shape (n,); infinity if the log
            ends earlier. None if a missing reward never means the default.
        table: The Arrow record batch that the rows were read from.
    """

    row: Ints
    time: Array
    vectors: Array
    blocks: Ints
    labels: Ints
    first: Ints
    size: Ints
    chosen: Ints
    propensity: Array
    reward: Array
    arrival: Array
    count: Array
    id: npt.NDArray[Any] | None = None
    policy: npt.NDArray[Any] | None = None
    ripe: Array | None = None
    table: Any = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def played(self) -> Ints:
        """Position of each row's action in ``vectors``, shape (n,)."""
        return self.first + self.chosen

    @property
    def known(self) -> Mask:
        """Rows whose reward is known, shape (n,)."""
        return np.isfinite(self.reward)

    def actions(self, i: int, blocks: int) -> Array:
        """The full vectors (K, d) of row i of a log with ``blocks`` blocks."""
        rows = slice(int(self.first[i]), int(self.first[i] + self.size[i]))
        return embedded(self.vectors[rows], self.blocks[rows], blocks)

    def judged(self) -> Batch:
        """The rows with every reward delayed until a missing reward would mean the default.

        A click may be known at once, but that there was no click only hours later. Among younger
        rows only the clicks are known, so using them at once would bias the rewards upwards.
        """
        if self.ripe is None:
            return self
        arrival = np.maximum(self.arrival, self.ripe)
        reward = np.where(np.isfinite(arrival), self.reward, np.nan)
        return replace(self, reward=reward, arrival=arrival)

    def where(self, keep: Mask) -> Batch:
        """The rows for which ``keep`` (n,) is true; the arrays of actions stay whole."""
        chosen = {
            field.name: getattr(self, field.name)[keep]
            for field in fields(self)
            if field.name not in _SHARED and getattr(self, field.name) is not None
        }
        table = None if self.table is None else self.table.filter(keep)
        return replace(self, table=table, **chosen)


def embedded(vectors: Array, block: Ints, blocks: int) -> Array:
    """e_block ⊗ x for vectors x (K, w): shape (K, blocks·w)."""
    if blocks == 1:
        return np.ascontiguousarray(vectors)
    width = vectors.shape[1]
    full = np.zeros((len(vectors), blocks, width))
    full[np.arange(len(vectors)), block] = vectors
    return full.reshape(len(vectors), blocks * width)
