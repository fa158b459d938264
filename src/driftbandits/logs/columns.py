"""From Arrow columns to the arrays of a batch, by the layout that the schema describes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays import Array
from ..features import SlotTable
from .batch import Ints
from .schema import SECONDS, Catalogue, Encoder, LogError, Schema


class Sets(NamedTuple):
    """The actions of the rows of a batch, as in `Batch`."""

    vectors: Array
    blocks: Ints
    labels: Ints
    first: Ints
    size: Ints


class Names:
    """Action names in the order in which they are met, and their positions."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.positions = {name: i for i, name in enumerate(names)}

    def __call__(self, name: str) -> int:
        """Position of a name; a new one gets the next."""
        return self.positions.setdefault(name, len(self.positions))

    def numbered(self, count: int) -> Ints:
        """Positions of the names "0" to "count − 1"."""
        return np.array([self(str(k)) for k in range(count)], dtype=np.int64)


@dataclass
class Layout:
    """How the actions of a log are laid out; ``sets`` reads those of a record batch."""

    dim: int
    blocks: int
    whole: bool  # whether the set of each row is known, not only what was played
    sets: Callable[[pa.RecordBatch], Sets]
    names: Names


def column(batch: pa.RecordBatch, name: str) -> Any:
    """A column by name; the error lists those that exist."""
    index = batch.schema.get_field_index(name)
    if index < 0:
        have = ", ".join(batch.schema.names[:30])
        raise LogError(f"the log has no column {name!r}; it has {have}")
    found = batch.column(index)
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def optional(batch: pa.RecordBatch, schema: Schema, field: str) -> Any | None:
    """The column of a field, or None where the log has none and the user named none."""
    name = getattr(schema, field)
    if name is None or (name not in batch.schema.names and not schema.named(field)):
        return None
    return column(batch, name)


def floats(array: Any, name: str) -> Array:
    """An Arrow column as float64; nulls and empty text become NaN."""
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    try:
        cast = pc.cast(array, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise LogError(f"column {name!r} must hold numbers: {error}") from None
    values = cast.to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values, dtype=np.float64)


def seconds(array: Any, name: str, unit: str) -> Array:
    """A column of timestamps, dates, texts or numbers as seconds; nulls become NaN."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = _parsed_times(array, name)
    if pa.types.is_date(array.type):
        array = pc.cast(array, pa.timestamp("us"))
    if pa.types.is_timestamp(array.type):
        # float64 seconds resolve a quarter of a microsecond; what is finer is rounded.
        ticks = pc.cast(pc.cast(array, pa.int64()), pa.float64(), safe=False)
        return floats(ticks, name) * SECONDS[array.type.unit]
    return floats(array, name) * SECONDS[unit]


def _parsed_times(array: Any, name: str) -> Any:
    """ISO texts; times with a zone become UTC, and those without are taken as UTC."""
    for kind in (pa.timestamp("ns", tz="UTC"), pa.timestamp("ns")):
        try:
            return pc.cast(array, kind)
        except pa.ArrowInvalid:
            continue
    raise LogError(f"column {name!r} must hold numbers or ISO times, got {array[0].as_py()!r}")


def texts(array: Any | None) -> npt.NDArray[Any] | None:
    """A column as an array of texts, or None."""
    if array is None or pa.types.is_null(array.type):
        return None
    return np.asarray(pc.cast(array, pa.string()).to_numpy(zero_copy_only=False))


def layout(
    batch: pa.RecordBatch,
    schema: Schema,
    catalogue: Catalogue | None,
    encoder: Encoder | None,
    names: Names,
) -> Layout:
    """The layout of a log, seen from its first batch."""
    if schema.action is not None:
        return _played_only(batch, schema, names)
    if catalogue is not None:
        return _from_catalogue(batch, schema, catalogue, names)
    if encoder is not None:
        return _encoded(schema, encoder, names)
    if schema.arms is not None:
        return _arms(schema, schema.arm_names, names)
    if schema.actions is None or schema.actions not in batch.schema.names:
        return _wide(batch, schema, names)
    kind = column(batch, schema.actions).type
    if _is_list(kind) and pa.types.is_string(kind.value_type):
        return _named(schema, names)
    return _nested(batch, schema, names)


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _ends(array: Any) -> tuple[Any, Ints]:
    """Values and offsets (n + 1,) of a list column."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return array.flatten(), np.arange(len(array) + 1, dtype=np.int64) * size
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return array.flatten(), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _parsed_lists(array: Any) -> Any:
    """Lists that a text file holds as JSON."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        try:
            return pa.array([None if t is None else json.loads(t) for t in array.to_pylist()])
        except (ValueError, pa.ArrowInvalid) as error:
            raise LogError(
                f"a column of texts must hold lists as JSON ({error}); set ids need a catalogue"
            ) from None
    return array


def _nested(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
    """K vectors per row, nested or flat."""
    name = str(schema.actions)

    def parts(data: pa.RecordBatch) -> tuple[Array, Ints]:
        array = _parsed_lists(column(data, name))
        if not _is_list(array.type):
            raise LogError(
                f"column {name!r} must hold lists of vectors, got {array.type}; set ids need a "
                "catalogue"
            )
        inner, ends = _ends(array)
        if _is_list(inner.type):
            flat, inner_ends = _ends(inner)
            lengths = np.diff(inner_ends)
            if len(lengths) and (lengths != lengths[0]).any():
                bad = int(np.searchsorted(ends, np.flatnonzero(lengths != lengths[0])[0], "right"))
                raise LogError(
                    f"row {bad} of a batch of {name!r} has a vector of length "
                    f"{lengths[lengths != lengths[0]][0]}, not {lengths[0]}"
                )
            width = int(lengths[0]) if len(lengths) else schema.dim or 1
            return floats(flat, name).reshape(-1, width), ends
        if schema.dim is None:
            raise LogError(f"column {name!r} holds flat lists; the schema needs dim")
        return floats(inner, name).reshape(-1, schema.dim), ends // schema.dim

    vectors, ends = parts(batch)
    dim = vectors.shape[1]
    most = int(np.diff(ends).max(initial=1))
    numbered = names.numbered(most)

    def sets(data: pa.RecordBatch) -> Sets:
        nonlocal numbered
        rows, ends = parts(data)
        if rows.shape[1] != dim:
            raise LogError(f"{name!r} has vectors of length {rows.shape[1]}, earlier rows {dim}")
        size = np.diff(ends)
        if size.max(initial=0) > len(numbered):
            numbered = names.numbered(int(size.max()))
        labels = numbered[np.arange(len(rows)) - np.repeat(ends[:-1], size)]
        blocks = np.zeros(len(rows), np.int64)
        return Sets(np.ascontiguousarray(rows), blocks, labels, ends[:-1], size)

    return Layout(dim, 1, True, sets, names)


def _matrix(data: pa.RecordBatch, names: list[str]) -> Array:
    out = np.empty((data.num_rows, len(names)))
    for j, name in enumerate(names):
        out[:, j] = floats(column(data, name), name)
    return out


def _wide(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
    """Columns actions_k_j."""
    prefix = schema.actions or "actions"
    found: dict[tuple[int, int], str] = {}
    for name in batch.schema.names:
        pieces = name.removeprefix(f"{prefix}_").split("_")
        if name.startswith(f"{prefix}_") and len(pieces) == 2 and all(map(str.isdigit, pieces)):
            found[int(pieces[0]), int(pieces[1])] = name
    if not found:
        raise LogError(
            f"the log has no column {prefix!r} and no columns {prefix}_0_0, {prefix}_0_1, …; "
            "a log of what was played alone needs action=, one with a parameter per arm arms="
        )
    count, dim = (1 + max(key[axis] for key in found) for axis in (0, 1))
    missing = [(k, j) for k in range(count) for j in range(dim) if (k, j) not in found]
    if missing:
        raise LogError(f"the log has no column {prefix}_{missing[0][0]}_{missing[0][1]}")
    order = [found[k, j] for k in range(count) for j in range(dim)]
    numbered = names.numbered(count)

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        vectors = _matrix(data, order).reshape(n * count, dim)
        first = np.arange(n, dtype=np.int64) * count
        size = np.full(n, count, dtype=np.int64)
        return Sets(vectors, np.zeros(n * count, np.int64), np.tile(numbered, n), first, size)

    return Layout(dim, 1, True, sets, names)


def _played_only(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
    """The played action's vector alone."""
    assert schema.action is not None
    listed = isinstance(schema.action, str) and schema.action in batch.schema.names
    columns = [] if listed else _coordinates(batch, schema.action)

    def read(data: pa.RecordBatch) -> Array:
        if not listed:
            return _matrix(data, columns)
        flat, ends = _ends(_parsed_lists(column(data, str(schema.action))))
        if len(set(np.diff(ends).tolist())) > 1:
            raise LogError(f"column {schema.action!r} must hold vectors of one length")
        return floats(flat, str(schema.action)).reshape(data.num_rows, -1)

    dim = read(batch).shape[1]
    label = names("played")

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        ones, zeros = np.ones(n, np.int64), np.zeros(n, np.int64)
        return Sets(read(data), zeros, np.full(n, label), np.arange(n, dtype=np.int64), ones)

    return Layout(dim, 1, False, sets, names)


def _coordinates(batch: pa.RecordBatch, action: str | tuple[str, ...]) -> list[str]:
    """Names of the columns of a vector: given one by one, or by what they begin with."""
    if isinstance(action, tuple):
        return list(action)
    found = [name for name in batch.schema.names if name.startswith(action)]
    if not found:
        raise LogError(f"the log has no column {action!r} and none that begins with it")
    return found


def _from_catalogue(
    batch: pa.RecordBatch, schema: Schema, catalogue: Catalogue, names: Names
) -> Layout:
    """Ids of sets, or one set for all rows."""
    labels = np.array([names(label) for label in catalogue.labels], dtype=np.int64)
    blocks = np.zeros(len(labels), np.int64)
    has_ids = schema.actions is not None and (
        schema.actions in batch.schema.names or schema.named("actions")
    )
    only = None if has_ids else catalogue.only

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        if not has_ids:
            first = np.full(n, catalogue.first[only], dtype=np.int64)
            return Sets(catalogue.vectors, blocks, labels, first, np.full(n, catalogue.size[only]))
        ids = column(data, str(schema.actions))
        coded = pc.dictionary_encode(ids)
        keys = coded.dictionary.to_pylist()
        where = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        # An unknown id has an empty set, so that its rows are reported as bad ones.
        start = np.array([*(catalogue.first.get(key, 0) for key in keys), 0], dtype=np.int64)
        size = np.array([*(catalogue.size.get(key, 0) for key in keys), 0], dtype=np.int64)
        return Sets(catalogue.vectors, blocks, labels, start[where], size[where])

    return Layout(catalogue.dim, 1, True, sets, names)


def _arms(schema: Schema, arms: tuple[str, ...], names: Names) -> Layout:
    """e_k ⊗ x, with x from context columns or x = 1."""
    columns = (schema.context,) if isinstance(schema.context, str) else schema.context or ()
    count, width = len(arms), max(len(columns), 1)
    labels = np.array([names(arm) for arm in arms], dtype=np.int64)
    block = np.arange(count, dtype=np.int64)
    if not columns:
        ones = np.ones((count, 1))

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        size = np.full(n, count, dtype=np.int64)
        if not columns:
            return Sets(ones, block, labels, np.zeros(n, np.int64), size)
        contexts = _matrix(data, list(columns))
        first = np.arange(n, dtype=np.int64) * count
        repeated = np.repeat(contexts, count, axis=0)
        return Sets(repeated, np.tile(block, n), np.tile(labels, n), first, size)

    return Layout(count * width, count, True, sets, names)


def _named(schema: Schema, names: Names) -> Layout:
    """Named actions that vary from row to row, without features: one parameter per name."""
    arms = schema.arm_names or tuple(names.positions)
    layout = _arms(schema, arms, names)
    where = {arm: k for k, arm in enumerate(arms)}
    name = str(schema.actions)

    def sets(data: pa.RecordBatch) -> Sets:
        inner, ends = _ends(column(data, name))
        coded = pc.dictionary_encode(inner)
        known = [where.get(action, -1) for action in coded.dictionary.to_pylist()]
        if -1 in known:
            unseen = coded.dictionary[known.index(-1)].as_py()
            raise LogError(
                f"action {unseen!r} was not among the names of the first rows; give all names as "
                "arms=, or describe actions with features"
            )
        block = np.array(known, dtype=np.int64)[coded.indices.to_numpy(zero_copy_only=False)]
        labels = np.array([names(arm) for arm in arms], dtype=np.int64)[block]
        return Sets(np.ones((len(block), 1)), block, labels, ends[:-1], np.diff(ends))

    return Layout(layout.dim, layout.blocks, True, sets, names)


def _encoded(schema: Schema, encoder: Encoder, names: Names) -> Layout:
    """Named actions and a context, through an encoder, row by row."""
    context = (schema.context,) if isinstance(schema.context, str) else schema.context or ()
    room = int(getattr(encoder, "slots", 0))
    options = {"slots": SlotTable(room=room)} if room else {}

    def sets(data: pa.RecordBatch) -> Sets:
        offered = [_plain(value) for value in column(data, str(schema.actions)).to_pylist()]
        contexts = _contexts(data, context)
        vectors, labels, ends = [], [], [0]
        for given, entries in zip(contexts, offered, strict=True):
            actions = [_described(entry) for entry in entries or ()]
            new = [a["id"] for a in actions if room and a["id"] not in options["slots"].slots]
            if new:
                options["slots"] = options["slots"].with_actions(new)
            if actions:
                vectors.append(encoder.encode(given, actions, **options))
            labels += [names(action["id"]) for action in actions]
            ends.append(ends[-1] + len(actions))
        rows = np.concatenate(vectors) if vectors else np.zeros((0, encoder.dim))
        where = np.array(ends, dtype=np.int64)
        blocks = np.zeros(len(rows), np.int64)
        return Sets(rows, blocks, np.array(labels, np.int64), where[:-1], np.diff(where))

    return Layout(encoder.dim, 1, True, sets, names)


def _described(entry: Any) -> dict[str, Any]:
    """An action as an id and features; one without an id is called by its features."""
    if not isinstance(entry, Mapping):
        return {"id": str(entry), "features": {}}
    features = {k: v for k, v in entry.items() if k != "id"}
    if set(features) == {"features"}:
        features = features["features"] or {}
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
    """Namespaces joined to their keys by a dot, as dsjson nests them; ``_multi`` left out."""
    out: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            out |= {f"{key}.{name}": entry for name, entry in inner.items()}
        elif key != "_multi":
            out[key] = inner
    return out


def _plain(value: Any) -> Any:
    """JSON text as the value it stands for; a list entry by entry; other values as they are."""
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
