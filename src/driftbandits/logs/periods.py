"""Periods of answers: days, weeks and others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from ..core.arrays import Array
from .batch import Ints
from .schema import LogError

_HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0}
# The epoch began on a Thursday; weeks begin on Mondays.
_MONDAY = 3 * 24.0


@dataclass(frozen=True)
class Periods:
    """A partition of time; keys are consecutive integers, labels say when a period begins.

    Attributes:
        hours: Length of a period.
        dated: Whether times are dates; otherwise labels are hours since time 0.
    """

    hours: float
    dated: bool

    @classmethod
    def named(cls, name: str, *, span: float, dated: bool) -> Periods:
        """From ``hour``, ``day``, ``week``, a number of hours, or ``auto``.

        ``auto`` is days for a ``span`` of up to 21 days (in seconds), else weeks.
        """
        if name == "auto":
            name = "day" if span <= 21 * 86400.0 else "week"
        if name in _HOURS:
            return cls(_HOURS[name], dated)
        try:
            hours = float(name)
        except ValueError:
            hours = -1.0
        if not 0.0 < hours < np.inf:
            raise LogError(
                f"period must be auto, hour, day, week or a number of hours, got {name!r}"
            )
        return cls(hours, dated)

    @property
    def _shift(self) -> float:
        return _MONDAY if self.dated and self.hours == _HOURS["week"] else 0.0

    def of(self, time: Array) -> Ints:
        """Keys of times in seconds."""
        return np.floor((time / 3600.0 + self._shift) / self.hours).astype(np.int64)

    def start(self, key: int) -> float:
        """When a period begins, in seconds."""
        return float((key * self.hours - self._shift) * 3600.0)

    def label(self, key: int) -> str:
        """When a period begins: a date in UTC, or hours."""
        if not self.dated:
            return f"{self.start(key) / 3600.0:g} h"
        return say_time(self.start(key), short=self.hours >= 24.0)


def say_time(seconds: float, *, dated: bool = True, short: bool = False) -> str:
    """A time in words: a date in UTC, or hours since time 0."""
    if not np.isfinite(seconds):
        return "–"
    if not dated:
        return f"{seconds / 3600.0:g} h"
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%d" if short else "%Y-%m-%d %H:%M:%S")
