"""A cache of the rows of recent actions.

A lookup compares the whole content of the actions with private copies. A dictionary that has
changed therefore counts as new. The cache changes the speed of an answer, never the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array
from ..core.compiling import entry_point
from .inputs import named_actions
from .slots import SlotTable
from .values import NotPlain, plain_copy

# The cache holds at most this many numbers (64 MB).
_KEPT = 8_000_000

Positions = npt.NDArray[np.intp]
Row = dict[str, Any]
Compute = Callable[[Iterable[tuple[Any, Row]], SlotTable | None], Array]


def _weighted(rows: Array, positions: Positions, weights: Array) -> Array:
    """The rows at ``positions`` (K,) of ``rows`` (n, d), each times ``weights`` (d,): (K, d).

    0.0 is added to turn -0.0 into 0.0: the sign would show in printed and written numbers.
    """
    vectors = np.empty((positions.size, weights.size))
    for row in range(positions.size):
        position = positions[row]
        for column in range(weights.size):
            vectors[row, column] = rows[position, column] * weights[column] + 0.0
    return vectors


# Compiled, because numpy takes twice as long for many short rows.
_weighted_rows = cast(
    Callable[[Array, Positions, Array], Array], entry_point(_weighted, "features")
)


class Recall:
    """Rows (d,) of actions, computed once as long as the actions do not change.

    Args:
        compute: Computes rows from ids, features and slots; raises if something is wrong.
        dim: Length d of a row.
    """

    def __init__(self, compute: Compute, dim: int) -> None:
        self._compute = compute
        self._dim = dim
        self._lock = Lock()
        self._slots: SlotTable | None = None
        self._copies: dict[Any, Row] = {}  # features by id, as they were when the row was computed
        self._positions: dict[Any, int] = {}
        self._rows: Array = np.empty((0, dim))
        self._last: tuple[list[Any], Positions] = [], np.empty(0, dtype=np.intp)

    def weighted(self, actions: Any, slots: SlotTable | None, weights: Array) -> Array:
        """The rows of actions in any shape, in the order given, times ``weights`` (d,): (K, d)."""
        named = actions if type(actions) is dict and actions else named_actions(actions)
        with self._lock:
            if slots is not self._slots:
                self._forget(slots)
            if not self._knows(named):
                named = named_actions(named)  # rows inside a dictionary may be of any shape too
                try:
                    self._learn(named)
                except NotPlain:
                    rows = self._compute(named.items(), slots)
                    return _weighted_rows(rows, np.arange(len(rows)), weights)
            return _weighted_rows(self._rows, self._where(list(named)), weights)

    def _knows(self, named: dict[Any, Row]) -> bool:
        """Whether the cache has a row for each of the actions as they are now."""
        try:
            return named.items() <= self._copies.items()
        except (TypeError, ValueError):  # some values, such as arrays, cannot be compared
            return False

    def _learn(self, named: dict[Any, Row]) -> None:
        """Compute and keep the rows that are missing."""
        new = {id: row for id, row in named.items() if not self._knows({id: row})}
        if (len(self._copies) + len(new)) * self._dim > _KEPT:
            self._forget(self._slots)
            new = named
        if not new:
            return
        rows = self._compute(new.items(), self._slots)
        self._copies.update(plain_copy(new))
        for id in new:
            self._positions.setdefault(id, len(self._positions))
        self._make_room(len(self._positions))
        self._rows[self._where(list(new))] = rows

    def _where(self, ids: list[Any]) -> Positions:
        """Positions of the rows of actions, (K,)."""
        if ids != self._last[0]:
            found = np.fromiter(map(self._positions.__getitem__, ids), np.intp, len(ids))
            self._last = ids, found
        return self._last[1]

    def _make_room(self, count: int) -> None:
        """Make room for ``count`` rows."""
        if count > len(self._rows):
            longer = np.empty((2 * count, self._dim))
            longer[: len(self._rows)] = self._rows
            self._rows = longer

    def _forget(self, slots: SlotTable | None) -> None:
        """Empty the cache: rows depend on the slots of the actions."""
        self._slots = slots
        self._copies, self._positions = {}, {}
        self._rows = np.empty((0, self._dim))
        self._last = [], np.empty(0, dtype=np.intp)
