"""Decodes each distinct list of actions only once.

Most decisions of a policy offer the same actions. Looking up their bytes is much faster than
decoding, say, fifty strings again. Every lookup returns the same tuple, whose strings keep their
hashes. Callers can cache by the identity of the tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .messages import NamedAction

Actions = tuple[str | NamedAction, ...]

# The cache is emptied beyond this many bytes, so that memory stays bounded.
_KEPT = 2**20


class Recurring:
    """Decodes lists of actions, with a cache.

    Results are shared and must not be changed.

    Args:
        decode: Turns bytes into actions, and raises an error if it cannot.
    """

    def __init__(self, decode: Callable[[bytes], Actions]) -> None:
        self._decode, self._bytes = decode, 0
        self._known = dict[bytes, Actions]()

    def read(self, raw: msgspec.Raw) -> Actions:
        """The actions that the bytes encode."""
        stored = bytes(raw)
        known = self._known.get(stored)
        if known is None:
            known = self._decode(stored)
            self._bytes += len(stored)
            if self._bytes > _KEPT:
                self._known, self._bytes = {}, len(stored)
            self._known[stored] = known
        return known


def undecoded(kind: type[msgspec.Struct], field: str) -> type[msgspec.Struct]:
    """A type like ``kind`` that does not decode one field, and keeps its bytes."""
    config = kind.__struct_config__
    fields: list[Any] = []
    for one in msgspec.structs.fields(kind):
        made: dict[str, Any] = {"default": one.default, "default_factory": one.default_factory}
        default = msgspec.field(**made)
        fields.append((one.name, msgspec.Raw if one.name == field else one.type, default))
    return msgspec.defstruct(
        f"Undecoded{kind.__name__}",
        fields,
        array_like=config.array_like,
        forbid_unknown_fields=config.forbid_unknown_fields,
        kw_only=True,
    )
