"""Layouts of the actions of a log whose rows hold vectors, set ids or arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays import Array
from .batch import Ints
from .columns import NEEDS, column, ends_of, floats, is_list, matrix, parsed_lists
from .schema import Catalogue, LogError, Schema

# Largest number of arms with one parameter per arm; more would take too much memory.
_MOST_ARMS = 20_000


class Sets(NamedTuple):
    """The actions of the rows of a batch, as in `Batch`."""

    vectors: Array
    blocks: Ints
    labels: Ints
    first: Ints
    size: Ints


class Names:
    """Action names in the order in which they appear, and their positions."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.positions = {name: i for i, name in enumerate(names)}

    def __call__(self, name: str) -> int:
        """Position of a name; a new name gets the next position."""
        return self.positions.setdefault(name, len(self.positions))

    def numbered(self, count: int) -> Ints:
        """Positions of the names "0" to "count − 1"."""
        return np.array([self(str(k)) for k in range(count)], dtype=np.int64)


@dataclass
class Layout:
    """How the actions of a log are laid out; ``sets`` reads the actions of a record batch."""

    dim: int
    blocks: int
    whole: bool  # whether the set of each row is known, not only the played action
    sets: Callable[[pa.RecordBatch], Sets]
    names: Names
    by_number: bool = False  # whether numbers are names of actions, not indices


def nested(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
    """K vectors per row, nested or flat; a row with a vector of wrong length has no set."""
    name = str(schema.actions)
    dim = _first_length(parsed_lists(column(batch, name)), name, schema.dim)

    def sets(data: pa.RecordBatch) -> Sets:
        rows, size = _vectors(parsed_lists(column(data, name)), name, dim)
        numbered = names.numbered(int(size.max(initial=1)))
        first = np.cumsum(size) - size
        labels = numbered[np.arange(len(rows)) - np.repeat(first, size)]
        return Sets(rows, np.zeros(len(rows), np.int64), labels, first, size)

    return Layout(dim, 1, True, sets, names)


def _first_length(array: Any, name: str, dim: int | None) -> int:
    """Length of a vector: the first one of nested lists; the schema's ``dim`` for flat lists."""
    if not is_list(array.type):
        raise LogError(
            f"column {name!r} must hold lists of vectors, got {_short(array.type)}; {NEEDS}"
        )
    if is_list(array.type.value_type):
        lengths = np.diff(ends_of(ends_of(array)[0])[1])
        return int(lengths[0]) if len(lengths) and lengths[0] else dim or 1
    if dim is None:
        if pa.types.is_struct(array.type.value_type):
            raise LogError(f"column {name!r} holds lists of structs; {NEEDS}")
        raise LogError(
            f"column {name!r} holds flat lists; the schema needs dim, the length of a vector "
            "(--dim)"
        )
    return dim


def _short(kind: Any) -> str:
    """A type in few words; the full name of a struct would list all of its fields."""
    return "structs" if pa.types.is_struct(kind) else str(kind)


def _vectors(array: Any, name: str, dim: int, *, single: bool = False) -> tuple[Array, Ints]:
    """All vectors (m, d) of a column of lists, and their number per row; 0 for a wrong row.

    With ``single``, a row must hold one vector.
    """
    inner, ends = ends_of(array)
    nested = is_list(inner.type)
    flat, vector_ends = ends_of(inner) if nested else (inner, ends)
    length = np.diff(vector_ends)
    fits = length == dim if nested or single else length % dim == 0
    bounds = ends if nested else np.arange(len(ends))
    wrong = np.concatenate([[0], np.cumsum(~fits)])
    good = wrong[bounds[1:]] == wrong[bounds[:-1]]
    numbers = np.diff(vector_ends[bounds])
    values = floats(flat, name)
    if not good.all():
        values = values[np.repeat(good, numbers)]
    return values.reshape(-1, dim), np.where(good, numbers // dim, 0)


def wide(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
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
            "give action (--action) if only the played action is known, or arms (--arms)"
        )
    count, dim = (1 + max(key[axis] for key in found) for axis in (0, 1))
    missing = [(k, j) for k in range(count) for j in range(dim) if (k, j) not in found]
    if missing:
        raise LogError(f"the log has no column {prefix}_{missing[0][0]}_{missing[0][1]}")
    order = [found[k, j] for k in range(count) for j in range(dim)]
    numbered = names.numbered(count)

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        vectors = matrix(data, order).reshape(n * count, dim)
        first = np.arange(n, dtype=np.int64) * count
        size = np.full(n, count, dtype=np.int64)
        return Sets(vectors, np.zeros(n * count, np.int64), np.tile(numbered, n), first, size)

    return Layout(dim, 1, True, sets, names)


def played_only(batch: pa.RecordBatch, schema: Schema, names: Names) -> Layout:
    """Only the vector of the played action."""
    assert schema.action is not None
    name = str(schema.action)
    exact = isinstance(schema.action, str) and name in batch.schema.names
    # One column of numbers is a vector of length 1.
    kind = column(batch, name).type if exact else None
    alone = exact and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    listed = exact and not alone
    columns = [name] if alone else [] if listed else _coordinates(batch, schema.action)
    dim = len(columns) or _longest(parsed_lists(column(batch, name)), name)
    label = names("played")

    def sets(data: pa.RecordBatch) -> Sets:
        if listed:
            rows, size = _vectors(parsed_lists(column(data, name)), name, dim, single=True)
        else:
            rows, size = matrix(data, columns), np.ones(data.num_rows, np.int64)
        zeros = np.zeros(len(rows), np.int64)
        return Sets(rows, zeros, zeros + label, np.cumsum(size) - size, size)

    return Layout(dim, 1, False, sets, names)


def _longest(array: Any, name: str) -> int:
    """Length of the first vector of a list column."""
    if not is_list(array.type) or is_list(array.type.value_type):
        raise LogError(f"column {name!r} must hold one vector per row, got {array.type}")
    lengths = np.diff(ends_of(array)[1])
    return int(lengths[lengths > 0][0]) if (lengths > 0).any() else 1


def _coordinates(batch: pa.RecordBatch, action: str | tuple[str, ...]) -> list[str]:
    """Names of the columns of a vector: given one by one, or by their prefix."""
    if isinstance(action, tuple):
        return list(action)
    found = [name for name in batch.schema.names if name.startswith(action)]
    if not found:
        raise LogError(f"the log has no column {action!r} and none that begins with it")
    return found


def from_catalogue(
    batch: pa.RecordBatch, schema: Schema, catalogue: Catalogue, names: Names
) -> Layout:
    """Ids of sets, or one set for all rows."""
    labels = np.array([names(label) for label in catalogue.labels], dtype=np.int64)
    blocks = np.zeros(len(labels), np.int64)
    has_ids = schema.actions is not None and (
        schema.actions in batch.schema.names or schema.named("actions")
    )
    only = None if has_ids else catalogue.only
    by_text = {str(key): key for key in catalogue.first}

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        if not has_ids:
            first = np.full(n, catalogue.first[only], dtype=np.int64)
            return Sets(catalogue.vectors, blocks, labels, first, np.full(n, catalogue.size[only]))
        ids = column(data, str(schema.actions))
        coded = pc.dictionary_encode(ids)
        keys = coded.dictionary.to_pylist()
        where = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        # An unknown id gets an empty set, so that its rows are reported as bad.
        # An id may be a text in one file and a number in another.
        known = [key if key in catalogue.first else by_text.get(str(key)) for key in keys]
        start = np.array([*(catalogue.first.get(key, 0) for key in known), 0], dtype=np.int64)
        size = np.array([*(catalogue.size.get(key, 0) for key in known), 0], dtype=np.int64)
        return Sets(catalogue.vectors, blocks, labels, start[where], size[where])

    return Layout(catalogue.dim, 1, True, sets, names)


def arms_of(schema: Schema, arms: tuple[str, ...], names: Names) -> Layout:
    """e_k ⊗ x, with x from context columns or x = 1."""
    columns = (schema.context,) if isinstance(schema.context, str) else schema.context or ()
    count, width = len(arms), max(len(columns), 1)
    if count > _MOST_ARMS:
        raise LogError(
            f"arms must be at most {_MOST_ARMS:,}, with one parameter per arm, got {count:,}; "
            "give the played vectors (--action), or describe actions by features"
        )
    labels = np.array([names(arm) for arm in arms], dtype=np.int64)
    block = np.arange(count, dtype=np.int64)
    if not columns:
        ones = np.ones((count, 1))

    def sets(data: pa.RecordBatch) -> Sets:
        n = data.num_rows
        size = np.full(n, count, dtype=np.int64)
        if not columns:
            return Sets(ones, block, labels, np.zeros(n, np.int64), size)
        contexts = matrix(data, list(columns))
        first = np.arange(n, dtype=np.int64) * count
        repeated = np.repeat(contexts, count, axis=0)
        return Sets(repeated, np.tile(block, n), np.tile(labels, n), first, size)

    return Layout(count * width, count, True, sets, names)
