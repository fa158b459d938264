"""Is it drifting? The best memory against none, with a p-value from simulated stationary logs.

The statistic is the gain in log-evidence of the best of several memories over never forgetting. Its
law without drift comes from rewards that are simulated from the stationary fit at the logged
actions. Three questions are asked in this way, and a fourth about contexts:

- payoffs: do rewards, given the actions, drift at all?
- differences: do they drift relative to one another? Vectors and rewards are taken as differences
  from the means of 16 neighbouring rows (or of the arms of one test), so the level drops out. Where
  rewards are never negative, differences in shares of the level are tested too, and the larger
  p-value counts: differences that only grow and shrink with the level are the level's drift. Of
  hundreds of arms, those that are rarely played count as one.
- level: does what all actions have in common drift?
- contexts: do the sets of actions drift? They matter for traffic, not for payoffs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array, whole
from ..core.randomness import stream
from .batch import Batch, Ints
from .dating import largest_change
from .memory import NOISE, grid
from .passes import Pass, Stretch, single_units
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .schema import CannotAnswer
from .setup import Setup
from .stationary import Fit, Level, centred, pooled, simulated
from .units import UNIT, Cut, Stretches, is_aggregated, of_same_time, of_size
from .verdict import ALPHA, Drift, Question

_LANES = 8
# Most units in the series of levels and contexts, and rows whose rewards are simulated at once.
_SERIES, _AT_ONCE = 20_000, 2048


def drift(
    log: LogReader,
    *,
    simulations: int = 199,
    seed: int = 0,
    clock: str = "decisions",
    resume: Resume = None,
    progress: Progress | None = None,
) -> Drift:
    """Drift of payoffs, level, differences and contexts; see `Drift`.

    Args:
        log: The log.
        simulations: Stationary logs that are simulated; p-values are multiples of one over this
            number plus one.
        seed: Names the simulations.
        clock: Whether weights fade with ``decisions`` or with ``hours``.
        resume: As for `memory`.
        progress: Told how many rows are done.
    """
    whole("simulations", simulations, least=59)
    study = _Study(log, simulations, seed, clock)
    question = f"drift {simulations} {seed} {clock}"
    with Checkpoint(resume, log, question, {"study": study}) as kept:
        study.fit(kept.batches(progress=progress))
        study.simulate(kept.batches(stage=1, progress=progress))
    payoffs = study.question("payoffs", study.plain)
    asked = [study.question("differences", one) for one in study.apart]
    differences = max((q for q in asked if q is not None), key=lambda q: q.p, default=None)
    level = study.series_question("level", study.levels())
    offered = study.context_means()
    contexts = study.series_question("contexts", offered) if offered is not None else None
    assert payoffs is not None
    assert level is not None
    answers = [q.p for q in (payoffs, level, differences) if q is not None]
    p = min(1.0, len(answers) * min(answers))
    gains = study.plain.trace
    best = int(np.argmax(study.plain.evidence))
    when = pd.DataFrame({"time": gains.times, "gain": gains.values[:, best] - gains.values[:, -1]})
    evidence = pd.DataFrame(
        {
            "memory": study.lanes,
            "hours": study.lanes / log.rate,
            "evidence": study.plain.evidence - study.plain.evidence[-1],
            "best": np.arange(len(study.lanes)) == best,
        }
    )
    setup = Setup.of(study.plain, best, scales=log.scales(), longest=study.longest)
    changed = largest_change(log, seed=seed) if p <= ALPHA else None
    found = (p, payoffs, level, differences, contexts, when, evidence, setup, log.dated, changed)
    return Drift(*found)


class _Study:
    """Two passes: the stationary fits, then the evidence of logged and simulated rewards."""

    def __init__(self, log: LogReader, simulations: int, seed: int, clock: str) -> None:
        self.log, self.simulations, self.seed, self.clock = log, simulations, seed, clock
        self.lanes = grid(log, _LANES)
        grouped = is_aggregated(log)
        self.cut: Cut = of_same_time if grouped else of_size(UNIT)
        self.grouped = grouped
        self.stride = max(1, log.rows // UNIT // _SERIES)
        self.whole_fit = Fit(log.blocks, log.width)
        series = simulations + 1
        self.plain = Pass(
            self.lanes, width=log.width, blocks=log.blocks, series=series, widths=False
        )
        # Differences: absolute, and relative to the level.
        self._pool = pooled(log)
        width = log.width * (int(self._pool.max()) + 1)
        self.apart_fits = [Fit(1, width) for _ in range(2)]
        self.apart = [
            Pass(self.lanes, width=width, blocks=1, series=series, noise=NOISE, widths=False)
            for _ in range(2)
        ]
        self._units: list[Array] = []
        # One of each per pass.
        self._walks = [Stretches(log, clock=clock, cut=self.cut) for _ in range(2)]
        self._levels = [Level(own=grouped) for _ in range(2)]
        self._draws = [stream(seed, "logs", "drift", name) for name in ("plain", "apart")]

    @property
    def longest(self) -> float:
        """Norm of the longest action that was offered."""
        return self._walks[0].longest

    def fit(self, batches: Iterable[Batch]) -> None:
        """The stationary fits."""
        level = self._levels[0]
        for rows, ends in self._walks[0].of(batches):
            self.whole_fit.take(rows)
            for fit, scale in zip(self.apart_fits, (None, level(rows, ends)), strict=True):
                fit.take(self._centred(rows, ends, scale))
        if self.whole_fit.rows < 30:
            raise CannotAnswer(f"drift needs 30 rewards, the log has {self.whole_fit.rows}")
        self.whole_fit.finish()
        for fit in self.apart_fits:
            fit.finish()

    def simulate(self, batches: Iterable[Batch]) -> None:
        """Evidence of the logged rewards and of the simulated ones."""
        (plain, apart), level = self._draws, self._levels[1]
        relative = self._levels[0].possible  # no reward of the log was below 0
        for rows, ends in self._walks[1].of(batches):
            for part, bounds in _pieces(rows, ends):
                single = bounds if self.grouped else self._plain_units(len(part))
                drawn = simulated(part, single, self.whole_fit, self.simulations, plain)
                self.plain.take(drawn, single)
                scales = (None, level(part, bounds))[: 2 if relative else 1]
                for one, fit, scale in zip(self.apart, self.apart_fits, scales, strict=False):
                    differences = self._centred(part, bounds, scale)
                    drawn = simulated(differences, bounds, fit, self.simulations, apart)
                    one.take(drawn, bounds)
                self._units.append(self._unit_means(part, bounds))

    def _centred(self, rows: Stretch, ends: Ints, scale: Array | None) -> Stretch:
        """Rows as differences, rare arms pooled."""
        mine = replace(rows, blocks=self._pool[rows.blocks])
        return centred(mine, ends, int(self._pool.max()) + 1, scale)

    def _plain_units(self, rows: int) -> Ints:
        return single_units(rows, max(1, self.log.width // 16))

    def _unit_means(self, rows: Stretch, ends: Ints) -> Array:
        """Per unit: time, latest arrival, clock, Σ count, Σ count·(r − part of differences)."""
        full = rows.vectors
        if self.log.blocks > 1:
            theta = self.apart_fits[0].theta.reshape(-1, self.log.width)
            explained = np.einsum("ij,ij->i", full, theta[self._pool[rows.blocks]])
        else:
            explained = full @ self.apart_fits[0].theta[0]
        weight = np.where(rows.known, rows.count, 0.0)
        rest = np.where(rows.known, rows.reward[:, 0] - explained, 0.0) * weight
        starts = ends[:-1]
        arrival = np.where(rows.known, rows.arrival, -np.inf)
        return np.stack(
            [
                rows.time[starts],
                np.maximum(np.maximum.reduceat(arrival, starts), rows.time[ends[1:] - 1]),
                rows.clock[starts],
                np.add.reduceat(weight, starts),
                np.add.reduceat(rest, starts),
            ],
            axis=1,
        )

    def question(self, name: str, one: Pass) -> Question | None:
        """The answer that a pass has for its question; None where it saw nothing."""
        if one.state.scored[0] == 0:
            if name == "payoffs":
                raise CannotAnswer(f"drift needs {one.unscored}")
            return None
        gains = one.gains
        memory = float(self.lanes[int(np.argmax(one.evidence))])
        p = (1.0 + float((gains[1:] >= gains[0]).sum())) / len(gains)
        return Question(name, float(gains[0]), p, memory, memory / self.log.rate)

    def levels(self) -> Stretch:
        """One row per stretch of units: the mean reward that differences do not explain."""
        units = np.concatenate(self._units)
        starts = np.arange(0, len(units), self.stride)
        count = np.add.reduceat(units[:, 3], starts)
        total = np.add.reduceat(units[:, 4], starts)
        mean = np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)
        last = np.append(starts[1:], len(units)) - 1
        arrival = np.maximum.reduceat(units[:, 1], starts)
        return _series(units[starts, 0], arrival, units[last, 2], mean[:, None])

    def context_means(self) -> Stretch | None:
        """One row per unit: the mean vector of what could be played; None where it never varies."""
        if not self.log.whole:
            return None
        sums, heads, seen, done = list[Array](), list[Array](), 0, 0.0
        for batch in self.log.batches():
            average = _set_means(batch.vectors, batch.blocks, batch.first, batch.size, self.log)
            unit = (seen + np.arange(len(batch))) // (UNIT * self.stride)
            starts = np.flatnonzero(np.diff(unit, prepend=-1))
            ticks = done + np.cumsum(batch.count)
            sums.append(np.add.reduceat(average, starts, axis=0))
            sizes = np.diff(np.append(starts, len(batch)))
            heads.append(np.stack([unit[starts], sizes, batch.time[starts], ticks[starts]], axis=1))
            seen, done = seen + len(batch), float(ticks[-1])
        # A unit that a batch cut in two comes in two pieces.
        pieces = np.concatenate(heads)
        first = np.flatnonzero(np.diff(pieces[:, 0], prepend=-1))
        sizes = np.add.reduceat(pieces[:, 1], first)
        time, clock = pieces[first, 2], pieces[first, 3]
        values = np.add.reduceat(np.concatenate(sums), first, axis=0) / sizes[:, None]
        values = values[:, np.ptp(values, axis=0) > 1e-12 * (1.0 + np.abs(values).max(axis=0))]
        if values.shape[1] == 0 or len(values) < 30:
            return None
        return _series(time, time, clock, values)

    def series_question(self, name: str, rows: Stretch) -> Question | None:
        """Drift of the mean of one or several series, calibrated by random signs per unit."""
        rows = rows.part(rows.known)
        mean = rows.reward.mean(axis=0)
        evidence = np.zeros((len(self.lanes), self.simulations + 1))
        for j in range(len(mean)):
            one = Pass(self.lanes, width=1, blocks=1, series=self.simulations + 1)
            generator = stream(self.seed, "logs", "drift", name)  # the same signs for all series
            for start in range(0, len(rows), _AT_ONCE):
                part = rows.part(slice(start, start + _AT_ONCE))
                values, size = part.reward[:, j : j + 1], (len(part), self.simulations)
                signs = generator.integers(0, 2, size) * 2.0 - 1.0
                reward = np.concatenate([values, mean[j] + (values - mean[j]) * signs], axis=1)
                one.take(Stretch(**{**vars(part), "reward": reward}), single_units(len(part)))
            evidence += one.state.evidence
        gains = evidence.max(axis=0) - evidence[-1]
        p = (1.0 + float((gains[1:] >= gains[0]).sum())) / len(gains)
        memory = float(self.lanes[int(np.argmax(evidence[:, 0]))])
        return Question(name, float(gains[0]), p, memory, memory / self.log.rate)


def _pieces(rows: Stretch, ends: Ints, most: int = _AT_ONCE) -> Any:
    """Whole units, about ``most`` rows at a time, so that simulated rewards take little room."""
    at = 0
    while at < len(ends) - 1:
        to = max(at + 1, int(np.searchsorted(ends, ends[at] + most, "right")) - 1)
        yield rows.part(slice(int(ends[at]), int(ends[to]))), ends[at : to + 1] - ends[at]
        at = to


def _series(time: Array, arrival: Array, clock: Array, values: Array) -> Stretch:
    """Rows that predict ``values`` by their mean alone."""
    n = len(time)
    return Stretch(
        time=time,
        arrival=np.where(np.isfinite(values[:, 0]), arrival, np.inf),
        clock=clock,
        vectors=np.ones((n, 1)),
        blocks=np.zeros(n, dtype=np.int64),
        count=np.ones(n),
        reward=values,
    )


def _set_means(vectors: Array, blocks: Ints, first: Ints, size: Ints, log: LogReader) -> Array:
    """Mean vector of each row's set, shape (n, w); blocks share their contexts."""
    starts, where = np.unique(first, return_inverse=True)
    if len(starts) < len(first):
        rows = [
            vectors[a : a + k].mean(axis=0)
            for a, k in zip(starts, size[np.unique(where, return_index=True)[1]], strict=True)
        ]
        return np.array(rows)[where]
    total = np.add.reduceat(np.vstack([vectors, np.zeros((1, vectors.shape[1]))]), first)
    return np.asarray(total / size[:, None])
