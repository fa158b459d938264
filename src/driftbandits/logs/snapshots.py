"""Unfinished work as data: JSON and a few arrays, restored into fresh work of the same kind.

Parts that are known from the start (the log, functions) are not saved; the fresh work keeps its
own. Nothing is pickled: a file can only name classes of this package, and imports nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd

from ..agent import Agent
from ..core.storage import StateFileError
from ..policies import Policy
from .reading import LogReader

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (bool, int, float, str, type(None))
_KEPT = (LogReader, FunctionType, type)


def written(work: Any) -> tuple[Any, dict[str, Any]]:
    """A tree for JSON, and the arrays that it refers to, one per type of entries."""
    pieces: dict[str, list[Any]] = {}
    tree = _Writer(pieces).tree(work)
    return tree, {kind: np.concatenate(arrays) for kind, arrays in pieces.items()}


class _Writer:
    def __init__(self, pieces: dict[str, list[Any]]) -> None:
        self._pieces = pieces
        self._sizes: dict[str, int] = {}

    def tree(self, value: Any) -> Any:
        """A value as JSON."""
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, np.ndarray):
            return {"array": self._array(value), "shape": value.shape}
        if isinstance(value, np.random.Generator):
            return {"generator": value.bit_generator.state}
        if isinstance(value, Policy):
            return {"policy": self._entries(value.state())}
        if isinstance(value, Agent):
            return {"agent": self.tree(np.frombuffer(value.to_bytes(), dtype=np.uint8))}
        if isinstance(value, pd.DataFrame):
            return {"frame": [[name, self._column(value[name])] for name in value.columns]}
        if isinstance(value, Mapping):
            return {"mapping": self._entries(value)}
        if isinstance(value, (list, tuple)):
            items = [self.tree(item) for item in value]
            return {"items": items, "kind": _name(type(value))}
        if isinstance(value, _KEPT) or not type(value).__module__.startswith(f"{_PACKAGE}."):
            return {"kept": True}
        return {"object": self._entries(vars(value)), "kind": _name(type(value))}

    def _entries(self, values: Mapping[Any, Any]) -> list[Any]:
        return [[self.tree(key), self.tree(value)] for key, value in values.items()]

    def _column(self, column: pd.Series[Any]) -> Any:
        """Numbers as an array; texts and mixed values as a list."""
        numbers = column.dtype.kind in "bif"
        return self.tree(column.to_numpy() if numbers else column.tolist())

    def _array(self, value: Any) -> list[Any]:
        """Type of an array's entries, and their position among all entries of this type."""
        kind = value.dtype.str
        start = self._sizes.get(kind, 0)
        self._sizes[kind] = start + value.size
        self._pieces.setdefault(kind, []).append(value.ravel())
        return [kind, start]


def restored(tree: Any, arrays: Mapping[str, Any], fresh: Any) -> Any:
    """The value of a `written` tree; fills ``fresh`` if it is an object, else makes a new value."""
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        (kind, start), shape = tree["array"], tuple(tree["shape"])
        return arrays[kind][start : start + int(np.prod(shape))].reshape(shape).copy()
    if "generator" in tree:
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = tree["generator"]
        return generator
    if "agent" in tree:
        return Agent.from_bytes(restored(tree["agent"], arrays, None).tobytes())
    if "frame" in tree:
        return pd.DataFrame({name: restored(c, arrays, None) for name, c in tree["frame"]})
    if "kept" in tree:
        return fresh
    if "items" in tree:
        known = fresh if isinstance(fresh, (list, tuple)) else ()
        items = [
            restored(item, arrays, known[i] if i < len(known) else None)
            for i, item in enumerate(tree["items"])
        ]
        kind = _class(tree["kind"])
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    return _filled(tree, arrays, fresh)


def _filled(tree: dict[str, Any], arrays: Mapping[str, Any], fresh: Any) -> Any:
    """A mapping, a policy or an object."""
    if "mapping" in tree:
        known = fresh if isinstance(fresh, dict) else {}
        return {
            key: restored(value, arrays, known.get(key))
            for key, value in _pairs(tree["mapping"], arrays)
        }
    if "policy" in tree:
        state = {key: restored(value, arrays, None) for key, value in tree["policy"]}
        fresh.restore(state)
        return fresh
    kind = _class(tree["kind"])
    target = fresh if type(fresh) is kind else kind.__new__(kind)
    for name, value in tree["object"]:
        object.__setattr__(target, name, restored(value, arrays, getattr(target, name, None)))
    return target


def _pairs(entries: list[Any], arrays: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [(restored(key, arrays, None), value) for key, value in entries]


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> Any:
    """A class by name: list, tuple, or a class of this package that is already loaded."""
    if name in ("builtins:list", "builtins:tuple"):
        return list if name.endswith("list") else tuple
    module, _, wanted = name.partition(":")
    kind = getattr(sys.modules.get(module), wanted, None)
    if not module.startswith(f"{_PACKAGE}.") or not isinstance(kind, type):
        raise StateFileError(f"{name} cannot be part of saved work")
    return kind
