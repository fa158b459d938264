"""Vectors from a fitted scikit-learn transformer, instead of a declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Never

import numpy as np

from ..core.arrays import Array, positive
from .errors import FeatureError, short
from .inputs import ID, action_list, as_mapping, named_actions, records
from .limits import MARGIN
from .slots import SlotTable


class FromTransformer:
    """Vectors from a fitted object with ``transform`` and ``get_feature_names_out``.

    The features of the context and of the action are merged into one row per action, and the
    transformer transforms these rows. It also handles unknown names and unseen values, in its own
    way.

    A vector x of the transformer becomes x · bound/max(norm, ‖x‖), so no vector is longer than the
    bound. A fitted transformer cannot be written as JSON, so `to_dict` refuses. To load a saved
    agent, pass the same transformer again.

    Args:
        transformer: It must always give the same row the same vector.
        norm: Longer vectors are shortened to this length before scaling.
        bound: The ``action_bound`` of the policy.
        table: Function from a list of dictionaries to the transformer's input, such as
            ``pandas.DataFrame``. Unless given, the transformer gets the list.
        id: Column of the rows for the action's id. Without it, rows have no id.
    """

    slots = 0

    def __init__(
        self,
        transformer: Any,
        *,
        norm: float,
        bound: float = 1.0,
        table: Callable[[list[dict[str, Any]]], Any] = list,
        id: str | None = None,
    ) -> None:
        for method in ("transform", "get_feature_names_out"):
            if not callable(getattr(transformer, method, None)):
                raise ValueError(f"transformer must have a method {method}, got {transformer!r}")
        positive("norm", norm)
        positive("bound", bound)
        self._transformer, self._table, self._id = transformer, table, id
        self.norm, self.bound = float(norm), float(bound)
        self.names = tuple(str(name) for name in transformer.get_feature_names_out())
        self.dim = len(self.names)

    def __repr__(self) -> str:
        return f"FromTransformer({self._transformer!r}, norm={self.norm}, bound={self.bound})"

    def encode(self, context: Any, actions: Any, *, slots: SlotTable | None = None) -> Array:
        """The vectors of actions in a context, (K, d); see `Features.encode`."""
        self._refuse(slots)
        row = as_mapping("context", context)
        named = named_actions(actions)
        return self._vectors([self._merged(row, id, named[id]) for id in named])

    def encode_pairs(self, contexts: Any, actions: Any, *, slots: SlotTable | None = None) -> Array:
        """The vector of each context with the action at the same place, (n, d)."""
        self._refuse(slots)
        rows, pairs = records("contexts", contexts), action_list(actions)
        if len(rows) != len(pairs):
            raise FeatureError(
                f"contexts and actions must be equally many, got {len(rows)} and {len(pairs)}"
            )
        merged = [
            self._merged(as_mapping("context", row), *pair)
            for row, pair in zip(rows, pairs, strict=True)
        ]
        return self._vectors(merged) if merged else np.empty((0, self.dim))

    def to_dict(self) -> Never:
        """Refused: see the class."""
        raise TypeError(
            "a fitted transformer cannot be written as JSON; declare Features, or hand the "
            "transformer in again when loading"
        )

    def _merged(self, context: Mapping[str, Any], id: Any, features: Any) -> dict[str, Any]:
        """One row: the context, the features of an action and, if ``id`` is set, its id."""
        own = {name: value for name, value in features.items() if name != ID}
        if self._id is not None:
            own[self._id] = id
        for name in own.keys() & context.keys():
            raise FeatureError(
                f"feature {name!r} must be of the context or of action {id!r}, got both",
                feature=name,
                action=id,
            )
        return {**context, **own}

    def _vectors(self, rows: list[dict[str, Any]]) -> Array:
        found = self._transformer.transform(self._table(rows))
        dense = found.toarray() if hasattr(found, "toarray") else found
        vectors: Array = np.array(dense, dtype=np.float64, order="C")
        if vectors.shape != (len(rows), self.dim):
            raise FeatureError(
                f"the transformer must return shape {(len(rows), self.dim)}, got {vectors.shape}"
            )
        if not np.isfinite(vectors).all():
            row = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise FeatureError(
                f"the transformer must return finite numbers, got others for {short(rows[row])}"
            )
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), self.norm)
        vectors *= self.bound * MARGIN / lengths
        return vectors

    def _refuse(self, slots: SlotTable | None) -> None:
        if slots is not None:
            raise ValueError(f"slots must be None with a transformer, got {slots!r}")
