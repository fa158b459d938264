"""The actions that an agent knows by name, and the block of coordinates that each one has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ..core.arrays import Array
from ..features import Features, SlotTable
from ..features.inputs import id_text, id_texts


class Offer(NamedTuple):
    """Actions that can be shown: their names, and their vectors (K, d)."""

    names: list[Any]
    rows: Array

    def without(self, exclude: Iterable[Any]) -> Offer:
        """The offer without some actions. Those that it does not have are no error."""
        gone = id_texts("exclude", exclude)
        if not gone:
            return self
        kept = [k for k, name in enumerate(self.names) if id_text(name) not in gone]
        return Offer([self.names[k] for k in kept], self.rows[kept])


@dataclass(frozen=True)
class Catalogue:
    """A declaration and, if it has a block per action, the slot of each action. Immutable.

    Actions that are only described by features need no slot. An action with a block of its own
    gets the lowest free slot when it is first offered. If no slot is free, the number of slots
    doubles.
    """

    features: Features
    slots: SlotTable | None

    @classmethod
    def of(cls, features: Features) -> Self:
        """The empty catalogue of a declaration."""
        return cls(features, SlotTable(room=features.slots) if features.slots else None)

    def with_actions(self, names: Iterable[Any]) -> Catalogue:
        """A catalogue in which all these actions have a slot."""
        if self.slots is None:
            return self
        known = self.slots.slots
        new = [name for name in map(id_text, names) if name not in known]
        if not new:
            return self
        features, slots, room = self.features, self.slots, self.slots.room
        while room < len(known) + len(new):
            room *= 2
        if room > slots.room:
            features, slots = features.with_slots(room), slots.widened(room)
        return Catalogue(features, slots.with_actions(new))

    def without(self, names: Iterable[str]) -> tuple[Catalogue, list[int]]:
        """A catalogue without some actions, and the coordinates of their slots."""
        if self.slots is None:
            raise ValueError("actions without a block of their own have nothing to remove")
        gone = list(names)
        coordinates = [
            coordinate
            for name in gone
            for coordinate in self.features.slot_coordinates(self.slots.slot(name))
        ]
        return Catalogue(self.features, self.slots.without(gone)), coordinates

    def offer(self, context: Any, named: Mapping[Any, Any]) -> Offer:
        """The vectors of actions in a context."""
        return Offer(list(named), self.features.encode(context, named, slots=self.slots))
