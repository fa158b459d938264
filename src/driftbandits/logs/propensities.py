"""Can the logged propensities be true? Tests per action and period, with p-values.

An action k that was offered in n rows was played in some of them, each with its logged probability
p. If the probabilities are right, Σ 1{a = k}/p has the mean n. If all rows had the same
distribution, the number of plays is binomial and the p-value is exact. Otherwise a sum that is too
large is compared with its standard error, from the unbiased estimate Σ 1{a = k} (1/p)(1/p − 1) of
its variance. A sum that is too small may only lack rare plays, which this estimate cannot see. So
it is compared with the largest variance n (1/p − 1) that the least p of the period allows.

In an aggregated log, rows of the same time are the arms of one test. A χ² test compares their
counts with the propensities.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from ..core.arrays import Array
from .batch import Batch, Ints
from .periods import Periods

# With fewer plays at varying probabilities, the sum is not nearly normal.
_FEWEST = 30
ALARM = 1e-3


class PropensityTests:
    """Sums per action and period, updated batch by batch."""

    def __init__(self, periods: Periods) -> None:
        self.periods = periods
        # One row per action: (rows offered, plays, Σ1/p, Σ(1/p)(1/p − 1), least p, largest p).
        self._sums: dict[int, Array] = {}
        self._groups: dict[int, list[float]] = {}
        self._rest: tuple[float, Array, Array] = (np.nan, np.zeros(0), np.zeros(0))

    def take(self, batch: Batch, *, whole: bool, aggregated: bool) -> None:
        """Further rows."""
        if aggregated:
            self._take_groups(batch)
        if not whole:
            return
        keys = self.periods.of(batch.time)
        for key in np.unique(keys):
            self._take_period(int(key), batch.where(keys == key))

    def _take_period(self, key: int, batch: Batch) -> None:
        with_p = np.isfinite(batch.propensity)
        batch = batch if with_p.all() else batch.where(with_p)
        if len(batch) == 0:
            return
        could = _available(batch)
        size = max(len(could), len(self._sums.get(key, ())))
        sums = np.tile([0.0, 0.0, 0.0, 0.0, 1.0, 0.0], (size, 1))
        sums[: len(self._sums.get(key, ()))] = self._sums.get(key, np.zeros((0, 6)))
        label, weight = batch.labels[batch.played], batch.count
        inverse = 1.0 / batch.propensity
        sums[: len(could), 0] += could
        np.add.at(sums[:, 1], label, weight)
        np.add.at(sums[:, 2], label, weight * inverse)
        np.add.at(sums[:, 3], label, weight * inverse * (inverse - 1.0))
        np.minimum.at(sums[:, 4], label, batch.propensity)
        np.maximum.at(sums[:, 5], label, batch.propensity)
        self._sums[key] = sums

    def _take_groups(self, batch: Batch) -> None:
        """χ² of complete tests: rows of one time whose propensities add up to 1."""
        time = np.concatenate([np.full(len(self._rest[1]), self._rest[0]), batch.time])
        count = np.concatenate([self._rest[1], batch.count])
        p = np.concatenate([self._rest[2], batch.propensity])
        starts = np.flatnonzero(np.diff(time, prepend=np.nan) != 0)
        last = starts[-1]
        self._rest = (float(time[last]), count[last:], p[last:])
        self._add_groups(time, count, p, starts, int(last))

    def finish(self) -> None:
        """Add the last test, which no later row has completed."""
        time, count, p = self._rest
        if len(count):
            self._add_groups(np.full(len(count), time), count, p, np.array([0]), len(count))
        self._rest = (np.nan, np.zeros(0), np.zeros(0))

    def _add_groups(self, time: Array, count: Array, p: Array, starts: Ints, end: int) -> None:
        bounds = np.append(starts[starts < end], end)
        for a, b in pairwise(bounds.tolist()):
            if b - a < 2 or not abs(p[a:b].sum() - 1.0) < 1e-6:
                continue
            expected = count[a:b].sum() * p[a:b]
            chi = float(((count[a:b] - expected) ** 2 / expected).sum())
            key = int(self.periods.of(time[a : a + 1])[0])
            sums = self._groups.setdefault(key, [0.0, 0.0, 0.0])
            sums[0] += 1.0
            sums[1] += chi
            sums[2] += b - a - 1

    def frame(self, names: tuple[str, ...]) -> pd.DataFrame:
        """One row per test: action, period, rows, plays, expected plays or χ²/df, p-value."""
        rows: list[dict[str, Any]] = []
        for key, sums in sorted(self._sums.items()):
            rows += _tests(self.periods.label(key), sums, names)
        for key, (tests, chi, freedom) in sorted(self._groups.items()):
            rows.append(
                {
                    "period": self.periods.label(key),
                    "action": "shares of all arms",
                    "rows": tests,
                    "ratio": chi / freedom,
                    "p": float(special.chdtrc(freedom, chi)),
                }
            )
        columns = ["period", "action", "rows", "played", "ratio", "p"]
        return pd.DataFrame(rows, columns=columns)


def _available(batch: Batch) -> Array:
    """In how many rows each action was offered, by label; weighted by count."""
    same = (batch.first == batch.first[0]).all() and (batch.size == batch.size[0]).all()
    if same:
        labels = batch.labels[batch.first[0] : batch.first[0] + batch.size[0]]
        once = np.zeros(int(batch.labels.max()) + 1)
        once[labels] = batch.count.sum()
        return once
    offsets = np.arange(int(batch.size.sum())) - np.repeat(
        np.cumsum(batch.size) - batch.size, batch.size
    )
    labels = batch.labels[np.repeat(batch.first, batch.size) + offsets]
    return np.bincount(labels, np.repeat(batch.count, batch.size)).astype(np.float64)


def _tests(period: str, sums: Array, names: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    floor = sums[sums[:, 1] > 0, 4].min(initial=1.0)
    constant = _constant(sums)
    for k in np.flatnonzero(sums[:, 0] > 0):
        could, played, total, variance, _, largest = sums[k]
        p = np.nan
        if constant:
            p = binomial_p(played, could, largest if played else floor)
        elif played >= _FEWEST:
            high = special.stdtr(played - 1, (could - total) / np.sqrt(variance))
            low = special.ndtr((total - could) / np.sqrt(could * (1.0 / floor - 1.0)))
            p = float(min(1.0, 2.0 * min(high, low)))
        rows.append(
            {
                "period": period,
                "action": names[k],
                "rows": could,
                "played": played,
                "ratio": total / could,
                "p": p,
            }
        )
    return rows


def _constant(sums: Array) -> bool:
    """Whether all rows had the same distribution: one p per action, and they add up to 1.

    The p of an action that was never played is known only if play is uniform.
    """
    offered = sums[sums[:, 0] > 0]
    played = offered[offered[:, 1] > 0]
    if not (played[:, 5] - played[:, 4] <= 1e-9 * played[:, 5]).all():
        return False
    uniform = np.ptp(played[:, 5]) <= 1e-9 * played[0, 5]
    total = played[0, 5] * len(offered) if uniform else played[:, 5].sum()
    return bool(abs(total - 1.0) < 1e-6 and (uniform or len(played) == len(offered)))


def binomial_p(played: float, rows: float, p: float) -> float:
    """Two-sided p-value of ``played`` out of ``rows`` at probability p.

    Uses incomplete beta functions, which also allow fractional counts.
    """
    low = 1.0 if played >= rows else special.betainc(rows - played, played + 1.0, 1.0 - p)
    high = 1.0 if played <= 0.0 else special.betainc(played, rows - played + 1.0, p)
    return float(min(1.0, 2.0 * min(low, high)))
