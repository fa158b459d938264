"""Import of dsjson, the joined log of Vowpal Wabbit and Azure Personalizer.

One line is one decision: reward = −``_label_cost``, propensity = ``_label_probability``, the
entries of ``c._multi`` are the actions, the rest of ``c`` is the context. Lines without a decision
(dangling rewards) and deferred decisions that nothing activated are left out and counted. An event
that was kept with probability 1 − ``pdrop`` counts 1/(1 − pdrop) times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from .schema import LogError
from .text_files import DAMAGED, with_counts

try:
    import msgspec
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError("dsjson needs msgspec: pip install driftbandits[logs]") from error


class _Observation(msgspec.Struct):
    taken: bool = msgspec.field(name="ActionTaken", default=False)


class _Context(msgspec.Struct):
    multi: list[msgspec.Raw] = msgspec.field(name="_multi", default_factory=list)


class _Event(msgspec.Struct):
    """The keys that matter; msgspec skips all others without decoding them."""

    cost: float | None = msgspec.field(name="_label_cost", default=None)
    original: float | None = msgspec.field(name="_original_label_cost", default=None)
    probability: float | None = msgspec.field(name="_label_probability", default=None)
    index: int | None = msgspec.field(name="_labelIndex", default=None)
    action: int | None = msgspec.field(name="_label_Action", default=None)
    time: str | None = msgspec.field(name="Timestamp", default=None)
    id: str | None = msgspec.field(name="EventId", default=None)
    context: msgspec.Raw = msgspec.field(name="c", default_factory=msgspec.Raw)
    observations: list[_Observation] = msgspec.field(name="o", default_factory=list)
    pdrop: float = 0.0
    deferred: bool = msgspec.field(name="DeferredAction", default=False)
    skip: bool = msgspec.field(name="_skipLearn", default=False)
    outcomes: msgspec.Raw | None = msgspec.field(name="_outcomes", default=None)

    @property
    def activated(self) -> bool:
        """Whether a deferred decision took effect."""
        return any(observation.taken for observation in self.observations)


_COLUMNS = {
    "time": pa.string(),
    "id": pa.string(),
    "context": pa.string(),
    "actions": pa.list_(pa.string()),
    "chosen": pa.int64(),
    "propensity": pa.float64(),
    "reward": pa.float64(),
    "count": pa.float64(),
    "policy": pa.string(),
}
# Counted by the reader: lines without a decision, and deferred decisions that nothing activated.
DANGLING, DEFERRED = b"dangling lines", b"deferred decisions never activated"


def read_dsjson(
    blocks: Iterable[bytes], *, rows: int, drop: bool = False
) -> Iterator[pa.RecordBatch]:
    """Rows with the schema's default column names, from blocks of whole lines.

    A line that is not dsjson stops the import, unless ``drop`` is set. The metadata of each batch's
    schema counts the lines left out up to the end of the batch.
    """
    decode_event = msgspec.json.Decoder(_Event).decode
    decode_context = msgspec.json.Decoder(_Context).decode
    left_out = {DANGLING: 0, DEFERRED: 0, DAMAGED: 0}
    number, table = 0, _Rows()
    for block in blocks:
        for line in block.splitlines():
            number += 1
            if not line.strip():
                continue
            try:
                event = decode_event(line)
                multi = decode_context(event.context).multi if event.context else []
            except (msgspec.MsgspecError, UnicodeError) as error:
                if not drop:
                    raise LogError(f"line {number} is not dsjson: {error}") from None
                left_out[DAMAGED] += 1
                continue
            _refuse_slates(event, number)
            if not multi:
                left_out[DANGLING] += 1
            elif (event.deferred or event.skip) and not event.activated:
                left_out[DEFERRED] += 1
            else:
                table.add(event, multi)
            if len(table) == rows:
                yield table.batch(left_out)
                table = _Rows()
    if len(table) or any(left_out.values()):
        yield table.batch(left_out)


def _refuse_slates(event: _Event, number: int) -> None:
    if event.outcomes is not None:
        raise LogError(
            f"line {number} has _outcomes (several slots per decision); only one choice per "
            "decision can be read"
        )


class _Rows:
    """Columns that grow row by row."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}

    def __len__(self) -> int:
        return len(self.columns["id"])

    def add(self, event: _Event, multi: list[msgspec.Raw]) -> None:
        """One decision."""
        index = event.index if event.index is not None else (event.action or 0) - 1
        # An apprentice is rewarded for agreeing with the baseline: the label is not the payoff.
        apprentice = event.original is not None and event.original != event.cost
        keep = 1.0 - event.pdrop
        row = (
            event.time,
            event.id,
            bytes(event.context).decode(),
            [bytes(action).decode() for action in multi],
            index,
            event.probability,
            None if event.cost is None else 0.0 - event.cost,
            1.0 / keep if keep > 0.0 else 0.0,
            "apprentice" if apprentice else None,
        )
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def batch(self, left_out: dict[bytes, int]) -> pa.RecordBatch:
        """All rows as a record batch."""
        arrays = [pa.array(values, _COLUMNS[name]) for name, values in self.columns.items()]
        schema = pa.schema(list(_COLUMNS.items()))
        return with_counts(pa.RecordBatch.from_arrays(arrays, schema=schema), left_out)
