"""Hashed values, for features with too many values to list."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.arrays import one_of
from ..errors import Rejected
from ..hashing import sketch, words_of
from ..values import as_float, as_items, as_text, flattened, is_missing, is_number
from .base import Kind, size_in_range


@dataclass(frozen=True, repr=False)
class Hashed(Kind):
    """Texts and ids, hashed to a stated number of coordinates.

    A text becomes 1 or -1 in one coordinate. Two texts have the same coordinate with probability
    1/size; the model can then hardly distinguish them. Several texts (words, tags) are added up,
    and the sum is scaled to norm 1.

    >>> Hashed(4).encode("anna"), Hashed(4).encode("bert")
    ([-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])

    Attributes:
        size: Number of coordinates.
        of: What is hashed: the ``value`` as a whole, the ``words`` of a text, or the ``tags`` in a
            list or set.
    """

    kind: ClassVar[str] = "hashed"

    size: int
    of: str = "value"

    def _check(self) -> None:
        size_in_range(self.size)
        one_of("of", self.of, ("value", "words", "tags"))

    @property
    def hashable(self) -> bool:
        """Lists and sets cannot be keys of a dictionary."""
        return self.of != "tags"

    def _labels(self) -> list[str]:
        return [f"#{position}" for position in range(self.size)]

    def _tokens(self, value: Any) -> list[str]:
        if self.of == "value":
            return [as_text(value)]
        if self.of == "tags":
            return sorted({as_text(tag) for tag in as_items(value)})
        if not isinstance(value, str):
            raise Rejected("must be a text")
        return words_of(value)

    def _is_empty(self, value: Any) -> bool:
        return not self._tokens(value)

    def _vector(self, value: Any) -> list[float]:
        return sketch(self._tokens(value), self.size)


@dataclass(frozen=True, repr=False)
class Rest(Kind):
    """All features that are not declared by name, hashed to a stated number of coordinates.

    Texts are hashed as ``name=value``, lists and sets entry by entry. Numbers are hashed by the
    power of two below them, because their scale is not known. Missing values are left out. The
    vector has norm 1.

    Attributes:
        size: Number of coordinates.
    """

    kind: ClassVar[str] = "rest"

    size: int

    def _check(self) -> None:
        size_in_range(self.size)

    @property
    def hashable(self) -> bool:
        """Dictionaries cannot be keys of a dictionary."""
        return False

    def _labels(self) -> list[str]:
        return [f"#{position}" for position in range(self.size)]

    def _is_empty(self, value: Mapping[str, Any]) -> bool:
        return not _tokens(value)

    def _vector(self, value: Mapping[str, Any]) -> list[float]:
        return sketch(_tokens(value), self.size)


def _tokens(values: Mapping[str, Any]) -> list[str]:
    """One text per value, in an order that does not depend on the order of the dictionary."""
    tokens = list[str]()
    for name, value in flattened(values).items():
        single = isinstance(value, str) or is_missing(value) or is_number(value)
        entries = [value] if single else as_items(value)
        tokens += [f"{name}={_written(entry)}" for entry in entries if not is_missing(entry)]
    return sorted(tokens)


def _written(value: Any) -> str:
    """A text as it is; a number as the power of two below it, such as 2^4 for 16 up to 32."""
    if isinstance(value, str):
        return value
    number = as_float(value)
    return f"{'-' * (number < 0)}2^{math.frexp(number)[1] - 1}" if number else "0"
