"""The `repr` of declarations: only the fields that differ from their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any


def brief(value: Any) -> str:
    """A dataclass as the call that makes it.

    Fields come in the order of the signature, keyword-only ones last.
    """
    ordered = sorted(fields(value), key=lambda item: bool(item.kw_only))
    shown = [item for item in ordered if getattr(value, item.name) != _default(item)]
    arguments = [f"{item.name}={_written(getattr(value, item.name))}" for item in shown]
    return f"{type(value).__name__}({', '.join(arguments)})"


def _default(item: Field[Any]) -> Any:
    if item.default_factory is not MISSING:
        return item.default_factory()
    return item.default  # MISSING if there is no default; no value equals it


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return repr(value)
