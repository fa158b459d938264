"""What a policy would have earned: IPS, SNIPS, DM and DR by period, with intervals.

With weights w = π(a|x)/p and a model q̂ of earlier rewards,

    IPS mean(w r)     SNIPS Σ w r / Σ w     DM mean(Σ_a π q̂)     DR mean(Σ_a π q̂ + w (r − q̂)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .batch import Batch
from .intervals import Anytime, t_interval
from .model import RewardModel
from .periods import Periods
from .reading import LogReader, Progress
from .schema import CannotAnswer
from .scores import expect, moments
from .shares import RunningShares
from .targets import Target, starts

ALL = "all"
LOGGING = "logging"
# Columns of a row's numbers: one, reward, weight, weight·reward, Σπq̂, DR term.
_ONE, _R, _W, _WR, _DM, _DR = range(6)
_ESTIMATORS = {"IPS": _WR, "DM": _DM, "DR": _DR}
_COLUMNS = ["policy", "period", "estimator", "estimate", "low", "high", "rows", "effective"]
_FEW = 30.0
# How often an entry with ascending indices occurs in a full symmetric array.
_PAIRS = 2.0 - np.eye(6)
_TRIPLES = np.array(
    [[[(1, 3, 6)[len({i, j, k}) - 1] for k in range(6)] for j in range(6)] for i in range(6)]
)


class Moments:
    """First and second moments of the numbers of rows, weighted by count."""

    def __init__(self) -> None:
        self.rows = 0
        # Of the symmetric second and third moments, entries with ascending indices alone.
        self.first, self.second, self.third = np.zeros(6), np.zeros((6, 6)), np.zeros((6, 6, 6))
        self.weights, self.largest = 0.0, 0.0

    def add(self, numbers: Array, count: Array) -> None:
        """Further rows (n, 6)."""
        self.rows += len(numbers)
        moments(np.ascontiguousarray(numbers), count, self.first, self.second, self.third)
        self.weights += float((count * numbers[:, _W] ** 2).sum())
        self.largest = max(self.largest, float(numbers[:, _W].max(initial=0.0)))

    @property
    def effective(self) -> float:
        """Effective number of rows (Σw)²/Σw²."""
        return float(self.first[_W] ** 2 / self.weights) if self.weights > 0 else 0.0

    def mean(self, direction: Array) -> tuple[float, float, float]:
        """Mean of a combination of the numbers, its standard error and its skewness."""
        total = self.first[_ONE]
        mean = float(self.first @ direction / total)
        centre = direction - mean * np.eye(6)[_ONE]
        return mean, *self._error(centre, total)

    def ratio(self, top: int, bottom: int) -> tuple[float, float, float]:
        """Ratio of two means, its standard error and skewness by linearisation."""
        if self.first[bottom] <= 0.0:
            return float("nan"), float("nan"), 0.0
        ratio = float(self.first[top] / self.first[bottom])
        centre = np.eye(6)[top] - ratio * np.eye(6)[bottom]
        return ratio, *self._error(centre, self.first[bottom])

    def _error(self, centre: Array, total: float) -> tuple[float, float]:
        """Standard error, with rows as units, and skewness of a mean of centred numbers."""
        if self.rows < 2:
            return float("nan"), 0.0
        squares = max(float(centre @ (self.second * _PAIRS) @ centre), 0.0)
        cubes = float(np.einsum("ijk,i,j,k", self.third * _TRIPLES, centre, centre, centre))
        error = float(np.sqrt(squares * self.rows / (self.rows - 1)) / total)
        return error, cubes / squares**1.5 if squares > 0.0 else 0.0


@dataclass
class Cell:
    """One policy in one period."""

    moments: Moments = field(default_factory=Moments)
    anytime: Anytime | None = None


@dataclass(frozen=True)
class Value:
    """What `Log.value` found.

    Attributes:
        table: One row per policy, period and estimator: estimate, 95% interval, rows, effective
            sample size. The period ``all`` is the whole log. Estimators named ``… − logging`` are
            paired differences to the rewards that were logged; ``IPS, anytime`` has the interval
            that holds at all times at once.
        weights: One row per policy and period: largest weight, effective sample size.
        lost: What the logging policy lost against the best candidate chosen on the other periods:
            estimate, low, high; None with fewer than two periods.
        acceptance: Share of rows that each learning policy learned from.
        refused: What the log cannot answer, and why.
        warnings: What to keep in mind about the numbers.
    """

    table: pd.DataFrame
    weights: pd.DataFrame
    lost: tuple[float, float, float] | None
    acceptance: Mapping[str, float]
    refused: tuple[str, ...]
    warnings: tuple[str, ...]

    def of(self, policy: str, estimator: str = "DR", period: str = ALL) -> pd.Series[Any]:
        """One row of the table."""
        found = self.table[
            (self.table["policy"] == policy)
            & (self.table["estimator"] == estimator)
            & (self.table["period"] == period)
        ]
        if found.empty:
            raise KeyError((policy, estimator, period))
        return found.iloc[0]


class Evaluation:
    """Cells per policy and period, filled batch by batch."""

    def __init__(self, periods: Periods, bounds: tuple[float, float] | None) -> None:
        self.periods, self.bounds = periods, bounds
        self.cells: dict[str, dict[int | str, Cell]] = {}

    def add(self, policy: str, batch: Batch, numbers: Array) -> None:
        """Numbers (n, 6) of the rows of a batch under a policy."""
        keys = self.periods.of(batch.time)
        for key in (*np.unique(keys).tolist(), ALL):
            mine = slice(None) if key == ALL else keys == key
            cell = self._cell(policy, key)
            cell.moments.add(numbers[mine], batch.count[mine])
            if cell.anytime is not None:
                cell.anytime.add(numbers[mine, _W], numbers[mine, _R])

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
        return pd.DataFrame(rows, columns=_COLUMNS)

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
        keys = sorted({k for name in candidates for k in self.cells.get(name, {}) if k != ALL})
        if len(keys) < 2 or not candidates:
            return None
        total, variance, decisions = 0.0, 0.0, 0.0
        difference = np.eye(6)[_DR] - np.eye(6)[_R]
        for key in keys:
            best = max(candidates, key=lambda name: self._elsewhere(name, key))
            moments = self.cells[best][key].moments
            mean, error, _ = moments.mean(difference)
            if not np.isfinite(error):
                continue
            share = float(moments.first[_ONE])
            total, variance = total + share * mean, variance + (share * error) ** 2
            decisions += share
        if decisions == 0.0:
            return None
        reach = 1.96 * np.sqrt(variance) / decisions
        return total / decisions, total / decisions - reach, total / decisions + reach

    def _elsewhere(self, policy: str, key: int | str) -> float:
        cells = self.cells[policy]
        first = cells[ALL].moments.first - cells[key].moments.first
        return float(first[_DR] / first[_ONE]) if first[_ONE] > 0 else -np.inf


def _estimates(policy: str, period: str, cell: Cell) -> list[tuple[Any, ...]]:
    moments, unit = cell.moments, np.eye(6)

    def row(name: str, mean: float, error: float, skewness: float) -> tuple[Any, ...]:
        low, high = t_interval(mean, error, moments.effective, skewness)
        return policy, period, name, mean, low, high, moments.rows, moments.effective

    if policy == LOGGING:
        return [row("mean", *moments.mean(unit[_R]))]
    rows = [row(name, *moments.mean(unit[column])) for name, column in _ESTIMATORS.items()]
    rows.insert(1, row("SNIPS", *moments.ratio(_WR, _W)))
    rows += [
        row(f"{name} − logging", *moments.mean(unit[_ESTIMATORS[name]] - unit[_R]))
        for name in ("IPS", "DR")
    ]
    if cell.anytime is not None:
        estimate = moments.mean(unit[_WR])[0]
        ends = (*cell.anytime.interval(), moments.rows, moments.effective)
        rows.append((policy, period, "IPS, anytime", estimate, *ends))
    return rows


def value(
    log: LogReader,
    policies: Mapping[str, Target],
    *,
    period: str = "auto",
    propensities: str = "logged",
    progress: Progress | None = None,
) -> Value:
    """Values of fixed policies by period; see `Value`.

    Args:
        log: The log.
        policies: Fixed policies by name; see `driftbandits.logs.targets`.
        period: ``day``, ``week``, ``hour``, a number of hours, or ``auto``.
        propensities: ``logged``, or ``estimated`` from the shares of earlier plays, which is only
            right where the logger ignored contexts.
        progress: Told how many rows are done.
    """
    check_answerable(log, propensities)
    evaluation = make_evaluation(log, period)
    estimated = RunningShares(log) if propensities == "estimated" else None
    model = RewardModel(log)
    limits = evaluation.bounds or (-np.inf, np.inf)
    skipped = 0
    for batch in log.batches(progress=progress):
        p = batch.propensity if estimated is None else estimated(batch)
        usable = batch.known & np.isfinite(p)
        skipped += int((~usable).sum())
        chances = {name: np.ascontiguousarray(t(log, batch)) for name, t in policies.items()}
        numbers = {name: np.zeros((len(batch), 6)) for name in policies}
        for part, theta in model.pieces(batch):
            for name, table in numbers.items():
                _fill(table[part], batch, part, p, chances[name], theta, limits)
        rows = batch.where(usable)
        if len(rows) == 0:
            continue
        for name, table in numbers.items():
            evaluation.add(name, rows, table[usable])
        evaluation.add(LOGGING, rows, as_logged(rows))
    return summary(log, evaluation, list(policies), skipped, propensities)


def _fill(
    out: Array,
    batch: Batch,
    part: slice,
    p: Array,
    chances: Array,
    theta: Array,
    limits: tuple[float, float],
) -> None:
    """Numbers (n, 6) of a part of a batch under one policy."""
    first, size, chosen = batch.first[part], batch.size[part], batch.chosen[part]
    direct, played, share = (np.empty(len(out)) for _ in range(3))
    expect(
        batch.vectors,
        batch.blocks,
        first,
        size,
        chosen,
        theta,
        limits[0],
        limits[1],
        chances,
        starts(batch)[part],
        direct,
        played,
        share,
    )
    reward = np.where(batch.known[part], batch.reward[part], 0.0)
    weight = share / p[part]
    out[:, _ONE], out[:, _R], out[:, _W], out[:, _WR] = 1.0, reward, weight, weight * reward
    out[:, _DM], out[:, _DR] = direct, direct + weight * (reward - played)


def as_logged(rows: Batch) -> Array:
    """Numbers of the logging policy itself: all weights are 1."""
    reward, one = rows.reward, np.ones(len(rows))
    return np.stack([one, reward, one, reward, reward, reward], axis=1)


def check_answerable(log: LogReader, propensities: str) -> None:
    """Refuse what the log cannot answer."""
    if propensities not in ("logged", "estimated"):
        raise ValueError(f"propensities must be one of logged, estimated, got {propensities!r}")
    if not log.whole:
        raise CannotAnswer(
            "values of other policies need the actions that could have been played; this log has "
            "the played ones alone. Drift, memory and fit do not need them"
        )
    some = any(np.isfinite(batch.propensity).any() for batch in log.batches())
    if propensities == "logged" and not some:
        raise CannotAnswer(
            "values need the probability with which each action was played, and the log has none. "
            "Log propensities, or ask for estimated ones by name: they are right only where the "
            "logger ignored contexts"
        )


def make_evaluation(log: LogReader, period: str) -> Evaluation:
    """An empty evaluation of a log by period, with bounds of rewards where they are known."""
    span = log.span()
    periods = Periods.named(period, span=span[1] - span[0], dated=log.dated)
    return Evaluation(periods, log.schema.reward_bounds)


def summary(
    log: LogReader, evaluation: Evaluation, candidates: list[str], skipped: int, propensities: str
) -> Value:
    """The value of a finished evaluation."""
    if LOGGING not in evaluation.cells:
        raise CannotAnswer("values need rows with a reward and a propensity, and the log has none")
    refused, warnings = [], []
    if evaluation.bounds is None:
        refused.append(
            "anytime intervals: they need the least and the largest possible reward "
            "(reward_bounds), which the log cannot tell"
        )
    if skipped:
        warnings.append(f"{skipped} rows without reward or propensity were left out")
    if propensities == "estimated":
        warnings.append("propensities are estimated: right only if the logger ignored contexts")
    for name in candidates:
        moments = evaluation.cells[name][ALL].moments
        if moments.effective < _FEW:
            refused.append(
                f"{name}: {moments.rows:,} rows are worth {moments.effective:.1f} for this policy; "
                "its IPS, SNIPS and DR cannot be trusted"
            )
        elif moments.effective < 0.1 * moments.rows:
            warnings.append(
                f"{name}: uneven weights, {moments.rows:,} rows are worth "
                f"{moments.effective:,.0f}, largest weight {moments.largest:,.3g}"
            )
    lost = evaluation.lost(candidates)
    return Value(
        evaluation.table(), evaluation.weights(), lost, {}, tuple(refused), tuple(warnings)
    )
