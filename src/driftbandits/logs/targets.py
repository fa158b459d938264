"""Fixed policies to evaluate: action probabilities of every row, which depend only on the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.storage import StateFileError
from ..policies import Policy, load
from .batch import Batch, Ints
from .columns import column, floats, is_list
from .reading import LogReader
from .schema import CannotAnswer, LogError

# Probabilities of all actions of all rows, one after another: shape (Σ size,).
Target = Callable[[LogReader, Batch], Array]


@dataclass(frozen=True)
class Named:
    """A policy that names actions; the names can be checked only after reading the whole log."""

    target: Target
    names: tuple[str, ...]

    def __call__(self, log: LogReader, batch: Batch) -> Array:
        """Probabilities of the actions of a batch."""
        return self.target(log, batch)

    def check(self, log: LogReader) -> None:
        """Refuse names that are in no row of the log."""
        unknown = [name for name in self.names if name not in log.action_names]
        if unknown:
            known = ", ".join(log.action_names[:20])
            raise LogError(f"action {unknown[0]!r} is not in the log; it has {known}")


def starts(batch: Batch) -> Ints:
    """Position of each row's first probability, shape (n,)."""
    return np.cumsum(batch.size) - batch.size


def entries(batch: Batch) -> Ints:
    """Positions in ``batch.vectors`` of all actions of all rows, shape (Σ size,)."""
    offsets = np.arange(int(batch.size.sum())) - np.repeat(starts(batch), batch.size)
    return np.asarray(np.repeat(batch.first, batch.size) + offsets)


def uniform(log: LogReader, batch: Batch) -> Array:
    """Every action with the same probability."""
    return np.asarray(np.repeat(1.0 / batch.size, batch.size))


def always(name: str) -> Target:
    """One action, by name, in rows that offer it; uniform in other rows."""

    def target(log: LogReader, batch: Batch) -> Array:
        where = log.action_names.index(name) if name in log.action_names else -1
        wanted = batch.labels[entries(batch)] == where
        first = starts(batch)
        offered = np.add.reduceat(wanted, first) > 0
        return np.where(np.repeat(offered, batch.size), wanted, uniform(log, batch))

    return Named(target, (name,))


def logged_column(name: str) -> Target:
    """Probabilities from a list column of the log, one per action of the row."""

    def target(log: LogReader, batch: Batch) -> Array:
        lists = column(batch.table, name)
        if not is_list(lists.type):
            raise LogError(f"column {name!r} must hold lists of probabilities, got {lists.type}")
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        if not np.array_equal(lengths, batch.size):
            odd = int(np.flatnonzero(lengths != batch.size)[0])
            raise LogError(
                f"row {batch.row[odd]}: column {name!r} has {lengths[odd]} probabilities for "
                f"{batch.size[odd]} actions"
            )
        chances = floats(lists.flatten(), name)
        total = np.add.reduceat(chances, starts(batch))
        least = np.minimum.reduceat(chances, starts(batch))
        bad = np.flatnonzero(~(np.abs(total - 1.0) < 1e-6) | ~(least >= 0.0))
        if len(bad):
            raise LogError(
                f"row {batch.row[bad[0]]}: column {name!r} must hold probabilities that add up to "
                f"1; their sum is {total[bad[0]]:g}"
            )
        return chances

    return target


def shares(table: pd.DataFrame) -> Target:
    """Probabilities from a table: ``action``, ``probability``, and columns of the log to match."""
    missing = {"action", "probability"} - set(table.columns)
    if missing:
        raise LogError(f"a table of shares needs the columns action and probability: {missing}")
    chances = pd.to_numeric(table["probability"], errors="coerce")
    if not (chances >= 0.0).all():
        raise LogError("a table of shares must have probabilities of at least 0")
    table = table.assign(probability=chances)
    keys = [name for name in table.columns if name not in ("action", "probability")]
    wide = table.assign(action=table["action"].astype(str))

    def target(log: LogReader, batch: Batch) -> Array:
        where = {name: i for i, name in enumerate(log.action_names)}
        # One more column for actions that the log has not shown yet.
        index = wide["action"].map(where).fillna(len(where))
        by_label = np.zeros((1 + len(table), len(where) + 1))
        # Without keys, every row of the table is in the group (), since zip() has no rows.
        members = list(zip(*(wide[key] for key in keys), strict=True)) or [()] * len(wide)
        groups = list(dict.fromkeys(members))
        number = {group: g for g, group in enumerate(groups)}
        own = [number[member] for member in members]
        by_label[own, index.to_numpy(dtype=np.int64)] = wide["probability"]
        group = _matching(batch, keys, groups)
        out = by_label[np.repeat(group, batch.size), batch.labels[entries(batch)]]
        total = np.add.reduceat(out, starts(batch))
        if (total <= 0.0).any():
            bad = batch.row[int(np.argmin(total))]
            raise LogError(f"row {bad}: the table of shares gives all its actions probability 0")
        return np.asarray(out / np.repeat(total, batch.size))

    return Named(target, tuple(wide["action"].unique()))


def _matching(batch: Batch, keys: list[str], groups: list[tuple[Any, ...]]) -> Ints:
    """The group of the table that each row belongs to."""
    if not keys:
        return np.zeros(len(batch), dtype=np.int64)
    columns = [column(batch.table, key).to_pylist() for key in keys]
    where = {group: g for g, group in enumerate(groups)}
    out = np.array([where.get(row, -1) for row in zip(*columns, strict=True)], dtype=np.int64)
    if (out < 0).any():
        bad = int(np.flatnonzero(out < 0)[0])
        row = tuple(values[bad] for values in columns)
        raise LogError(f"row {batch.row[bad]}: the table of shares has nothing for {row}")
    return out


def frozen(policy: Policy) -> Target:
    """A policy in its present state: it chooses but does not learn."""

    def target(log: LogReader, batch: Batch) -> Array:
        out, first = np.zeros(int(batch.size.sum())), starts(batch)
        player = policy.copy()
        for i in range(len(batch)):
            try:
                choice = player.select(batch.actions(i, log.blocks))
            except ValueError as error:
                words = f"row {batch.row[i]}: {policy.label} cannot choose: {error}"
                raise CannotAnswer(words) from None
            out[first[i] + choice] = 1.0
        return out

    return target


def stamp(policy: Target | str) -> str:
    """A text that identifies a fixed policy: its own text, and size and time of the file it names.

    A function is identified by its address, so another process takes it for another policy.
    """
    if not isinstance(policy, str):
        return repr(policy)
    path = Path(policy.partition(":")[2])
    if not path.is_file():
        return policy
    return f"{policy} {path.stat().st_size}:{path.stat().st_mtime_ns}"


def parse(text: str) -> Target:
    """A fixed policy from the command line.

    ``uniform``, ``action:NAME``, ``column:NAME``, ``shares:FILE.csv``, or ``frozen:FILE.npz``.
    """
    kind, _, rest = text.partition(":")
    if text == "uniform":
        return uniform
    if kind == "action":
        return always(rest)
    if kind == "column":
        return logged_column(rest)
    if kind == "shares":
        try:
            return shares(pd.read_csv(Path(rest)))
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
            raise LogError(f"{rest} is not a table of shares: {error}") from None
    if kind == "frozen":
        try:
            return frozen(load(rest))
        except StateFileError as error:
            raise LogError(str(error)) from None
    raise ValueError(
        "a fixed policy is uniform, action:NAME, column:NAME, shares:FILE.csv or "
        f"frozen:FILE.npz, got {text!r}"
    )
