"""Rows that cannot be right: they stop the run or are dropped and counted, never silently."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Array
from .batch import MISSING, Batch, Ints, Mask
from .schema import LogError

_EXAMPLES = 20
_BACKWARDS = "time goes backwards"
# Beyond these sizes, sums of squares and cubes would overflow; no real log has such numbers.
LARGEST, _MOST, _LEAST_P = 1e50, 1e15, 1e-30
# Number of ids that are remembered to find duplicates; 8 bytes per id.
_IDS = 8_000_000
_WAITING = 65_536


@dataclass
class Findings:
    """Bad rows: how many per reason, and the first few with their row numbers.

    ``open`` is the number of good rows without a reward.
    """

    counts: dict[str, int] = field(default_factory=dict)
    examples: list[tuple[int, str]] = field(default_factory=list)
    open: int = 0

    @property
    def total(self) -> int:
        """Number of rows that were dropped."""
        return sum(self.counts.values())

    def add(self, rows: Ints, reasons: list[str]) -> None:
        """Record rows with one reason each."""
        for row, reason in zip(rows.tolist(), reasons, strict=True):
            kind = reason.partition(":")[0]
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if len(self.examples) < _EXAMPLES:
                self.examples.append((row, reason))


def say_open(count: int, default: float) -> str:
    """A note that rows without a reward are left out, and what to do if they mean "no click"."""
    return (
        f"rows without a reward, which are left out: {count:,}. If a missing reward means "
        f"{default:g} after some hours, give their number (mature_after, --mature-after)"
    )


class _Seconds:
    """Durations that are formatted only for rows that need them."""

    def __init__(self, lengths: Array) -> None:
        self._lengths = lengths

    def __getitem__(self, row: int) -> str:
        return f"by {self._lengths[row]:,.6g} s"


class _Outside:
    """Indices outside their sets, in words; an index below 0 may also be an unknown name."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __getitem__(self, row: int) -> str:
        chosen, size = self._batch.chosen[row], self._batch.size[row]
        if chosen < 0:
            return "no action of the set has this name or index"
        return f"{chosen}, but indices go from 0 to {size - 1}; if it is a name, give all names"


class Checker:
    """Checks rows in order; keeps the latest time and the ids from batch to batch."""

    def __init__(self, on_bad: str, bounds: tuple[float, float] | None = None) -> None:
        if on_bad not in ("stop", "drop"):
            raise ValueError(f"on_bad must be one of stop, drop, got {on_bad!r}")
        self.on_bad = on_bad
        self._bounds = bounds or (-LARGEST, LARGEST)
        self.latest = -np.inf
        # Two sorted generations of hashed ids: when the younger is full, the older is dropped.
        # The latest ids are kept apart until there are enough of them to merge.
        self.latest_ids = self.young = self.old = np.zeros(0, dtype=np.uint64)
        self.forgot_ids = False
        self.findings = Findings()

    def __call__(self, batch: Batch) -> Batch:
        """The good rows; bad rows raise an error or are recorded."""
        reasons = self._reasons(batch)
        bad = np.array([reason != "" for reason in reasons]) if any(reasons) else None
        good = batch if bad is None else batch.where(~bad)
        self.findings.open += int(np.isnan(good.reward).sum())
        if bad is None:
            return good
        wrong = [reason for reason in reasons if reason]
        if self.on_bad == "stop":
            lines = [f"row {r}: {w}" for r, w in zip(batch.row[bad], wrong, strict=True)]
            more = f" (and {len(lines) - 5} more in this batch)" if len(lines) > 5 else ""
            unsorted = all(words.startswith(_BACKWARDS) for words in wrong)
            raise LogError(
                f"{len(lines)} row(s) cannot be right: {'; '.join(lines[:5])}{more}. "
                f"{'Sort the log by time' if unsorted else 'Correct them'}, or choose to drop them "
                "(on_bad='drop', --drop)"
            )
        self.findings.add(batch.row[bad], wrong)
        return good

    def _reasons(self, batch: Batch) -> list[str]:
        """The first reason that applies to each row, empty for a good row."""
        behind = self._behind(batch)
        tests: list[tuple[Mask, str, Any]] = [
            (~np.isfinite(batch.time), "time is missing or not a time", None),
            (behind > 0, _BACKWARDS, _Seconds(behind)),
            (batch.size < 1, "the set of actions is missing, unknown or has odd vectors", None),
            (batch.chosen == MISSING, "chosen is missing", None),
            (
                (batch.chosen < 0) | (batch.chosen >= np.maximum(batch.size, 1)),
                "chosen is outside the set",
                _Outside(batch),
            ),
            (
                ~np.isnan(batch.propensity) & ~((batch.propensity > 0) & (batch.propensity <= 1)),
                "propensity must lie in (0, 1]",
                batch.propensity,
            ),
            (batch.propensity < _LEAST_P, f"propensity is below {_LEAST_P:g}", batch.propensity),
            (np.isinf(batch.reward), "reward is not a finite number", batch.reward),
            (
                (batch.reward < self._bounds[0]) | (batch.reward > self._bounds[1]),
                f"reward is outside [{self._bounds[0]:g}, {self._bounds[1]:g}]",
                batch.reward,
            ),
            (
                batch.arrival < batch.time,
                "reward before its decision",
                _Seconds(batch.time - batch.arrival),
            ),
            (
                ~((batch.count > 0) & (batch.count <= _MOST)),
                f"count must be above 0 and at most {_MOST:g}",
                batch.count,
            ),
        ]
        broken = self._odd(batch, ~np.isfinite(batch.vectors))
        tests.append((broken, "an action has entries that are not finite", None))
        large = self._odd(batch, np.abs(batch.vectors) > LARGEST)
        tests.append((large, f"an action has entries beyond {LARGEST:g}", None))
        tests.append((self._duplicates(batch), "duplicate id", batch.id))
        if not any(mask.any() for mask, _, _ in tests):
            return []
        reasons = [""] * len(batch)
        for mask, words, values in tests:
            for i in np.flatnonzero(mask):
                if not reasons[i]:
                    reasons[i] = words if values is None else f"{words}: {values[i]}"
        return reasons

    def _behind(self, batch: Batch) -> Array:
        """Latest earlier time minus the row's time, in seconds; positive if time goes backwards."""
        times = np.concatenate([[self.latest], np.nan_to_num(batch.time, nan=-np.inf)])
        so_far = np.maximum.accumulate(times)
        self.latest = float(so_far[-1])
        return np.asarray(so_far[:-1] - np.nan_to_num(batch.time, nan=np.inf))

    @staticmethod
    def _odd(batch: Batch, odd: Mask) -> Mask:
        """Rows that offer an action with ``odd`` (m, w) entries."""
        if not odd.any():
            return np.zeros(len(batch), dtype=bool)
        before = np.concatenate([[0], np.cumsum(odd.any(axis=1))])
        return np.asarray(before[batch.first + batch.size] > before[batch.first])

    def _duplicates(self, batch: Batch) -> Mask:
        """Rows with the id of an earlier row, as far as ids are remembered."""
        if batch.id is None:
            return np.zeros(len(batch), dtype=bool)
        import pandas as pd

        present = np.array([value is not None for value in batch.id], dtype=bool)
        texts = np.where(present, batch.id, "").astype(object)
        codes = pd.util.hash_array(texts, categorize=False)
        again = _among(codes, self.young) | _among(codes, self.old)
        again |= _among(codes, self.latest_ids)
        _, firsts = np.unique(codes, return_index=True)
        repeated = np.ones(len(codes), dtype=bool)
        repeated[firsts] = False
        if len(self.young) > _IDS // 2:
            self.forgot_ids = self.forgot_ids or len(self.old) > 0
            self.old, self.young = self.young, self.young[:0]
        self.latest_ids = _merged(self.latest_ids, codes[present])
        if len(self.latest_ids) > max(_WAITING, len(self.young) // 8):
            self.young, self.latest_ids = _merged(self.young, self.latest_ids), self.young[:0]
        return np.asarray(present & (again | repeated))


def _merged(ordered: Any, more: Any) -> Any:
    """Both arrays as one sorted array; takes linear time if both are sorted."""
    both = np.concatenate([ordered, more])
    both.sort(kind="stable")
    return both


def _among(codes: Any, ordered: Any) -> Mask:
    """Which codes are in a sorted array."""
    if len(ordered) == 0:
        return np.zeros(len(codes), dtype=bool)
    where = np.minimum(np.searchsorted(ordered, codes), len(ordered) - 1)
    return np.asarray(ordered[where] == codes)
