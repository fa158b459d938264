"""Features of the offered actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import BadRequest
from .journal.records import ids_of

Named = dict[str, dict[str, Any]]

_NOTHING: dict[str, Any] = {}
_KEPT = 64  # offers


class Offers:
    """Looks up the features of actions, and caches the result for tuples.

    The cache is keyed by the identity of a tuple. This is safe because tuples cannot change, and
    the cache keeps each one alive.

    Args:
        catalogue: Features by id; call `forget` after changing them.
    """

    def __init__(self, catalogue: Mapping[str, dict[str, Any]]) -> None:
        self._catalogue = catalogue
        self._known = dict[int, tuple[tuple[Any, ...], Named]]()

    def named(self, actions: Sequence[Any]) -> Named:
        """Ids and features of actions. Do not change the result: it is shared."""
        seen, named = self._known.get(id(actions), (None, _NOTHING))
        if seen is not actions:
            named = self._described(actions)
            if type(actions) is tuple:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[id(actions)] = actions, named
        return named

    def forget(self) -> None:
        """Empty the cache."""
        self._known.clear()

    def _described(self, actions: Sequence[Any]) -> Named:
        """Ids and features: those of the request, or else those of the catalogue."""
        ids = ids_of(actions)
        named = dict.fromkeys(ids, _NOTHING)
        if len(named) < len(ids):
            raise BadRequest("actions must have different ids, got one twice")
        if self._catalogue:
            known = self._catalogue.keys() & named.keys()
            named |= {id: self._catalogue[id] for id in known}
        if ids is not actions:
            named |= {a.id: a.features for a in actions if getattr(a, "features", None) is not None}
        return named
