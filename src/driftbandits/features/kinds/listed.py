"""Values that the declaration lists: one at a time, or several at once."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import Rejected, short
from ..limits import LARGEST_SIZE
from ..values import as_items, is_number
from .base import NONE, Kind, truth

OTHER = "(other)"


@dataclass(frozen=True, repr=False)
class _Listed(Kind):
    """One coordinate per listed value and, if ``other`` is true, one for all other values."""

    values: Sequence[str | float]
    other: bool = True

    def _check(self) -> None:
        self._set("values", _distinct(self.values))
        truth("other", self.other)

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {value: position for position, value in enumerate(self.values)}

    @cached_property
    def _count(self) -> int:
        return len(self.values) + self.other

    def _labels(self) -> list[str]:
        return [f"={value}" for value in [*self.values, *([OTHER] if self.other else [])]]

    def _position(self, value: Any) -> int:
        """The coordinate of a value."""
        texts = isinstance(self.values[0], str)
        if not (isinstance(value, str) if texts else is_number(value)):
            raise Rejected(f"must be a {'text' if texts else 'number'}, as the listed values are")
        position = self._positions.get(value)
        if position is not None:
            return position
        if not self.other:
            raise Rejected(f"must be one of {short(list(self.values))}")
        return len(self.values)

    @abstractmethod
    def _vector(self, value: Any) -> list[float]: ...


@dataclass(frozen=True, repr=False)
class OneHot(_Listed):
    """One coordinate per value: that of the given value is 1, all others are 0.

    >>> OneHot(["FR", "DE"]).encode("DE"), OneHot(["FR", "DE"]).encode("JP")
    ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])

    Attributes:
        values: The values that have a coordinate, all texts or all numbers.
        other: Whether one more coordinate stands for every value that is not listed. Without it
            such a value is an error.
    """

    kind: ClassVar[str] = "one_hot"

    def _vector(self, value: Any) -> list[float]:
        vector = [0.0] * self._count
        vector[self._position(value)] = 1.0
        return vector


@dataclass(frozen=True, repr=False)
class Tags(_Listed):
    """A set of n texts or numbers. Each one has the value 1/√n, so the vector has norm 1.

    >>> Tags(["free", "new", "local"]).encode(["new", "free"])
    [0.7071067811865475, 0.7071067811865475, 0.0, 0.0]

    Attributes:
        values: The tags that have a coordinate, all texts or all numbers.
        other: Whether one more coordinate stands for all tags that are not listed. Without it such
            a tag is an error.
    """

    kind: ClassVar[str] = "tags"

    @property
    def hashable(self) -> bool:
        """Lists and sets cannot be keys of a dictionary."""
        return False

    def _is_empty(self, value: Any) -> bool:
        return len(as_items(value)) == 0

    def _vector(self, value: Any) -> list[float]:
        present = {self._position(tag) for tag in as_items(value)}
        share = 1.0 / math.sqrt(len(present))
        return [share if position in present else 0.0 for position in range(self._count)]


def _distinct(values: Any) -> tuple[str | float, ...]:
    """``values`` as a tuple of distinct texts or of distinct numbers."""
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) == 0:
        raise ValueError(f"values must be a list of texts or of numbers, got {short(values)}")
    if len(values) > LARGEST_SIZE:
        raise ValueError(f"values must be at most {LARGEST_SIZE}, got {len(values)}")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    texts = all(isinstance(value, str) for value in plain)
    if not texts and not all(isinstance(v, (int, float)) and abs(v) < math.inf for v in plain):
        raise ValueError(f"values must be all texts or all finite numbers, got {short(values)}")
    seen = set[Any]()
    for value in plain:
        if value in seen:
            raise ValueError(f"values must differ from each other, got {value!r} twice")
        if value in (NONE, OTHER):
            raise ValueError(f"values must not contain {value!r}, the name of a coordinate")
        seen.add(value)
    return tuple(plain)
