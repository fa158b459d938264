"""Is the log sound? Rows, gaps, rewards, delays, overlap and propensities, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.randomness import stream
from .batch import Batch
from .periods import Periods, say_time
from .propensities import ALARM, PropensityTests
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .rows import say_open

_SAMPLE = 50_000
_RARE = 0.01


@dataclass(frozen=True)
class Check:
    """What `Log.check` found.

    Attributes:
        summary: One row per quantity: quantity, value.
        periods: One row per period: rows, decisions, mean reward, open and missing rewards.
        propensities: One row per test of the logged propensities: period, action, p.
        warnings: Problems to look at before anything else, in words.
    """

    summary: pd.DataFrame
    periods: pd.DataFrame
    propensities: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        found = len(self.warnings)
        things = f"{found} thing{'s' if found > 1 else ''} to look at first, below"
        return (
            f"{int(self['rows']):,} rows from {self['first time']} to {self['last time']}: "
            f"{things if found else 'nothing wrong was found'}."
        )

    def __getitem__(self, quantity: str) -> Any:
        """The value of a quantity."""
        found = self.summary.loc[self.summary["quantity"] == quantity, "value"]
        if found.empty:
            raise KeyError(quantity)
        return found.iloc[0]


class Sample:
    """A uniform sample of a stream of numbers, and their number, sum and extremes."""

    def __init__(self, name: str) -> None:
        self._generator = stream(0, "logs", "sample", name)
        self.values = np.zeros(0)
        self._keys = np.zeros(0)
        self.count, self.total, self.least, self.most = 0, 0.0, np.inf, -np.inf

    def add(self, values: Array) -> None:
        """Further numbers."""
        if len(values) == 0:
            return
        self.count += len(values)
        self.total += float(values.sum())
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        # The numbers with the smallest random keys are a uniform sample, for any batch size.
        self.values = np.concatenate([self.values, values])
        self._keys = np.concatenate([self._keys, self._generator.random(len(values))])
        if len(self.values) > 2 * _SAMPLE:
            self._shrink()

    def _shrink(self) -> None:
        if len(self.values) > _SAMPLE:
            keep = np.argpartition(self._keys, _SAMPLE)[:_SAMPLE]
            self.values, self._keys = self.values[keep], self._keys[keep]

    def quantile(self, share: float) -> float:
        """A quantile of the sample."""
        self._shrink()
        return float(np.quantile(self.values, share)) if len(self.values) else float("nan")


@dataclass
class _Tally:
    rows: int = 0
    decisions: float = 0.0
    first: float = np.inf
    last: float = -np.inf
    open: int = 0
    defaulted: int = 0
    unlogged: int = 0
    repeats: int = 0
    least_p: float = np.inf
    rare: int = 0
    weights: Array = field(default_factory=lambda: np.zeros(2))  # Σw, Σw² towards uniform play
    largest: float = 0.0
    offered: float = 0.0  # ΣK
    inverse: Array = field(default_factory=lambda: np.zeros(2))  # Σ1/p and the decisions with a p
    longest_gap: tuple[float, float] = (0.0, np.nan)


class _Checking:
    """One pass: tallies that grow from batch to batch."""

    def __init__(self, log: LogReader, periods: Periods) -> None:
        self.log, self.periods = log, periods
        self.tally = _Tally()
        self.gaps, self.delays = Sample("gaps"), Sample("delays")
        self.tests = PropensityTests(periods)
        self.by_period: dict[int, Array] = {}
        self._previous: tuple[Any, ...] | None = None

    def take(self, batch: Batch) -> None:
        """Further rows."""
        tally = self.tally
        tally.rows += len(batch)
        tally.decisions += float(batch.count.sum())
        tally.offered += float((batch.count * batch.size).sum())
        self._times(batch)
        known = batch.known
        tally.open += int((~known).sum())
        self.delays.add((batch.arrival - batch.time)[known] / 3600.0)
        with_p = np.isfinite(batch.propensity)
        tally.unlogged += int((~with_p).sum())
        if with_p.any():
            self._weights(batch if with_p.all() else batch.where(with_p))
        aggregated = bool((batch.count != 1.0).any())
        self.tests.take(batch, whole=self.log.whole, aggregated=aggregated)
        self._by_period(batch)

    def _times(self, batch: Batch) -> None:
        tally = self.tally
        start = batch.time[0] if tally.rows == len(batch) else tally.last
        steps = np.diff(batch.time, prepend=start)
        if tally.rows == len(batch):
            tally.first, steps = float(batch.time[0]), steps[1:]
        tally.last = float(batch.time[-1])
        self.gaps.add(steps / 3600.0)
        if len(steps) and steps.max() > tally.longest_gap[0]:
            where = int(np.argmax(steps)) + len(batch.time) - len(steps)
            tally.longest_gap = (float(steps.max()), float(batch.time[where] - steps.max()))
        self._repeats(batch)

    def _repeats(self, batch: Batch) -> None:
        """Count rows that equal the row before: time, choice, propensity, reward, arrival."""
        vector = batch.vectors[batch.played].sum(axis=1)
        logged = (batch.time, batch.chosen, batch.propensity, batch.reward, batch.arrival)
        columns = (*logged, vector)
        same = np.ones(max(len(batch) - 1, 0), dtype=bool)
        for values in columns:
            same &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        self.tally.repeats += int(same.sum())
        first = tuple(float(np.nan_to_num(values[0], nan=-1.0)) for values in columns)
        self.tally.repeats += int(first == self._previous)
        self._previous = tuple(float(np.nan_to_num(values[-1], nan=-1.0)) for values in columns)

    def _weights(self, batch: Batch) -> None:
        tally, p = self.tally, batch.propensity
        weight = 1.0 / (p * batch.size)
        tally.least_p = min(tally.least_p, float(p.min()))
        tally.rare += int((p < _RARE).sum())
        tally.weights += [
            float((batch.count * weight).sum()),
            float((batch.count * weight**2).sum()),
        ]
        tally.largest = max(tally.largest, float(weight.max()))
        tally.inverse += [float((batch.count / p).sum()), float(batch.count.sum())]

    def _by_period(self, batch: Batch) -> None:
        keys = self.periods.of(batch.time)
        known = batch.known
        reward = np.where(known, batch.reward, 0.0) * batch.count
        for key in np.unique(keys):
            mine = keys == key
            sums = self.by_period.setdefault(int(key), np.zeros(5))
            sums += [
                mine.sum(),
                batch.count[mine].sum(),
                reward[mine].sum(),
                batch.count[mine & known].sum(),
                (mine & ~known).sum(),
            ]


def check(
    log: LogReader,
    *,
    period: str = "auto",
    resume: Resume = None,
    progress: Progress | None = None,
) -> Check:
    """Health of a log; see `Check`."""
    next(iter(log.batches()))  # refuses a log without a good row
    span = log.span()
    work = _Checking(log, Periods.named(period, span=span[1] - span[0], dated=log.dated))
    with Checkpoint(resume, log, f"check {work.periods}", {"check": work}) as kept:
        for batch in kept.batches(progress=progress):
            work.take(batch)
    work.tests.finish()
    tests = work.tests.frame(log.action_names)
    frame = _period_frame(work)
    summary = _summary(log, work, tests)
    return Check(summary, frame, tests, tuple(_warnings(log, work, tests)))


def _period_frame(work: _Checking) -> pd.DataFrame:
    rows = []
    for key, (rows_, decisions, reward, known, missing) in sorted(work.by_period.items()):
        mean = reward / known if known else np.nan
        rows.append((work.periods.label(key), int(rows_), decisions, mean, int(missing)))
    columns = ["period", "rows", "decisions", "reward", "without reward"]
    return pd.DataFrame(rows, columns=columns)


def smallest_p(tests: pd.DataFrame) -> float:
    """Smallest p-value times the number of tests (Bonferroni), at most 1; NaN without tests."""
    p = tests["p"].dropna()
    return float(min(1.0, p.min() * len(p))) if len(p) else float("nan")


def _summary(log: LogReader, work: _Checking, tests: pd.DataFrame) -> pd.DataFrame:
    tally, dated = work.tally, log.dated
    # Tests of all arms together have no count of plays per action.
    played = tests.dropna(subset=["played"]).groupby("action")["played"].sum()
    w1, w2 = tally.weights
    quantities: dict[str, Any] = {
        "rows": tally.rows,
        "decisions": tally.decisions,
        "rows dropped": log.findings.total,
        **{f"dropped: {reason}": n for reason, n in log.findings.counts.items()},
        "first time": say_time(tally.first, dated=dated),
        "last time": say_time(tally.last, dated=dated),
        "span in hours": (tally.last - tally.first) / 3600.0,
        "median hours between rows": work.gaps.quantile(0.5),
        "longest gap in hours": tally.longest_gap[0] / 3600.0,
        "longest gap begins": say_time(tally.longest_gap[1], dated=dated),
        "rows without reward": tally.open,
        "median delay in hours": work.delays.quantile(0.5),
        "95% delay in hours": work.delays.quantile(0.95),
        "longest delay in hours": work.delays.most if work.delays.count else np.nan,
        "repeated rows": tally.repeats,
        "rows without propensity": tally.unlogged,
        "least propensity": tally.least_p if np.isfinite(tally.least_p) else np.nan,
        "rows with propensity below 0.01": tally.rare,
        "actions": len(log.action_names) if log.whole else np.nan,
        "actions never played": int((played == 0).sum()) if log.whole and len(played) else np.nan,
        "largest weight towards uniform play": tally.largest if w2 else np.nan,
        "effective sample size towards uniform play": w1**2 / w2 if w2 else np.nan,
        "mean of 1/propensity": tally.inverse[0] / tally.inverse[1] if w2 else np.nan,
        "mean number of actions": tally.offered / tally.decisions if log.whole else np.nan,
        "tests of propensities": int(tests["p"].notna().sum()),
        "smallest p of propensities (Bonferroni)": smallest_p(tests),
    }
    return pd.DataFrame({"quantity": list(quantities), "value": list(quantities.values())})


def _warnings(log: LogReader, work: _Checking, tests: pd.DataFrame) -> list[str]:
    tally, out = work.tally, list(log.notes)
    if log.findings.total:
        row, reason = log.findings.examples[0]
        out.append(f"{log.findings.total} rows were dropped; the first is row {row}: {reason}")
    if log.forgot_ids:
        out.append("ids were compared only with the latest eight million ids")
    if tally.unlogged == tally.rows:
        out.append("no propensities are logged: values of other policies need them")
    elif tally.unlogged:
        out.append(f"rows without a propensity: {tally.unlogged}")
    w1, w2 = tally.weights
    if w2 and w1**2 / w2 < 0.1 * tally.decisions and log.whole:
        out.append(
            f"weights are uneven: {tally.decisions:,.0f} decisions are worth {w1**2 / w2:,.0f} "
            f"for a uniform policy, and the largest weight is {tally.largest:,.3g}"
        )
    count = int(tests["p"].notna().sum())
    bad = tests[tests["p"] * max(count, 1) < ALARM]
    if len(bad):
        when = _runs(list(dict.fromkeys(tests["period"])), set(bad["period"]))
        out.append(
            f"logged propensities cannot be true (p below {ALARM:g} after {count} tests) in: {when}"
        )
    if tally.open and log.schema.mature_after is None:
        out.append(say_open(tally.open, log.schema.default))
    if tally.repeats:
        out.append(
            f"{tally.repeats} rows equal the row before them in all logged values; this can be "
            "chance if times are coarse and rewards take few values"
        )
    return out


def _runs(periods: list[str], marked: set[str]) -> str:
    """The marked periods in words; three or more in a row as "first to last"."""
    runs: list[list[str]] = []
    for before, period in zip([None, *periods], periods, strict=False):
        if period in marked:
            if before in marked:
                runs[-1].append(period)
            else:
                runs.append([period])
    words = [
        f"{run[0]} to {run[-1]} ({len(run)} periods)" if len(run) > 2 else ", ".join(run)
        for run in runs
    ]
    return ", ".join(words)
