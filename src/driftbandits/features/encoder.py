"""From a context and actions to vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..core.arrays import Array
from .errors import FeatureError, short
from .inputs import ID, action_list, as_mapping, id_text, records
from .kinds import Kind, Rest
from .layout import Index, Layout
from .recall import Recall
from .sides import Side
from .slots import SlotTable


class Encoder:
    """A declaration, ready to encode. Several threads may use it at once.

    A vector is the action's share of each coordinate times the context's share. The encoder
    remembers the actions' shares as long as the actions do not change.

    Args:
        context: Features of the context.
        action: Features of an action.
        layout: Where each coordinate comes from.
        room: Number of slots; 0 where there is no block per action.
    """

    def __init__(
        self,
        context: Mapping[str, Kind],
        action: Mapping[str, Kind],
        layout: Layout,
        room: int,
    ) -> None:
        self._context, self._action = Side("context", context), Side("action", action)
        # Rest hashes the id too.
        self._reads_id = ID in action or any(isinstance(k, Rest) for k in action.values())
        self._layout, self._room = layout, room
        self._context_index, self._action_index = [*layout.context_index], [*layout.action_index]
        self._recall = Recall(self._rows, len(layout.coordinates))

    def encode(self, context: Any, actions: Any, slots: SlotTable | None) -> Array:
        """The vectors of all actions in a context, (K, d)."""
        row = context if type(context) is dict else as_mapping("context", context)
        weights = _products(np.array(self._context.base(row)), self._context_index)
        return self._recall.weighted(actions, slots, weights)

    def encode_pairs(self, contexts: Any, actions: Any, slots: SlotTable | None) -> Array:
        """The vector of each context with the action at the same place, (n, d)."""
        rows = [as_mapping("context", row) for row in records("contexts", contexts)]
        pairs = action_list(actions)
        if len(rows) != len(pairs):
            raise FeatureError(
                f"contexts and actions must be equally many, got {len(rows)} and {len(pairs)}"
            )
        if not rows:
            return np.empty((0, len(self._layout.coordinates)))
        bases = np.array([self._context.base(row) for row in rows])
        weights = _products(bases, self._context_index)
        return weights * self._shared_rows(pairs, slots) + 0.0

    def _shared_rows(
        self, pairs: list[tuple[Any, dict[str, Any]]], slots: SlotTable | None
    ) -> Array:
        """The rows of many actions. Equal actions are computed once."""
        places = dict[Any, list[int]]()
        for place, (id, _) in enumerate(pairs):
            places.setdefault(id, []).append(place)
        rows = np.empty((len(pairs), len(self._layout.coordinates)))
        for same in places.values():
            first = pairs[same[0]]
            if all(pairs[place] == first for place in same):
                rows[same] = self._rows([first], slots)
            else:
                rows[same] = self._rows([pairs[place] for place in same], slots)
        return rows

    def _rows(
        self, actions: Iterable[tuple[Any, dict[str, Any]]], slots: SlotTable | None
    ) -> Array:
        """The actions' share of each coordinate, scale included, (K, d)."""
        self._check(slots)
        count, numbers = 0, list[float]()
        for id, features in actions:
            numbers += self._action.base(self._own(id, features), id)
            if slots is not None:
                numbers += _indicator(slots.slot(id), self._room)
            count += 1
        bases = np.array(numbers).reshape(count, -1)
        return _products(bases, self._action_index) * self._layout.scale

    def _own(self, id: Any, features: dict[str, Any]) -> dict[str, Any]:
        """The features of an action, with its id if and only if the declaration reads it."""
        if ID in features:
            if id_text(features[ID]) != id_text(id):
                raise FeatureError(
                    f"feature {ID!r} of action {id!r} must be its id, got {short(features[ID])}",
                    feature=ID,
                    action=id,
                )
            features = {name: value for name, value in features.items() if name != ID}
        return {**features, ID: id} if self._reads_id else features

    def _check(self, slots: SlotTable | None) -> None:
        """Refuse a table of slots that does not fit the declaration."""
        room = 0 if slots is None else slots.room
        if room != self._room:
            raise ValueError(
                f"slots must be a SlotTable with room for {self._room} actions, got {slots!r}"
                if self._room
                else f"slots must be None without a block per action, got {slots!r}"
            )


def _indicator(slot: int, room: int) -> list[float]:
    """1 at a slot, 0 at all others."""
    indicator = [0.0] * room
    indicator[slot] = 1.0
    return indicator


def _products(bases: Array, index: list[Index]) -> Array:
    """The products of the base coordinates at each position; ``index`` has one (d,) per factor."""
    product: Array = bases.take(index[0], -1)
    for factor in index[1:]:
        product *= bases.take(factor, -1)
    return product
