"""Which slot each action has, where a declaration has one block of coordinates per action."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from ..core.arrays import whole
from .errors import FeatureError, Rejected
from .values import as_text


@dataclass(frozen=True, kw_only=True)
class SlotTable:
    """Immutable table with the slot of each action. Changes return a new table.

    The table belongs to an owner that knows when actions come and go, such as an agent. The owner
    saves it with the policy, and records its changes if they are to be replayed. The encoder only
    reads it: vectors depend on the input, the declaration and the table.

    A new action gets the lowest free slot, so the same changes in the same order always give the
    same table. Before a slot is used again, the policy has to forget what it learned there:
    ``policy.forget(features.slot_coordinates(slot))``.

    >>> table = SlotTable(room=3).with_actions(["a", "b"])
    >>> dict(table.without(["a"]).with_actions(["c"]).slots)
    {'b': 1, 'c': 0}

    Attributes:
        room: Number of slots.
        slots: Slot of each action, by the action's id.
    """

    room: int
    slots: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole("room", self.room, least=1)
        if not isinstance(self.slots, Mapping):
            raise ValueError(f"slots must be a table of ids and slots, got {self.slots!r}")
        taken = set[int]()
        for name, slot in self.slots.items():
            if not isinstance(name, str):
                raise ValueError(f"slots must have texts as ids, got {name!r}")
            whole(f"the slot of {name!r}", slot, least=0)
            if slot >= self.room or slot in taken:
                raise ValueError(
                    f"the slot of {name!r} must be free and below {self.room}, got {slot}"
                )
            taken.add(slot)
        object.__setattr__(self, "slots", MappingProxyType(dict(self.slots)))

    def __hash__(self) -> int:
        return hash((self.room, frozenset(self.slots.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __contains__(self, action: object) -> bool:
        return _name(action) in self.slots

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    @property
    def free(self) -> tuple[int, ...]:
        """The slots that no action has, in ascending order."""
        taken = set(self.slots.values())
        return tuple(slot for slot in range(self.room) if slot not in taken)

    def slot(self, action: object) -> int:
        """The slot of an action; an error if it has none."""
        slot = self.slots.get(_name(action))
        if slot is None:
            raise FeatureError(
                f"action {action!r} must have a slot, and has none; SlotTable.with_actions "
                "assigns one",
                action=action,
            )
        return slot

    def with_actions(self, actions: Any) -> Self:
        """A table in which these ids have slots, too. Ids that have a slot keep it."""
        new = [name for name in dict.fromkeys(map(_name, actions)) if name not in self.slots]
        free = self.free
        if len(new) > len(free):
            raise FeatureError(
                f"slots must have room for {len(new)} more action(s), such as {new[0]!r}, and has "
                f"{len(free)} of {self.room} free; remove actions or declare more slots",
                action=new[0],
            )
        added = dict(zip(new, free, strict=False))
        return type(self)(room=self.room, slots={**self.slots, **added}) if new else self

    def without(self, actions: Any) -> Self:
        """A table without these ids. Each of them must have a slot now."""
        gone = {_name(action): self.slot(action) for action in actions}
        kept = {name: slot for name, slot in self.slots.items() if name not in gone}
        return type(self)(room=self.room, slots=kept) if gone else self

    def widened(self, room: int) -> Self:
        """The same table with more room."""
        whole("room", room, least=self.room)
        return type(self)(room=room, slots=self.slots)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        return {"room": self.room, "slots": dict(self.slots)}

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The table that `to_dict` wrote."""
        if not isinstance(content, Mapping) or set(content) != {"room", "slots"}:
            raise ValueError(f"a slot table has the keys room and slots, got {content!r}")
        return cls(**content)


def _name(action: object) -> str:
    try:
        return as_text(action)
    except Rejected as rule:
        raise FeatureError(f"the id of an action {rule}, got {action!r}") from None
