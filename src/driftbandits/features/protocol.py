"""The interface that an agent needs from features."""

from __future__ import annotations

from typing import Any, Protocol

from ..core.arrays import Array
from .slots import SlotTable


class Encodes(Protocol):
    """What an agent needs from features: `Features`, `FromTransformer`, or a class of your own."""

    @property
    def dim(self) -> int:
        """Length d of a vector."""

    @property
    def bound(self) -> float:
        """No vector is longer than this."""

    @property
    def slots(self) -> int:
        """Number of slots for actions with coordinates of their own, or 0."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per coordinate."""

    def encode(self, context: Any, actions: Any, *, slots: SlotTable | None = None) -> Array:
        """The vectors of actions in a context, (K, d)."""

    def to_dict(self) -> dict[str, Any]:
        """The whole configuration as JSON has it."""
