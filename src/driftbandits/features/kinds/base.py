"""What all kinds of features have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

from ...core.arrays import whole
from ..errors import Rejected
from ..limits import LARGEST_SIZE
from ..representation import brief
from ..values import is_missing

NONE = "(none)"


@dataclass(frozen=True, repr=False)
class Kind(ABC):
    """How a value becomes a few coordinates: a vector of norm at most 1.

    The declaration has all that this needs. A kind learns nothing from the values that it encodes,
    so the same value always gives the same vector.

    Attributes:
        optional: Whether the value may be missing: absent, None, NaN, or an empty list or text.
            If so, there is one more coordinate, ``(none)``. It is 1 for a missing value, and all
            others are 0. Otherwise a missing value is an error.
        note: A remark for the reader, such as why this kind was chosen. It changes nothing.
    """

    kind: ClassVar[str]

    optional: bool = field(default=False, kw_only=True)
    note: str = field(default="", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        truth("optional", self.optional)
        remark(self.note)
        self._check()

    def __repr__(self) -> str:
        return brief(self)

    @abstractmethod
    def _check(self) -> None:
        """Refuse fields that are out of range, and bring the others into their canonical form."""

    @abstractmethod
    def _labels(self) -> list[str]:
        """Labels of the coordinates without ``(none)``, to append to the feature's name."""

    @abstractmethod
    def _vector(self, value: Any) -> list[float]:
        """Coordinates of a value that is not missing; `Rejected` if it breaks a rule."""

    def _is_empty(self, value: Any) -> bool:
        """Whether a value holds nothing, for kinds whose values are collections."""
        return False

    @property
    def hashable(self) -> bool:
        """Whether all values can be keys of a dictionary; lists and sets cannot."""
        return True

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One label per coordinate, to append to the feature's name."""
        return (*self._labels(), *([f"={NONE}"] if self.optional else []))

    def encode(self, value: Any) -> list[float]:
        """Coordinates of a value; `Rejected` if it breaks a rule."""
        if is_missing(value) or self._is_empty(value):
            if not self.optional:
                raise Rejected("must have a value (optional = true allows for none)")
            return [0.0] * (len(self.labels) - 1) + [1.0]
        vector = self._vector(value)
        return [*vector, 0.0] if self.optional else vector

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON has it."""
        content = {item.name: getattr(self, item.name) for item in fields(self)}
        del content["optional"], content["note"]
        lists = {key: list(v) if isinstance(v, tuple) else v for key, v in content.items()}
        note = {"note": self.note} if self.note else {}
        return {"kind": self.kind, **lists, "optional": self.optional, **note}

    def _set(self, name: str, value: Any) -> None:
        """Set a field of this frozen object to its canonical form."""
        object.__setattr__(self, name, value)


def truth(name: str, value: object) -> None:
    """Refuse a value that is neither true nor false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")


def remark(note: object) -> None:
    """Refuse a note that is not a text."""
    if not isinstance(note, str):
        raise ValueError(f"note must be a text, got {note!r}")


def size_in_range(size: Any) -> None:
    """Refuse a number of coordinates that is surely a mistake."""
    whole("size", size, least=1)
    if size > LARGEST_SIZE:
        raise ValueError(f"size must be at most {LARGEST_SIZE}, got {size}")


@dataclass(frozen=True, repr=False)
class Ignored(Kind):
    """A value that is not used. It may be missing, and it has no coordinate."""

    kind: ClassVar[str] = "ignored"

    def _check(self) -> None:
        if self.optional:
            raise ValueError("optional must be false: what is ignored may be missing anyway")

    def _labels(self) -> list[str]:
        return []

    def _vector(self, value: Any) -> list[float]:
        return []

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON has it."""
        return {"kind": self.kind, **({"note": self.note} if self.note else {})}
