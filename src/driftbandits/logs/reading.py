"""Rows of decisions, read in batches of bounded size as often as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ..core.arrays import Array
from ..features import Features
from .batch import MISSING, Batch, Ints
from .columns import column, floats, is_dated, is_text, optional, seconds, texts
from .layouts import layout, listed_names, names_needed, positions
from .rows import Checker, Findings
from .schema import Catalogue, Encoder, LogError, Schema
from .sources import Source, fitting
from .vector_layouts import Layout, Names, Sets

Progress = Callable[[int, int | None], None]

# Rows from which scales are computed, and rows read first to learn how large sets of actions are.
_FIRST, _PEEK = 4096, 64


class LogReader:
    """The rows of a log, and the facts they share; `Log` adds the questions.

    Attributes:
        schema: What the columns mean.
        dim: Length d of a full action vector.
        blocks: Number of parameter blocks: one per arm, or 1.
        whole: Whether rows hold the set of actions, not only the played action.
        encoded: Whether rows hold contexts and actions by name, for features.
        dated: Whether times are dates or numbers since 1970; otherwise they are other numbers.
        notes: Remarks on the log from reading it, in words.
        names: Names of the actions seen so far, and their positions.
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        catalogue: Catalogue | None,
        features: Encoder | None,
        on_bad: str,
    ) -> None:
        Checker(on_bad)  # refuses a wrong value now, not after an hour
        self.source, self.schema = source, schema
        self._on_bad = on_bad
        told = "" if catalogue is None else catalogue.stamp
        self._meaning = f"{schema} {on_bad} {told} {_declared(features)}"
        self.names = Names()
        self.notes = source.notes
        peek = next((b for b in source.read(0) if b.num_rows), None)
        if peek is None:
            raise LogError(f"{source.name} has no rows")
        _check_columns(peek, schema)
        if names_needed(peek, schema, catalogue, features):
            self._collect_names()
        self._layout: Layout = layout(peek, schema, catalogue, features, self.names)
        self.dim, self.blocks = self._layout.dim, self._layout.blocks
        self.whole, self.encoded = self._layout.whole, features is not None
        self.findings = Findings()
        self.forgot_ids = False
        self.position = 0  # rows read in the current pass
        self.most = 0  # actions in the largest set that was read
        self._spread = 0  # numbers per row in the vectors of a set; 1 per action if rows share sets
        self._ends: tuple[float, float] | None = None
        self._decisions: float | None = None
        self._rows: int = 0
        self._scales: Any = None
        # Decided once: later names must not change what a number means.
        self._numbered = self._layout.by_number or _are_numbers(
            schema.arm_names or self.action_names
        )
        self.dated = is_dated(column(peek, schema.time), schema.time, schema.unit)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions seen so far; numbers if they have no names."""
        return tuple(self.names.positions)

    @property
    def stamp(self) -> str:
        """Changes when the data or its meaning does."""
        return f"{self.source.stamp()} {self._meaning}"

    @property
    def width(self) -> int:
        """Length of a vector within its block."""
        return self.dim // self.blocks

    def checker(self) -> Checker:
        """A fresh checker of rows, with the options of this log."""
        return Checker(self._on_bad, self.schema.reward_bounds)

    def batches(
        self, *, checker: Checker | None = None, skip: int = 0, progress: Progress | None = None
    ) -> Iterator[Batch]:
        """The rows in order, in batches; ``progress`` is called with the number of rows done.

        The first ``skip`` rows are left out, for a run that continues with its own ``checker``.
        """
        end = self.end(progress) if self.schema.mature_after is not None else np.inf
        whole = skip == 0 or checker is not None
        checker = checker or self.checker()
        done, kept = skip, skip > 0
        for table in self.source.read(skip):
            start = 0
            while start < table.num_rows:
                piece = table.slice(start, self._fitting(table))
                batch = checker(self._batch(piece, done, end))
                start, done = start + piece.num_rows, done + piece.num_rows
                self.position = done
                if whole:  # the checker has seen all rows
                    self.findings, self.forgot_ids = checker.findings, checker.forgot_ids
                if len(batch):
                    kept, self.most = True, max(self.most, int(batch.size.max()))
                    shared = len(batch.vectors) < int(batch.size.sum())
                    self._spread = max(self._spread, self.most * (1 if shared else self.width))
                    yield batch
                if progress is not None:
                    progress(done, self.source.rows)
            self._read_notes(table)
        if not kept:
            row, reason = self.findings.examples[0]
            raise LogError(f"no row of the log can be right; row {row}: {reason}")

    def end(self, progress: Progress | None = None) -> float:
        """The latest time in the log, of decisions and rewards; the first call reads all times."""
        if self._ends is None:
            latest, done = {"time": -np.inf, "reward_time": -np.inf}, 0
            times = [n for n in (self.schema.time, self.schema.reward_time) if n is not None]
            for table in self.source.read(0, times):
                for field in latest:
                    found = optional(table, self.schema, field)
                    if found is not None and not pa.types.is_null(found.type):
                        values = seconds(found, field, self.schema.unit)
                        latest[field] = max(latest[field], np.nanmax(values, initial=-np.inf))
                done += table.num_rows
                if progress is not None:
                    progress(done, self.source.rows)
            self._ends = float(latest["time"]), float(max(latest.values()))
        return self._ends[1]

    def span(self) -> tuple[float, float]:
        """Times of the first and the last decision, in seconds."""
        self.end()
        assert self._ends is not None
        for table in self.source.read(0, [self.schema.time]):
            times = seconds(column(table, self.schema.time), self.schema.time, self.schema.unit)
            if np.isfinite(times).any():
                return float(times[np.isfinite(times)][0]), self._ends[0]
        raise LogError(f"no row has a time in column {self.schema.time!r}")

    def decisions(self) -> float:
        """Number of decisions, Σ count; the first call may read the log."""
        if self._decisions is None:
            name = self.schema.count
            self._decisions, self._rows = 0.0, 0
            for table in self.source.read(0, [self.schema.time, name or self.schema.time]):
                found = optional(table, self.schema, "count")
                self._rows += table.num_rows
                if found is None:
                    self._decisions += table.num_rows
                else:
                    counts = floats(found, str(name))
                    self._decisions += float(counts[(counts > 0) & np.isfinite(counts)].sum())
        if self._decisions == 0.0:
            raise LogError(f"no row has a count above 0 in column {self.schema.count!r}")
        return self._decisions

    @property
    def rows(self) -> int:
        """Number of rows, good and bad; the first call may read the log."""
        if self.source.rows is not None:
            return int(self.source.rows)
        self.decisions()
        return self._rows

    @property
    def rate(self) -> float:
        """Decisions per hour on average; NaN if no time passes."""
        first, last = self.span()
        return self.decisions() / ((last - first) / 3600.0) if last > first else float("nan")

    def scales(self) -> Any:
        """Root mean square of each coordinate of the first played vectors, shape (w,).

        Only the first rows are used, so that later rows never change an earlier prediction.
        """
        if self._scales is None:
            total, rows = np.zeros(self.width), 0
            for batch in self.batches():
                played = batch.vectors[batch.played[: _FIRST - rows]]
                total += (played**2).sum(axis=0)
                rows += len(played)
                if rows >= _FIRST:
                    break
            size = np.sqrt(total / max(rows, 1))
            self._scales = np.where(size > 0.0, size, 1.0)
        return self._scales

    def _fitting(self, table: pa.RecordBatch) -> int:
        """Number of rows that fit in little memory, with their sets of vectors."""
        if self._spread == 0:
            return _PEEK
        return fitting(table.num_rows, max(table.nbytes / table.num_rows, 8.0 * self._spread))

    def _batch(self, table: pa.RecordBatch, done: int, end: float) -> Batch:
        schema, n = self.schema, table.num_rows
        sets = self._layout.sets(table)
        time = seconds(column(table, schema.time), schema.time, schema.unit)
        count = self._numbers(table, "count", 1.0)
        ripe = None
        if schema.mature_after is not None:
            ripe = time + 3600.0 * schema.mature_after
            ripe[ripe > end] = np.inf
        reward, arrival = self._rewards(table, time, ripe)
        return Batch(
            row=np.arange(done + 1, done + n + 1),
            time=time,
            vectors=sets.vectors,
            blocks=sets.blocks,
            labels=sets.labels,
            first=sets.first,
            size=sets.size,
            chosen=self._chosen(table, sets),
            propensity=_rounded(self._numbers(table, "propensity", np.nan)),
            reward=reward / np.where(count > 0, count, 1.0) if schema.total else reward,
            arrival=arrival,
            count=count,
            id=texts(optional(table, schema, "id")),
            policy=texts(optional(table, schema, "policy")),
            ripe=ripe,
            table=table,
        )

    def _numbers(self, table: pa.RecordBatch, field: str, missing: float) -> Any:
        found = optional(table, self.schema, field)
        if found is None:
            return np.full(table.num_rows, missing)
        return floats(found, getattr(self.schema, field))

    def _rewards(self, table: pa.RecordBatch, time: Array, ripe: Array | None) -> tuple[Any, Any]:
        """Rewards and their arrivals; a missing reward becomes the default when it is ripe."""
        schema = self.schema
        reward = floats(column(table, schema.reward), schema.reward).copy()
        found = optional(table, schema, "reward_time")
        came = time.copy()
        if found is not None:
            given = seconds(found, str(schema.reward_time), schema.unit)
            came = np.where(np.isnan(given), time, given)
        if ripe is not None:
            default = np.isnan(reward) & np.isfinite(ripe)
            reward[default] = schema.default
            came[default] = ripe[default]
        came[np.isnan(reward)] = np.inf
        return reward, came

    def _chosen(self, table: pa.RecordBatch, sets: Sets) -> Ints:
        if not self.whole:
            return np.zeros(table.num_rows, dtype=np.int64)
        if self.schema.chosen is None:
            raise LogError("the schema must name the column of the chosen action")
        found = column(table, self.schema.chosen)
        if self._numbered:
            found = _number_names(found, self.schema.chosen)
        if is_text(found.type):
            where = positions(found, sets, self.names)
            named = where != MISSING
            if named.any() and (where[named] < 0).all():
                self._refuse_names(found[int(named.argmax())].as_py())
            return where
        values = floats(found, self.schema.chosen)
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**62)
        chosen = np.where(whole, np.nan_to_num(values), -1).astype(np.int64)
        chosen[np.isnan(values)] = MISSING
        return chosen

    def _refuse_names(self, example: str) -> None:
        """Refuse a column of names none of which is the name of an action."""
        known = ", ".join(repr(name) for name in self.action_names[:5])
        raise LogError(
            f"column {self.schema.chosen!r} has names such as {example!r}, and none of them is an "
            f"action ({known}); give the names of arms: arms=('a', 'b') (--arms a,b)"
        )

    def _collect_names(self) -> None:
        """Collect the names of actions in the first rows, for a log that only names its actions."""
        read = 0
        for table in self.source.read(0):
            listed = listed_names(table, self.schema)
            for name in [] if listed is None else listed.flatten().drop_null().unique().to_pylist():
                self.names(name)
            read += table.num_rows
            if read >= 100_000:
                break

    def _read_notes(self, table: pa.RecordBatch) -> None:
        """Note the rows that an importer left out up to this batch."""
        found = {k: v for k, v in (table.schema.metadata or {}).items() if v.isdigit()}
        left_out = [f"{v.decode()} {k.decode()} left out" for k, v in found.items() if v != b"0"]
        self.notes = (*self.source.notes, *left_out)


def _are_numbers(names: tuple[str, ...]) -> bool:
    """Whether names are numbers other than 0, 1, 2, …: for example 101, 205, 999."""
    digits = bool(names) and all(name.isdecimal() for name in names)
    return digits and set(names) != {str(k) for k in range(len(names))}


def _number_names(found: Any, name: str) -> Any:
    """Numbers as names; whole numbers may come as floats if the column has gaps."""
    if pa.types.is_integer(found.type):
        return found.cast(pa.string())
    if not pa.types.is_floating(found.type):
        return found
    values = floats(found, name).tolist()
    said = [None if v != v else str(int(v)) if v.is_integer() else str(v) for v in values]
    return pa.array(said, pa.string())


def _rounded(propensity: Array) -> Array:
    """Probabilities slightly above 1, from rounding in single precision, become 1."""
    return np.where((propensity > 1.0) & (propensity < 1.0 + 1e-6), 1.0, propensity)


def _declared(features: Encoder | None) -> str:
    """A text that identifies an encoder; the repr of a user's own class may be just an address."""
    return str(features.to_dict()) if isinstance(features, Features) else repr(features)


def _check_columns(table: pa.RecordBatch, schema: Schema) -> None:
    """Refuse columns that the user named and the log does not have."""
    for field in ("time", "reward"):
        column(table, getattr(schema, field))
    for field in ("propensity", "reward_time", "count", "id", "policy"):
        optional(table, schema, field)
