"""The rows of actions that were seen lately.

They are found again by comparing the whole content of the actions with private copies. A
dictionary that has changed is therefore a new one, and memory changes the speed of an answer but
never the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array
from .inputs import named_actions
from .slots import SlotTable
from .values import NotPlain, plain_copy

# Rows are forgotten beyond this many numbers (64 MB), so that memory stays bounded.
_KEPT = 8_000_000

Features = dict[str, Any]
Compute = Callable[[Iterable[tuple[Any, Features]], SlotTable | None], Array]


class _Last(NamedTuple):
    """The actions of the last call: private copies, the order of their ids, and their rows."""

    actions: dict[Any, Features]
    order: list[Any]
    slots: SlotTable | None
    rows: Array


class Recall:
    """Rows (K, d) of actions, computed once as long as the actions do not change.

    Args:
        compute: From ids, features and slots to rows, with an error where something is wrong.
        dim: Length d of a row.
    """

    def __init__(self, compute: Compute, dim: int) -> None:
        self._compute = compute
        self._dim = dim
        self._lock = Lock()
        self._last = _Last({}, [], None, np.empty((0, dim)))
        self._slots: SlotTable | None = None
        self._features: dict[Any, Features] = {}
        self._positions: dict[Any, int] = {}
        self._store = np.empty((0, dim))

    def rows(self, actions: Any, slots: SlotTable | None) -> Array:
        """The rows of actions in any shape, in the order given; not to be written to."""
        named = actions if type(actions) is dict and actions else named_actions(actions)
        last = self._last
        try:
            if slots is last.slots and list(named) == last.order and named == last.actions:
                return last.rows
        except (TypeError, ValueError):
            pass  # some values, such as arrays, cannot be compared
        with self._lock:
            return self._gathered(named, slots)

    def _gathered(self, named: dict[Any, Features], slots: SlotTable | None) -> Array:
        if slots is not self._slots:
            self._forget(slots)
        if not self._knows(named):
            named = named_actions(named)  # the rows of a dictionary may be of any shape
            try:
                self._learn(named)
            except NotPlain:
                return self._compute(named.items(), slots)
        order = list(named)
        rows = self._store.take(self._where(order), axis=0)
        self._last = _Last({id: self._features[id] for id in order}, order, slots, rows)
        return rows

    def _knows(self, named: dict[Any, Features]) -> bool:
        """Whether there is a row for each of the actions as they are now."""
        try:
            return named.items() <= self._features.items()
        except (TypeError, ValueError):
            return False

    def _learn(self, named: dict[Any, Features]) -> None:
        """Compute and keep the rows that are missing."""
        new = {id: features for id, features in named.items() if not self._knows({id: features})}
        if not new:
            return
        if (len(self._features) + len(new)) * self._dim > _KEPT:
            self._forget(self._slots)
            new = named
        rows = self._compute(new.items(), self._slots)
        self._features.update(plain_copy(new))
        for id in new:
            self._positions.setdefault(id, len(self._positions))
        self._make_room(len(self._positions))
        self._store[self._where(new)] = rows

    def _where(self, ids: Collection[Any]) -> npt.NDArray[np.intp]:
        """Positions of actions in the store."""
        return np.fromiter(map(self._positions.__getitem__, ids), np.intp, len(ids))

    def _make_room(self, count: int) -> None:
        """Make the store long enough for ``count`` rows."""
        if count > len(self._store):
            longer = np.empty((2 * count, self._dim))
            longer[: len(self._store)] = self._store
            self._store = longer

    def _forget(self, slots: SlotTable | None) -> None:
        """Start anew; rows depend on which slots the actions have."""
        self._slots = slots
        self._features, self._positions = {}, {}
        self._store = np.empty((0, self._dim))
