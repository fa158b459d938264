"""`Features`: the declaration by which contexts and actions become vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Self

from ..core.arrays import Array, positive, whole
from .encoder import Encoder
from .kinds import Kind, Rest
from .layout import Coordinate, Layout, layout
from .printing import described, table
from .proposal import proposed
from .representation import brief
from .slots import SlotTable
from .terms import EVERY, PerAction, Term
from .writing import read, toml, without_notes, written

EVERYTHING = (Term(), Term(action=EVERY), Term(context=EVERY), Term(context=EVERY, action=EVERY))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Features:
    """What the coordinates of a vector are, declared once.

    A declaration is a value: it is frozen, it equals any other with the same `digest`, and it can
    be written as JSON or TOML. It learns nothing from the data, so the same input always gives the
    same vector.

    >>> from driftbandits.features import Cyclic, Features, OneHot
    >>> features = Features(
    ...     context={"hour": Cyclic(24)},
    ...     action={"category": OneHot(["sport", "politics"])},
    ... )
    >>> features.encode({"hour": 6}, {"a17": {"category": "sport"}}).shape
    (1, 12)
    >>> features.names[:6]
    ('1', 'category=sport', 'category=politics', 'category=(other)', 'hour:sin', 'hour:cos')

    Attributes:
        context: Features of the context, by name.
        action: Features of an action, by name. The name ``id`` means the action's own id.
        terms: What a vector is made of. Unless given: an intercept, every feature alone, and every
            product of a feature of the context with a feature of the action.
        per_action: Further coordinates, one block per action.
        bound: No vector is longer than this; the ``action_bound`` of the policy.
    """

    context: Mapping[str, Kind] = field(default_factory=dict)
    action: Mapping[str, Kind] = field(default_factory=dict)
    terms: Sequence[Term] = EVERYTHING
    per_action: PerAction | None = None
    bound: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", _by_name("context", self.context))
        object.__setattr__(self, "action", _by_name("action", self.action))
        if not isinstance(self.terms, list | tuple) or not all(
            isinstance(term, Term) for term in self.terms
        ):
            raise ValueError(f"terms must be a list of Term, got {self.terms!r}")
        object.__setattr__(self, "terms", tuple(self.terms))
        if not isinstance(self.per_action, PerAction | None):
            raise ValueError(f"per_action must be a PerAction or None, got {self.per_action!r}")
        positive("bound", self.bound)
        object.__setattr__(self, "bound", float(self.bound))
        _ = self._layout  # so that an error comes here and not at the first use

    @cached_property
    def _layout(self) -> Layout:
        return layout(self.context, self.action, self.terms, self.per_action, self.bound)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.context, self.action, self._layout, self.slots)

    @property
    def dim(self) -> int:
        """Length d of a vector."""
        return len(self._layout.coordinates)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """What each coordinate is made of."""
        return self._layout.coordinates

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name per coordinate, such as ``country=FR × category=sport``; no two are equal."""
        return tuple(coordinate.name for coordinate in self.coordinates)

    @property
    def slots(self) -> int:
        """Number of slots for actions with coordinates of their own; 0 without `per_action`."""
        return 0 if self.per_action is None else self.per_action.slots

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits that identify the declaration; remarks play no part."""
        plain = json.dumps(without_notes(self.to_dict()), sort_keys=True, separators=(",", ":"))
        return blake2b(plain.encode(), digest_size=16).hexdigest()

    def encode(self, context: Any, actions: Any, *, slots: SlotTable | None = None) -> Array:
        """The vectors of actions in a context, (K, d), none longer than `bound`.

        Args:
            context: A dictionary or a row of a data frame. Nested dictionaries have dotted names:
                ``{"user": {"age": 30}}`` is the feature ``user.age``.
            actions: A dictionary from ids to features; a list of ids or of
                ``{"id": …, "features": …}``; or a data frame with one row per action.
            slots: The slot of each action, where the declaration has a block per action.

        Raises:
            FeatureError: A name is unknown, or a value is missing, of a wrong type or out of range.
        """
        return self._encoder.encode(context, actions, slots)

    def encode_pairs(self, contexts: Any, actions: Any, *, slots: SlotTable | None = None) -> Array:
        """The vector of each context with the action at the same place, (n, d).

        For logs: ``contexts`` is a list or a data frame with one row per decision. ``actions`` has
        the action that was played in each.
        """
        return self._encoder.encode_pairs(contexts, actions, slots)

    def slot_coordinates(self, slot: int) -> range:
        """The coordinates of a slot, for the policy to forget before the slot is used again."""
        whole("slot", slot, least=0)
        if slot >= self.slots:
            raise ValueError(f"slot must be below {self.slots}, got {slot}")
        first = self._layout.shared + slot * self._layout.block
        return range(first, first + self._layout.block)

    def names_with(self, slots: SlotTable) -> tuple[str, ...]:
        """Names of the coordinates. The slot of an action is named after the action's id."""
        owners = {slot: f"action {id}" for id, slot in slots.slots.items()}
        return tuple(
            " × ".join([owners[coordinate.slot], *coordinate.context])
            if coordinate.slot in owners
            else coordinate.name
            for coordinate in self.coordinates
        )

    def with_slots(self, slots: int) -> Self:
        """The declaration with more slots. Vectors are the same, followed by zeros."""
        if self.per_action is None:
            raise ValueError("slots can only be added to a declaration with per_action")
        whole("slots", slots, least=self.slots)
        return replace(self, per_action=replace(self.per_action, slots=slots))

    @classmethod
    def from_data(cls, contexts: Any, actions: Any = None, *, bound: float = 1.0) -> Self:
        """Propose a declaration from examples, for a person to read and edit.

        Every choice has a note that says why it was made. `to_toml` writes them as comments.

        Args:
            contexts: A data frame (pandas, polars, pyarrow) or a list of dictionaries.
            actions: Examples of actions in any shape that `encode` takes. If they have no
                features, or if this is None, every action gets a block of its own.
            bound: As in a declaration.
        """
        return cls(**proposed(contexts, actions), bound=bound)

    @classmethod
    def hashed(cls, *, context: int = 12, action: int = 12, bound: float = 1.0) -> Self:
        """A declaration for input whose features are not known: everything is hashed.

        All features of the context share ``context`` coordinates. All features of an action,
        including its id, share ``action`` coordinates. Each of the former is multiplied with each
        of the latter. Features that are declared by name need fewer coordinates for the same
        detail.
        """
        return cls(
            context={"context": Rest(context, optional=True)},
            action={"action": Rest(action)},
            bound=bound,
        )

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON has it, with every default spelled out."""
        return written(
            context=self.context,
            action=self.action,
            terms=self.terms,
            per_action=self.per_action,
            bound=self.bound,
        )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The declaration from a dictionary as `to_dict`, JSON or TOML has it."""
        return cls(**read(content))

    def to_json(self) -> str:
        """The declaration as a JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The declaration from a JSON text."""
        return cls.from_dict(json.loads(text))

    def to_toml(self, table: str = "features") -> str:
        """The declaration as a table of a TOML file, with notes as comments."""
        return toml(self.to_dict(), table)

    def table(self) -> str:
        """One line per coordinate: its number and its name."""
        return table(self.coordinates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        return described(self.to_dict(), self.coordinates, self.digest)


def _by_name(side: str, kinds: Any) -> Mapping[str, Kind]:
    """Features in the order of their names, so that the order of a dictionary does not matter."""
    if not isinstance(kinds, Mapping):
        raise ValueError(f"{side} must be a dictionary of features, got {kinds!r}")
    for name, kind in kinds.items():
        if not isinstance(name, str) or name in ("", EVERY):
            raise ValueError(f"names of {side} features must be texts other than '*', got {name!r}")
        if not isinstance(kind, Kind):
            raise ValueError(f"{side} feature {name!r} must be a kind of feature, got {kind!r}")
    rests = [name for name, kind in kinds.items() if isinstance(kind, Rest)]
    if len(rests) > 1:
        raise ValueError(f"{side} must have at most one Rest, got {', '.join(sorted(rests))}")
    return MappingProxyType(dict(sorted(kinds.items())))
