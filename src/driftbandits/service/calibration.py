"""Compares predicted with actual rewards, in bins that widen as predictions grow."""

from __future__ import annotations

import math
from typing import Any

import msgspec

_BINS = 16
_HALF = _BINS // 2


class Bin(msgspec.Struct, array_like=True):
    """Count, sum of the predictions and sum of the rewards."""

    count: int = 0
    predicted: float = 0.0
    rewarded: float = 0.0

    def plus(self, other: Bin) -> Bin:
        """The sum of both bins."""
        return Bin(
            self.count + other.count,
            self.predicted + other.predicted,
            self.rewarded + other.rewarded,
        )


class Calibration(msgspec.Struct, array_like=True):
    """16 bins of equal width around zero.

    If a prediction lies outside all bins, the width doubles and bins are merged in pairs. So the
    bins fit rewards of any scale, and no prediction has to be kept.

    Attributes:
        width: Width of a bin.
        bins: From −8 widths to 8 widths.
    """

    width: float = 1.0 / 16
    bins: list[Bin] = msgspec.field(default_factory=lambda: [Bin() for _ in range(_BINS)])

    def add(self, predicted: float, rewarded: float) -> None:
        """Count a prediction and its reward. Predictions that are not finite are ignored."""
        if not math.isfinite(predicted):
            return
        while not -_HALF <= predicted / self.width < _HALF:
            self._double()
        chosen = self.bins[math.floor(predicted / self.width) + _HALF]
        chosen.count += 1
        chosen.predicted += predicted
        chosen.rewarded += rewarded

    def _double(self) -> None:
        self.width *= 2.0
        pairs = [self.bins[n].plus(self.bins[n + 1]) for n in range(0, _BINS, 2)]
        empty = [Bin() for _ in range(_BINS // 4)]
        self.bins = [*empty, *pairs, *(Bin() for _ in range(_BINS // 4))]

    def summary(self) -> list[dict[str, Any]]:
        """The bins that are not empty, with their mean prediction and mean reward."""
        return [
            {
                "low": (n - _HALF) * self.width,
                "high": (n + 1 - _HALF) * self.width,
                "count": entry.count,
                "predicted": entry.predicted / entry.count,
                "rewarded": entry.rewarded / entry.count,
            }
            for n, entry in enumerate(self.bins)
            if entry.count
        ]
