"""Single values: numbers, texts, ids, lists, and values that are missing.

Values that are equal in Python (1, 1.0 and True) are the same value here, too. A cache may
therefore find values by equality without changing any result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .errors import Rejected

# More levels than any real input has; deeper ones would exhaust Python's stack.
DEEPEST = 20

_PLAIN = frozenset({str, int, float, bool, type(None)})
_COLLECTIONS = (list, tuple, set, frozenset)


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, or pandas' value for them."""
    if value is None:
        return True
    if is_number(value):
        return bool(value != value)  # NaN is the number that differs from itself
    return type(value).__name__ in ("NAType", "NaTType")


def is_number(value: object) -> bool:
    """Whether a value is a real number; booleans count as 0 and 1."""
    return isinstance(value, (int, float, Real, Decimal, np.bool_))


def as_float(value: Any) -> float:
    """A finite number as a float."""
    if not is_number(value):
        raise Rejected("must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Rejected("must be a finite number")
    return number


def as_text(value: Any) -> str:
    """A text or a whole number as the text that is hashed: 17, 17.0 and "17" are the same."""
    if isinstance(value, str):
        return str(value)
    if not is_number(value) or as_float(value) != math.floor(value):
        raise Rejected("must be a text or a whole number")
    return str(math.floor(value))


def as_items(value: Any) -> list[Any]:
    """The entries of a list or a set."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    if not isinstance(value, _COLLECTIONS):
        raise Rejected("must be a list or a set")
    return list(value)


def is_plain(value: object) -> bool:
    """Whether a value's type is immutable and compares by content."""
    return type(value) in _PLAIN or isinstance(value, np.generic)


class NotPlain(Exception):  # noqa: N818 - a signal inside the package, not an error
    """A structure holds a value that cannot be copied safely."""


def plain_copy(value: Any) -> Any:
    """A deep copy of plain values in dictionaries, lists, tuples and sets, or `NotPlain`.

    Nothing can change the copy. A value that equals it later has the content of the original.
    """
    if is_plain(value):
        return value
    if type(value) is dict and _PLAIN.issuperset(map(type, value)):
        if _PLAIN.issuperset(map(type, value.values())):
            return value.copy()
        return {key: plain_copy(entry) for key, entry in value.items()}
    if type(value) in _COLLECTIONS:
        return type(value)([plain_copy(entry) for entry in value])
    raise NotPlain


def flattened(values: Mapping[Any, Any] | Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Nested dictionaries as one, with dotted names: {"user": {"age": 30}} is {"user.age": 30}.

    A list of dictionaries counts as all of them merged.
    """
    flat: dict[str, Any] = {}
    _flatten(flat, "", values, DEEPEST)
    return flat


def is_nested(value: object) -> bool:
    """Whether a value is a dictionary, or a list of nothing but dictionaries."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(part, Mapping) for part in value)
    return isinstance(value, Mapping)


def _flatten(flat: dict[str, Any], prefix: str, values: Any, depth: int) -> None:
    if depth == 0:
        raise Rejected(f"must be nested at most {DEEPEST} levels deep")
    for part in [values] if isinstance(values, Mapping) else values:
        for name, value in part.items():
            if not isinstance(name, str):
                raise Rejected("must have texts as names")
            path = prefix + name
            if is_nested(value):
                _flatten(flat, f"{path}.", value, depth - 1)
            elif path in flat:
                raise Rejected(f"must give {path!r} one value, not two")
            else:
                flat[path] = value
