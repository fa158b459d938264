"""Arrow columns as numpy arrays: numbers, times, texts and lists."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays import Array
from .batch import Ints
from .schema import SECONDS, LogError, Schema

# Hint for actions that are not vectors.
NEEDS = "set ids need a catalogue (--catalogue), named actions need features (--features)"
# The year 5138 in seconds since 1970.
_LATEST = 1e11
# Seconds in this range are dates (2000 to 2100). Clocks with other origins rarely reach it.
_DATES = (946_684_800.0, 4_102_444_800.0)


def column(batch: pa.RecordBatch, name: str) -> Any:
    """A column by name; the error lists the columns that exist."""
    index = batch.schema.get_field_index(name)
    if index < 0:
        have = ", ".join(batch.schema.names[:30])
        fields = ("time", "chosen", "reward")
        other = f". Name the right one with {name}='…' (--{name} …)" if name in fields else ""
        raise LogError(f"the log has no column {name!r}; it has {have}{other}")
    found = batch.column(index)
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with all texts as ``string``, so that other code handles only one text type."""
    for i, field in enumerate(batch.schema):
        kind = _plain_type(field.type)
        if kind != field.type:
            batch = batch.set_column(i, field.name, batch.column(i).cast(kind))
    return batch


def _plain_type(kind: Any) -> Any:
    """A type with texts as ``string``; polars uses string views, which few functions accept."""
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        inner = _plain_type(kind.value_type)
        return kind if inner == kind.value_type else inner
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _plain_type(kind.value_type)
        if inner == kind.value_type:
            return kind
        return pa.large_list(inner) if pa.types.is_large_list(kind) else pa.list_(inner)
    if pa.types.is_struct(kind):
        inner = [_plain_type(field.type) for field in kind]
        if any(now != field.type for now, field in zip(inner, kind, strict=True)):
            return pa.struct([(f.name, now) for f, now in zip(kind, inner, strict=True)])
    return kind


def optional(batch: pa.RecordBatch, schema: Schema, field: str) -> Any | None:
    """The column of a field, or None if the log has none and the user named none."""
    name = getattr(schema, field)
    if name is None or (name not in batch.schema.names and not schema.named(field)):
        return None
    return column(batch, name)


def floats(array: Any, name: str) -> Array:
    """An Arrow column as float64; nulls and empty text become NaN, other text infinity.

    So a text that is not a number makes its row bad, rather than its number missing.
    """
    values = _readable(array, name)
    # Arrow's memory is read-only, and numba would compile again for read-only arrays.
    return values if values.flags.writeable else values.copy()


def _readable(array: Any, name: str) -> Array:
    """Like `floats`, but the array may be read-only: copy it, or only read it."""
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    try:
        cast = pc.cast(array, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if is_text(array.type):
            return _parsed_numbers(array, name)
        raise LogError(f"column {name!r} must hold numbers: {str(error)[:200]}") from None
    return np.ascontiguousarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)


def _parsed_numbers(array: Any, name: str) -> Array:
    """Numbers from texts, some of which are not numbers; refuses a column without any number."""
    texts = array.to_pylist()
    values = np.array([_number(text) for text in texts])
    odd = next((text for text, value in zip(texts, values, strict=True) if np.isinf(value)), None)
    if odd is not None and not np.isfinite(values).any():
        raise LogError(
            f"column {name!r} must hold numbers, got {odd!r}; texts of contexts and actions become "
            "numbers by features (--features)"
        )
    return values


def _number(text: str | None) -> float:
    try:
        return float(text) if text and not text.isspace() else np.nan
    except ValueError:
        return np.inf


def seconds(array: Any, name: str, unit: str) -> Array:
    """A column of timestamps, dates, durations, texts or numbers as seconds; nulls become NaN."""
    if is_text(array.type):
        array = _parsed_times(array, name)
    if pa.types.is_date(array.type):
        array = pc.cast(array, pa.timestamp("us"))
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        # float64 seconds resolve a quarter of a microsecond; finer times are rounded.
        ticks = pc.cast(pc.cast(array, pa.int64()), pa.float64(), safe=False)
        return floats(ticks, name) * SECONDS[array.type.unit]
    if pa.types.is_integer(array.type):
        array = pc.cast(array, pa.float64(), safe=False)
    times = floats(array, name) * SECONDS[unit]
    _refuse_other_unit(times, name, unit)
    return times


def is_dated(array: Any, name: str, unit: str) -> bool:
    """Whether a column of times holds dates: as date types, as texts, or as numbers since 1970."""
    if pa.types.is_duration(array.type):
        return False
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return True
    times = seconds(array, name, unit)
    known = times[np.isfinite(times)]
    return bool(len(known) and _DATES[0] <= known[0] < _DATES[1])


def _refuse_other_unit(times: Array, name: str, unit: str) -> None:
    """Refuse times in milliseconds or finer since 1970 that are read in a longer unit."""
    first = next((t for t in times[:1000].tolist() if np.isfinite(t)), 0.0)
    finer = [u for u, size in SECONDS.items() if 1e8 < first * size / SECONDS[unit] < 1e10]
    if first > _LATEST and finer:
        raise LogError(
            f"column {name!r} has the time {first / SECONDS[unit]:g}, which is not a date in units "
            f"of {unit!r}; it would be one with unit={finer[0]!r} (--unit {finer[0]})"
        )


def _parsed_times(array: Any, name: str) -> Any:
    """Times from ISO texts, in UTC; texts without a zone are taken as UTC."""
    for kind in (pa.timestamp("ns", tz="UTC"), pa.timestamp("ns")):
        try:
            return pc.cast(array, kind)
        except pa.ArrowInvalid:
            continue
    # Some texts are not times: their rows get no time.
    times = pa.array([_moment(text) for text in array.to_pylist()], pa.timestamp("us", tz="UTC"))
    if times.null_count == len(times):
        raise LogError(f"column {name!r} must hold numbers or ISO times, got {array[0].as_py()!r}")
    return times


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def texts(array: Any | None) -> npt.NDArray[Any] | None:
    """A column as an array of texts, or None."""
    if array is None or pa.types.is_null(array.type):
        return None
    return np.asarray(pc.cast(array, pa.string()).to_numpy(zero_copy_only=False))


def is_text(kind: Any) -> bool:
    """Whether a type is text; see `plain`."""
    return bool(pa.types.is_string(kind))


def is_list(kind: Any) -> bool:
    """Whether a type is a list."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def ends_of(array: Any) -> tuple[Any, Ints]:
    """Values and offsets (n + 1,) of a list column."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return array.flatten(), np.arange(len(array) + 1, dtype=np.int64) * size
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return array.flatten(), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def parsed_lists(array: Any) -> Any:
    """Lists, parsed from JSON if the column holds texts."""
    if not is_text(array.type):
        return array
    parsed = [_parsed_list(text) for text in array.to_pylist()]
    if all(value is None for value in parsed):
        raise LogError(
            f"a column of texts must hold lists as JSON, got {array[0].as_py()!r}; {NEEDS}"
        )
    try:
        return pa.array(parsed)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise LogError(f"a column of lists as JSON must hold numbers: {error}") from None


def _parsed_list(text: str | None) -> list[Any] | None:
    """A list from JSON; None if the text is not a list, so that its row is reported."""
    try:
        value = json.loads(text or "null")
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def matrix(data: pa.RecordBatch, names: list[str]) -> Array:
    """Numeric columns side by side, shape (n, columns)."""
    out = np.empty((data.num_rows, len(names)))
    for j, name in enumerate(names):
        out[:, j] = _readable(column(data, name), name)
    return out
