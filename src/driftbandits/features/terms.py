"""Terms: the features, and the products of features, that a vector consists of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.arrays import whole
from .kinds import remark
from .limits import LARGEST_SIZE
from .representation import brief

EVERY = "*"

# A product of features of one side, by their names; the empty product is the number 1.
Product = tuple[str, ...]
Names = str | Sequence[str | Sequence[str]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Term:
    """Products of features of the context with features of the action: u ⊗ v.

    u holds the coordinates of the features in ``context`` one after the other, v those of the
    features in ``action``. A side that is left out is the number 1. So ``Term()`` is the intercept,
    and ``Term(action="*")`` holds the action's features alone. ``Term(context="*", action="*")``
    holds every product of a feature of the context with a feature of the action.

    Attributes:
        context: Names of features of the context; ``"*"`` stands for all of them. A list inside
            the list is a product: ``["hour", ["country", "device"]]`` is the hour, and each
            country on each device.
        action: Names of features of the action, in the same form.
        note: A remark for the reader. It changes nothing.
    """

    context: Names = ()
    action: Names = ()
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        remark(self.note)
        object.__setattr__(self, "context", _canonical("context", self.context))
        object.__setattr__(self, "action", _canonical("action", self.action))

    def __repr__(self) -> str:
        return brief(self)

    def to_dict(self) -> dict[str, Any]:
        """The term as JSON has it. A side that the term leaves out has no key."""
        sides = {"context": _as_lists(self.context), "action": _as_lists(self.action)}
        return {key: side for key, side in sides.items() if side} | _note(self.note)


@dataclass(frozen=True, kw_only=True, repr=False)
class PerAction:
    """One block of coordinates per action: e_i ⊗ (1, u), with room for a stated number of actions.

    A `SlotTable` has the slot i of each action. It is not part of the declaration, because actions
    come and go. The slots are the last coordinates of a vector, so that more slots can be added at
    the end.

    Attributes:
        slots: Largest number of actions at a time.
        context: Features u of the context, written as in `Term`. Each action has its own
            coefficients for them. Without any, each action has one coordinate.
        note: A remark for the reader. It changes nothing.
    """

    slots: int
    context: Names = ()
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        remark(self.note)
        whole("slots", self.slots, least=1)
        if self.slots > LARGEST_SIZE:
            raise ValueError(f"slots must be at most {LARGEST_SIZE}, got {self.slots}")
        object.__setattr__(self, "context", _canonical("context", self.context))

    def __repr__(self) -> str:
        return brief(self)

    def to_dict(self) -> dict[str, Any]:
        """The block as JSON has it."""
        return {"slots": self.slots, "context": _as_lists(self.context)} | _note(self.note)


def products(side: str, names: Names, declared: Collection[str]) -> list[Product]:
    """The products that one side of a term consists of; [()] for a side that is left out.

    ``declared`` has the features of that side that have coordinates.
    """
    chosen = list[Product]()
    for entry in names:
        if entry == EVERY:
            chosen += [(name,) for name in declared]
        else:
            chosen.append((entry,) if isinstance(entry, str) else tuple(sorted(entry)))
    for name in (name for product in chosen for name in product):
        if name not in declared:
            listed = ", ".join(declared) or "none"
            raise ValueError(f"terms: {name!r} is not a feature of the {side}; there are: {listed}")
    return chosen if names else [()]


def _canonical(side: str, names: Any) -> tuple[str | tuple[str, ...], ...]:
    """Names as a tuple of names and of tuples of names."""
    entries = [names] if isinstance(names, str) else names
    if not isinstance(entries, Sequence):
        raise ValueError(f"{side} must be a name or a list of names, got {names!r}")
    return tuple(entry if isinstance(entry, str) else _product(side, entry) for entry in entries)


def _product(side: str, entry: Any) -> tuple[str, ...]:
    factors = tuple(entry) if isinstance(entry, Sequence) else ()
    if len(factors) < 2 or not all(isinstance(f, str) and f != EVERY for f in factors):
        raise ValueError(
            f"{side} must be a list of names and of products, which are lists of two or more "
            f"names, got {entry!r}"
        )
    if len(set(factors)) < len(factors):
        raise ValueError(f"{side} must not multiply a feature with itself, got {entry!r}")
    return factors


def _as_lists(names: Names) -> list[str | list[str]]:
    return [entry if isinstance(entry, str) else list(entry) for entry in names]


def _note(note: str) -> dict[str, str]:
    return {"note": note} if note else {}
