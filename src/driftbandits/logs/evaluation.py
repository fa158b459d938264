"""Running sums per policy and period, from which values are computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .batch import Batch
from .intervals import Anytime, t_interval
from .moments import DIRECT, ONE, REWARD, ROBUST, WEIGHT, WEIGHTED, Mean, Moments
from .periods import Periods
from .support import Missing, Support, lacks

ALL = "all"
LOGGING = "logging"
_ANYTIME = "IPS, anytime"
_ESTIMATORS = {"IPS": WEIGHTED, "DM": DIRECT, "DR": ROBUST}
COLUMNS = ["policy", "period", "estimator", "estimate", "low", "high", "rows", "effective"]


@dataclass
class Cell:
    """One policy in one period."""

    moments: Moments = field(default_factory=Moments)
    anytime: Anytime | None = None


class Evaluation:
    """Cells per policy and period, filled batch by batch."""

    def __init__(self, periods: Periods, bounds: tuple[float, float] | None) -> None:
        self.periods, self.bounds = periods, bounds
        self.cells: dict[str, dict[int | str, Cell]] = {}
        self.support, self.skipped = Support(), 0
        self.unanswered: dict[str, Missing] = {}

    def add(self, policy: str, batch: Batch, numbers: Array) -> None:
        """Numbers (n, 6) of the rows of a batch under a policy."""
        keys = self.periods.of(batch.time)
        for key in (*np.unique(keys).tolist(), ALL):
            mine = slice(None) if key == ALL else keys == key
            cell = self._cell(policy, key)
            if key != ALL:
                cell.moments.add(numbers[mine], batch.count[mine])
            if cell.anytime is not None:
                cell.anytime.add(numbers[mine, WEIGHT], numbers[mine, REWARD])

    def add_logged(self, batch: Batch) -> None:
        """Rows as they were logged: all weights are 1."""
        reward, one = batch.reward, np.ones(len(batch))
        numbers = np.stack([one, reward, one, reward, reward, reward], axis=1)
        self.add(LOGGING, batch, numbers)
        self.support.log(batch)

    def finish(self, names: tuple[str, ...]) -> None:
        """Sum up the periods, and find policies that play actions the log never played."""
        for policy, cells in self.cells.items():
            cells[ALL].moments = Moments()
            for key, cell in cells.items():
                if key != ALL:
                    cells[ALL].moments.merge(cell.moments)
            missing = self.support.missing(policy, names)
            if policy != LOGGING and lacks(cells[ALL].moments, missing):
                self.unanswered[policy] = missing

    def _cell(self, policy: str, key: int | str) -> Cell:
        cells = self.cells.setdefault(policy, {})
        if key not in cells:
            anytime = None if self.bounds is None else Anytime(self.bounds)
            cells[key] = Cell(anytime=anytime)
        return cells[key]

    def table(self) -> pd.DataFrame:
        """All estimates."""
        rows: list[tuple[Any, ...]] = []
        for policy, cells in self.cells.items():
            for key in sorted(cells, key=lambda k: (k == ALL, k if k != ALL else 0)):
                rows += _estimates(policy, self._label(key), cells[key])
        frame = pd.DataFrame(rows, columns=COLUMNS)
        for policy, missing in self.unanswered.items():
            _blank(frame, frame["policy"] == policy, model=missing.share == 0.0)
        return frame

    def _label(self, key: int | str) -> str:
        return ALL if key == ALL else self.periods.label(int(key))

    def weights(self) -> pd.DataFrame:
        """Largest weight and effective sample size per policy and period."""
        rows = [
            (policy, self._label(key), c.moments.largest, c.moments.effective, c.moments.rows)
            for policy, cells in self.cells.items()
            for key, c in cells.items()
            if policy != LOGGING
        ]
        return pd.DataFrame(
            rows, columns=["policy", "period", "largest weight", "effective", "rows"]
        )

    def lost(self, candidates: list[str]) -> tuple[float, float, float] | None:
        """Σ over periods of best-elsewhere minus logged, per decision, with a t interval."""
        candidates = [name for name in candidates if name not in self.unanswered]
        keys = sorted({k for name in candidates for k in self.cells.get(name, {}) if k != ALL})
        if len(keys) < 2 or not candidates:
            return None
        total, variance, decisions = 0.0, 0.0, 0.0
        difference = np.eye(6)[ROBUST] - np.eye(6)[REWARD]
        for key in keys:
            best = max(candidates, key=lambda name: self._elsewhere(name, key))
            moments = self.cells[best][key].moments
            mean, error, *_ = moments.mean(difference)
            if not np.isfinite(error):
                continue
            share = moments.count
            total, variance = total + share * mean, variance + (share * error) ** 2
            decisions += share
        if decisions == 0.0:
            return None
        reach = 1.96 * np.sqrt(variance) / decisions
        return total / decisions, total / decisions - reach, total / decisions + reach

    def _elsewhere(self, policy: str, key: int | str) -> float:
        cells = self.cells[policy]
        first = cells[ALL].moments.sums - cells[key].moments.sums
        return float(first[ROBUST] / first[ONE]) if first[ONE] > 0 else -np.inf


def _blank(frame: pd.DataFrame, mine: pd.Series[bool], *, model: bool) -> None:
    """Leave out numbers that would look like answers.

    DM stays if the model has seen the actions. The anytime interval stays, without its estimate:
    missing rows make it wider, not wrong.
    """
    kept = frame["estimator"].eq("DM") & model
    frame.loc[mine & ~kept, "estimate"] = np.nan
    frame.loc[mine & ~kept & ~frame["estimator"].eq(_ANYTIME), ["low", "high"]] = np.nan


def _estimates(policy: str, period: str, cell: Cell) -> list[tuple[Any, ...]]:
    moments, unit = cell.moments, np.eye(6)
    spreadless = moments.constant or moments.blurred

    def row(name: str, found: Mean) -> tuple[Any, ...]:
        # If all numbers are zero, their spread does not tell how wrong the mean can be.
        told = name == "DM" or not (moments.unrewarded or spreadless)
        worth = min(moments.effective, 1.0 + found.freedom)
        error = found.error if told else float("nan")
        low, high = t_interval(found.mean, error, worth, found.skewness)
        if spreadless and cell.anytime is not None and name in ("mean", "IPS", "SNIPS", "DR"):
            low, high = cell.anytime.interval()
        if cell.anytime is not None and LOGGING not in name:  # a mean reward lies within its bounds
            low, high = np.clip([low, high], cell.anytime.least, cell.anytime.largest).tolist()
        return policy, period, name, found.mean, low, high, moments.rows, moments.effective

    if policy == LOGGING:
        return [row("mean", moments.mean(unit[REWARD]))]
    rows = [row(name, moments.mean(unit[column])) for name, column in _ESTIMATORS.items()]
    rows.insert(1, row("SNIPS", moments.snips()))
    rows += [
        row(f"{name} − logging", moments.mean(unit[_ESTIMATORS[name]] - unit[REWARD]))
        for name in ("IPS", "DR")
    ]
    if cell.anytime is not None:
        estimate = moments.mean(unit[WEIGHTED])[0]
        ends = (*cell.anytime.interval(), moments.rows, moments.effective)
        rows.append((policy, period, _ANYTIME, estimate, *ends))
    return rows
