"""The numbers of one side of the input: of the context, or of an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import FeatureError, Rejected, short
from .kinds import Kind, Rest
from .values import flattened

# Remembered values per feature, at most.
_REMEMBERED = 4096


class Side:
    """The features of one side, in the order of their names, with a cache of recent values.

    The cache finds values by equality. It changes no result: equal values have equal coordinates.
    """

    def __init__(self, side: str, kinds: Mapping[str, Kind]) -> None:
        used = {name: kind for name, kind in kinds.items() if kind.labels}
        self._side = side
        self._plan = [
            (name, kind, dict[Any, list[float]]() if kind.hashable else None)
            for name, kind in used.items()
        ]
        self._rest = next((n for n, kind in kinds.items() if isinstance(kind, Rest)), None)
        self._names = frozenset(name for name in kinds if name != self._rest)

    def base(self, values: dict[str, Any], action: object = None) -> list[float]:
        """1, followed by the coordinates of every feature; an error if a value is wrong."""
        if self._rest is not None or not values.keys() <= self._names:
            return self._carefully(values, action)
        base, get = [1.0], values.get
        try:
            for name, kind, memory in self._plan:
                value = get(name)
                part = None if memory is None else memory.get(value)
                base += self._part(value, kind, memory) if part is None else part
        except (Rejected, TypeError):  # TypeError: a value that cannot be a dictionary's key
            return self._carefully(values, action)
        return base

    def _part(self, value: Any, kind: Kind, memory: dict[Any, list[float]] | None) -> list[float]:
        part = kind.encode(value)
        if memory is not None:
            if len(memory) >= _REMEMBERED:
                memory.clear()
            memory[value] = part
        return part

    def _carefully(self, values: dict[str, Any], action: object) -> list[float]:
        """Like `base`, for any input: nested, with undeclared features, or wrong."""
        try:
            flat = flattened(values)
        except Rejected as rule:
            raise FeatureError(f"{self._where(action)} {rule}, got {short(values)}") from None
        left = {name: value for name, value in flat.items() if name not in self._names}
        if self._rest is not None:
            flat[self._rest] = left
        elif left:
            self._refuse_unknown(next(iter(left)), action)
        base = [1.0]
        for name, kind, _ in self._plan:
            try:
                base += kind.encode(flat.get(name))
            except Rejected as rule:
                raise FeatureError(
                    f"{self._where(action, name)} {rule}, got {short(flat.get(name))}",
                    feature=name,
                    action=action,
                ) from None
        return base

    def _refuse_unknown(self, name: str, action: object) -> None:
        known = ", ".join(sorted(self._names)) or "none"
        raise FeatureError(
            f"{self._where(action, name)} must be declared, got a value for it; declared: {known} "
            "(Ignored() leaves a feature out)",
            feature=name,
            action=action,
        )

    def _where(self, action: object, name: str | None = None) -> str:
        """The subject of an error message."""
        if self._side == "context":
            return "context" if name is None else f"context feature {name!r}"
        whole = f"action {action!r}"
        return whole if name is None else f"feature {name!r} of {whole}"
