"""Describe a run as JSON: for the record, and to distinguish one run from another.

Two things that could give different numbers must never have the same description. So a description
contains an object's class, code and state, and never relies on its `repr`. An object that cannot
be described in this way is marked, and then nothing on disk is reused.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any

import numpy as np

from ..policies import Policy
from .fingerprint import fingerprint
from .own_code import CODE_TYPES, Own, is_own, is_shipped, name_of, own_sources

UNDESCRIBED = "undescribed"
_SMALL = 64

# Types whose `repr` contains the whole value.
_FAITHFUL = (bytes, complex, range, type(...), Decimal, Fraction, date, datetime, time, timedelta)
_PATHS = (PosixPath, PurePosixPath, PureWindowsPath, WindowsPath)
_HASHED = 1 << 10  # characters


def describe(value: Any) -> Any:
    """``value`` as JSON; large arrays and code are replaced by their hash."""
    return _Description().of(value)


def is_described(description: Any) -> bool:
    """Whether no part of a description is marked as undescribed."""
    if isinstance(description, dict):
        return UNDESCRIBED not in description and all(map(is_described, description.values()))
    return not isinstance(description, list) or all(map(is_described, description))


class _Description:
    """Makes one description; remembers the enclosing values and the code it has already seen."""

    def __init__(self) -> None:
        self._above: list[int] = []
        self._own: Own | None = None
        self._sources: str | None = None

    def of(self, value: Any) -> Any:
        """The description of a value."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) in self._above:
            return {"level": self._above.index(id(value))}
        self._above.append(id(value))
        try:
            return self._compound(value)
        finally:
            self._above.pop()

    def _compound(self, value: Any) -> Any:
        if isinstance(value, np.generic) and isinstance(value.item(), (bool, int, float, str)):
            return value.item()
        if type(value) is np.ndarray:
            return self._array(value)
        if type(value) in (list, tuple):
            return [self.of(item) for item in value]
        if type(value) in (set, frozenset):
            return {"set": sorted((self.of(item) for item in value), key=json.dumps)}
        if isinstance(value, Mapping) and not is_own(type(value)):
            return self._mapping(value)
        if type(value) in _PATHS:
            return str(value)
        if type(value) in _FAITHFUL:
            return _shortened(type(value).__name__, repr(value))
        if isinstance(value, CODE_TYPES):
            return self._code(value)
        return self._object(value)

    def _code(self, value: Any) -> Any:
        """Code inside other code is described in full; outermost code is replaced by its hash."""
        if self._own is not None:
            return self._own.code(value)
        if self._sources is None:
            self._sources = own_sources()
        self._own = Own(self.of, self._sources)
        full = self._own.code(value)
        self._own = None
        short = {"code": name_of(value), "sha256": fingerprint(full)}
        return short if is_described(full) else {**short, UNDESCRIBED: "something that it uses"}

    def _array(self, array: Any) -> Any:
        plain = array.dtype in (np.dtype(float), np.dtype(int), np.dtype(bool))
        if array.dtype.hasobject or (array.size <= _SMALL and array.dtype.kind in "biuf"):
            items = self.of(array.tolist())
            return items if plain else {"array": items, "dtype": str(array.dtype)}
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": digest}

    def _mapping(self, mapping: Mapping[Any, Any]) -> Any:
        if all(type(key) is str for key in mapping):
            return {key: self.of(item) for key, item in mapping.items()}
        return {"mapping": [[self.of(key), self.of(item)] for key, item in mapping.items()]}

    def _object(self, value: Any) -> Any:
        kind = type(value)
        # `versions` covers the code of this package.
        code = {} if is_shipped(kind) else {"class": self._code(kind)}
        if isinstance(value, Policy):
            return {"policy": kind.__name__, **self._mapping(value.config), **code}
        if is_dataclass(value) and is_shipped(kind):
            parts = {field.name: self.of(getattr(value, field.name)) for field in fields(value)}
            return {"kind": kind.__name__, **parts}
        if not (is_own(kind) or is_shipped(kind)):
            inner = getattr(value, "py_func", getattr(value, "__wrapped__", None))
            return (
                _pickled(value) if inner is None else {"kind": name_of(kind), "of": self.of(inner)}
            )
        if isinstance(value, Enum):
            return {"kind": name_of(kind), "name": value.name, **code}
        if isinstance(value, (tuple, list, dict)):
            return {
                "kind": name_of(kind),
                "items": self._items(value),
                **self._state(value),
                **code,
            }
        if not _is_plain(kind):
            return {UNDESCRIBED: name_of(kind)}
        return {"kind": name_of(kind), **self._state(value), **code}

    def _items(self, value: Any) -> Any:
        """The items of a container; overridden methods of its class are not called."""
        if isinstance(value, dict):
            return self._mapping(dict(dict.items(value)))
        iterate = tuple.__iter__ if isinstance(value, tuple) else list.__iter__
        return [self.of(item) for item in iterate(value)]

    def _state(self, value: Any) -> dict[str, Any]:
        """The attributes of an object; overridden methods of its class are not called."""
        return {"state": self.of(object.__getstate__(value))}


def _is_plain(kind: type) -> bool:
    """Whether instances hold nothing but attributes; a class written in C may hold more."""
    slots = {
        name
        for base in kind.__mro__
        for name in _names(vars(base).get("__slots__", ()))
        if name not in ("__dict__", "__weakref__")
    }
    pointers = len(slots) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    pointer = object.__basicsize__ // 2  # an object has a reference count and a type
    return not kind.__itemsize__ and kind.__basicsize__ <= object.__basicsize__ + pointers * pointer


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Pickler(pickle.Pickler):
    """Refuses code that users wrote, because a pickle contains only its name."""

    def persistent_id(self, value: Any) -> None:
        if is_own(value if isinstance(value, CODE_TYPES) else type(value)):
            raise pickle.PicklingError(f"{value!r} is not installed")


def _pickled(value: Any) -> Any:
    """An object of Python or of an installed library, described by the hash of its pickle."""
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump(value)
    except Exception:  # libraries raise many kinds of errors here
        return {UNDESCRIBED: name_of(type(value))}
    return {
        "kind": name_of(type(value)),
        "sha256": hashlib.sha256(stream.getvalue()).hexdigest(),
    }


def _shortened(kind: str, text: str) -> dict[str, str]:
    if len(text) <= _HASHED:
        return {"kind": kind, "value": text}
    return {"kind": kind, "sha256": hashlib.sha256(text.encode()).hexdigest()}
