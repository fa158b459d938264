"""Which layout the actions of a log have, and the layouts of logs that name their actions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays import Array
from ..features import SlotTable
from .batch import MISSING, Ints
from .columns import column, ends_of, is_list, is_text, matrix, parsed_lists
from .schema import Catalogue, Encoder, LogError, Schema
from .vector_layouts import (
    Layout,
    Names,
    Sets,
    arms_of,
    from_catalogue,
    nested,
    played_only,
    wide,
)


def layout(
    batch: pa.RecordBatch,
    schema: Schema,
    catalogue: Catalogue | None,
    encoder: Encoder | None,
    names: Names,
) -> Layout:
    """The layout of a log, recognized from its first batch."""
    if schema.action is not None:
        return played_only(batch, schema, names)
    if catalogue is not None:
        return from_catalogue(batch, schema, catalogue, names)
    if encoder is not None:
        return _encoded(schema, encoder, names)
    if schema.arms is not None:
        return arms_of(schema, schema.arm_names, names)
    if schema.actions is None or schema.actions not in batch.schema.names:
        return wide(batch, schema, names)
    if listed_names(batch, schema) is not None:
        return _named(schema, names, by_number=not _are_texts(batch, schema))
    return nested(batch, schema, names)


def listed_names(data: pa.RecordBatch, schema: Schema) -> Any | None:
    """The names of each row's actions, as lists of texts; None if the column holds no names.

    Whole numbers are names if the schema gives no ``dim`` and no row has a number twice.
    """
    found = column(data, str(schema.actions))
    if is_text(found.type):
        try:
            found = parsed_lists(found)
        except LogError:
            return None
    if not is_list(found.type):
        return None
    if is_text(found.type.value_type):
        return found
    if not pa.types.is_integer(found.type.value_type) or schema.dim is not None:
        return None
    rows = found.to_pylist()
    once = all(row is None or len(set(row)) == len(row) for row in rows)
    return found.cast(pa.list_(pa.string())) if once else None


def _are_texts(data: pa.RecordBatch, schema: Schema) -> bool:
    found = column(data, str(schema.actions))
    return is_text((parsed_lists(found) if is_text(found.type) else found).type.value_type)


def _named(schema: Schema, names: Names, *, by_number: bool) -> Layout:
    """Named actions that vary from row to row, without features: one parameter per action.

    As with ``arms``, the vector of an action is e_k ⊗ x, with x from context columns or x = 1.
    """
    arms = schema.arm_names or tuple(names.positions)
    whole = arms_of(schema, arms, names)
    where = {arm: k for k, arm in enumerate(arms)}
    columns = (schema.context,) if isinstance(schema.context, str) else schema.context or ()

    def sets(data: pa.RecordBatch) -> Sets:
        listed = listed_names(data, schema)
        if listed is None:
            raise LogError(
                f"column {schema.actions!r} holds names in the first rows and something else later"
            )
        inner, ends = ends_of(listed)
        coded = pc.dictionary_encode(inner)
        known = [where.get(action, -1) for action in coded.dictionary.to_pylist()]
        if -1 in known:
            unseen = coded.dictionary[known.index(-1)].as_py()
            raise LogError(
                f"action {unseen!r} was not among the names of the first rows; give all names as "
                "arms (--arms), or describe actions with features"
            )
        index = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        block = np.array([*known, 0], dtype=np.int64)[index]
        labels = np.array([names(arm) for arm in arms], dtype=np.int64)[block]
        size = np.diff(ends)
        # A set that contains an action without a name counts as empty.
        nameless = np.concatenate([[0], np.cumsum(index < 0)])
        offered = np.where(nameless[ends[1:]] == nameless[ends[:-1]], size, 0)
        x = matrix(data, list(columns)) if columns else np.ones((data.num_rows, 1))
        return Sets(np.repeat(x, size, axis=0), block, labels, ends[:-1], offered)

    return Layout(whole.dim, whole.blocks, True, sets, names, by_number=by_number)


def _encoded(schema: Schema, encoder: Encoder, names: Names) -> Layout:
    """Named actions and a context; an encoder makes the vectors, row by row."""
    room = int(getattr(encoder, "slots", 0))
    options = {"slots": SlotTable(room=room)} if room else {}

    def vectors(context: Mapping[str, Any], actions: list[dict[str, Any]]) -> Array:
        new = [a["id"] for a in actions if room and a["id"] not in options["slots"].slots]
        try:
            if new:
                options["slots"] = options["slots"].with_actions(new)
            return encoder.encode(context, actions, **options)
        except ValueError as error:
            raise LogError(f"a row cannot be encoded: {error}") from None

    def sets(data: pa.RecordBatch) -> Sets:
        rows = described(data, schema)
        encoded = [vectors(context, actions) for context, actions in rows if actions]
        labels = [names(action["id"]) for _, actions in rows for action in actions]
        size = np.array([len(actions) for _, actions in rows], dtype=np.int64)
        found = np.concatenate(encoded) if encoded else np.zeros((0, encoder.dim))
        blocks = np.zeros(len(found), np.int64)
        return Sets(found, blocks, np.array(labels, np.int64), np.cumsum(size) - size, size)

    return Layout(encoder.dim, 1, True, sets, names)


def described(
    data: pa.RecordBatch, schema: Schema
) -> list[tuple[Mapping[str, Any], list[dict[str, Any]]]]:
    """Context and actions of each row; an action is a dictionary of ``id`` and ``features``."""
    columns = (schema.context,) if isinstance(schema.context, str) else schema.context or ()
    offered = [_plain(value) for value in column(data, str(schema.actions)).to_pylist()]
    actions = [[_described(entry) for entry in _entries(value)] for value in offered]
    return list(zip(_contexts(data, columns), actions, strict=True))


def _entries(value: Any) -> list[Any]:
    """The actions of a row: a list, or a dictionary from name to features, as for agents.

    Arrow gives all rows of a batch the same names, with None for actions that a row does not offer.
    """
    if isinstance(value, Mapping):
        return [{"id": k, "features": v} for k, v in value.items() if v is not None]
    return value if isinstance(value, list) else []


def _described(entry: Any) -> dict[str, Any]:
    """An action as an id and features; if it has no id, its features as JSON are the id."""
    if not isinstance(entry, Mapping):
        return {"id": str(entry), "features": {}}
    features = {k: v for k, v in entry.items() if k != "id"}
    if set(features) == {"features"}:
        features = features["features"] or {}
    if not isinstance(features, Mapping):
        raise LogError(f"features of an action must be a dictionary, got {features!r}")
    id = str(entry["id"]) if "id" in entry else json.dumps(entry, sort_keys=True, default=str)
    return {"id": id, "features": _flat(features)}


def _contexts(data: pa.RecordBatch, columns: tuple[str, ...]) -> list[Mapping[str, Any]]:
    if len(columns) == 1:
        values = [_plain(value) for value in column(data, columns[0]).to_pylist()]
        if all(isinstance(value, Mapping) for value in values):
            return [_flat(value) for value in values]
    lists = [column(data, name).to_pylist() for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)] or [
        {} for _ in range(data.num_rows)
    ]


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Nested keys joined by a dot (dsjson nests by namespace); ``_multi`` left out."""
    out: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            out |= {f"{key}.{name}": entry for name, entry in inner.items()}
        elif key != "_multi":
            out[key] = inner
    return out


def _plain(value: Any) -> Any:
    """JSON texts parsed, also within a list; other values unchanged."""
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def positions(names: Any, sets: Sets, known: Names) -> Ints:
    """Position of each row's named action in its set; −1 if it is not there, MISSING if no name."""
    texts = names.to_pylist()
    wanted = np.array([known.positions.get(n, -2) for n in texts], dtype=np.int64)
    missing = np.array([n is None or n == "" for n in texts], dtype=bool)
    return np.where(missing, MISSING, _places(wanted, sets))


def _places(wanted: Ints, sets: Sets) -> Ints:
    """Position of a label in each row's set; −1 if it is not there."""
    one = len(wanted) > 0 and (sets.first == sets.first[0]).all()
    if one and (sets.size == sets.size[0]).all():  # all rows share one set
        labels = sets.labels[sets.first[0] : sets.first[0] + sets.size[0]]
        places = np.full(max(int(labels.max(initial=0)), int(wanted.max())) + 2, -1)
        places[labels[::-1]] = np.arange(len(labels))[::-1]  # a repeated label: its first position
        return np.asarray(places[np.maximum(wanted, -1)])
    # If all sets have the same size, as in most logs, no loop is needed.
    if len(set(sets.size.tolist())) == 1:
        size = int(sets.size[0])
        labels = sets.labels[sets.first[:, None] + np.arange(size)]
        found = labels == wanted[:, None]
        return np.where(found.any(axis=1), found.argmax(axis=1), -1)
    out = np.full(len(wanted), -1, dtype=np.int64)
    for i, (first, size) in enumerate(zip(sets.first, sets.size, strict=True)):
        match = np.flatnonzero(sets.labels[first : first + size] == wanted[i])
        out[i] = match[0] if len(match) else -1
    return out


def names_needed(
    table: pa.RecordBatch, schema: Schema, catalogue: Catalogue | None, features: Encoder | None
) -> bool:
    """Whether a log only names its actions; its first rows then give all names."""
    if schema.action is not None or catalogue is not None or features is not None:
        return False
    if schema.arms is not None or schema.actions not in table.schema.names:
        return False
    return listed_names(table, schema) is not None
