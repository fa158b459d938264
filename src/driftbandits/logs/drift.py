"""Is it drifting? The best memory against never forgetting, with a p-value from simulated logs.

The statistic is the gain in log-evidence of the best of several memories over never forgetting. Its
distribution without drift comes from rewards that are simulated from the stationary fit at the
logged actions. Three questions are asked in this way, and a fourth about contexts:

- payoffs: do rewards, given the actions, drift at all?
- differences: do payoffs drift relative to one another? Vectors and rewards are taken as
  differences from the means of 16 neighbouring rows (or of the arms of one test), so the level
  drops out. If rewards are never negative, differences as shares of the level are tested too, and
  the larger p-value counts: differences that only grow and shrink with the level belong to the
  level's drift. If there are hundreds of arms, the rarely played ones count as one.
- level: does the part of the payoff that all actions share drift? (`driftbandits.logs.levels`)
- contexts: do the sets of actions drift? This matters for traffic, not for payoffs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array, whole
from ..core.randomness import stream
from .batch import Batch, Ints
from .dating import largest_change
from .health import Sample
from .levels import Levels
from .memory import NOISE, grid
from .passes import Pass, Stretch, single_units
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .schema import CannotAnswer
from .series import AT_ONCE, evidence_of, from_neighbours, series
from .setup import Setup
from .stationary import Fit, Level, centred, pooled, simulated
from .units import UNIT, Cut, Stretches, is_aggregated, of_same_time, of_size
from .verdict import ALPHA, Drift, Question

_LANES = 8
# Most units in the series of contexts.
_SERIES = 20_000


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
        simulations: Number S of simulated stationary logs; p-values are multiples of 1/(S + 1).
        seed: Seed of the simulations.
        clock: Whether weights fade with ``decisions`` or with ``hours``.
        resume: As for `memory`.
        progress: Called with the number of rows done.
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
    level, contexts = study.level_question(), study.context_question()
    assert payoffs is not None
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
        }
    )
    setup = Setup.of(study.plain, best, scales=log.scales(), longest=study.longest)
    first, last = log.span()
    changed = largest_change(log, seed=seed) if p <= ALPHA else None
    if changed is not None and changed[1] - changed[0] > 0.5 * (last - first):
        changed = None  # no single change stands out
    return Drift(
        p=p,
        payoffs=payoffs,
        level=level,
        differences=differences,
        contexts=contexts,
        when=when,
        evidence=evidence,
        setup=setup,
        dated=log.dated,
        delay=study.delays.quantile(0.5),
        span=(last - first) / 3600.0,
        changed=changed,
    )


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
        total = simulations + 1
        self.plain = Pass(
            self.lanes, width=log.width, blocks=log.blocks, series=total, widths=False
        )
        # Differences: absolute, and relative to the level.
        self._pool = pooled(log)
        width = log.width * (int(self._pool.max()) + 1)
        self.apart_fits = [Fit(1, width) for _ in range(2)]
        self.apart = [
            Pass(self.lanes, width=width, blocks=1, series=total, noise=NOISE, widths=False)
            for _ in range(2)
        ]
        self.delays = Sample("delays")
        self.levels = Levels(width=log.width, pool=self._pool)
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
            self.levels.expect(len(ends) - 1)
            self.delays.add((rows.arrival - rows.time)[rows.known] / 3600.0)
            for fit, scale in zip(self.apart_fits, (None, level(rows, ends)), strict=True):
                fit.take(self._centred(rows, ends, scale))
        if self.whole_fit.rows < 30:
            raise CannotAnswer(f"drift needs 30 rewards, the log has {self.whole_fit.rows}")
        self.whole_fit.finish()
        for fit in self.apart_fits:
            fit.finish()

    def simulate(self, batches: Iterable[Batch]) -> None:
        """Evidence of the logged and of the simulated rewards."""
        (plain, apart), level = self._draws, self._levels[1]
        relative = self._levels[0].possible  # no reward of the log was below 0
        for rows, ends in self._walks[1].of(batches):
            for part, bounds in _pieces(rows, ends):
                single = bounds if self.grouped else self._plain_units(len(part))
                drawn = simulated(part, single, self.whole_fit, self.simulations, plain)
                self.plain.take(drawn, single)
                scales = (None, level(part, bounds))[: 2 if relative else 1]
                differences = [self._centred(part, bounds, scale) for scale in scales]
                self.levels.take(part, differences[0], bounds, self.apart_fits[0])
                for one, fit, mine in zip(self.apart, self.apart_fits, differences, strict=False):
                    one.take(simulated(mine, bounds, fit, self.simulations, apart), bounds)

    def _centred(self, rows: Stretch, ends: Ints, scale: Array | None) -> Stretch:
        """Rows as differences, rare arms pooled."""
        mine = replace(rows, blocks=self._pool[rows.blocks])
        return centred(mine, ends, int(self._pool.max()) + 1, scale)

    def _plain_units(self, rows: int) -> Ints:
        return single_units(rows, max(1, self.log.width // 16))

    def question(self, name: str, one: Pass) -> Question | None:
        """The answer of a pass to its question; None if the pass scored no row."""
        if one.state.scored[0] == 0:
            if name == "payoffs":
                raise CannotAnswer(f"drift needs {one.unscored}")
            return None
        return self._answer(name, one.state.evidence)

    def context_means(self) -> Stretch | None:
        """One row per unit: the mean vector of the offered actions; None if it never varies."""
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
        # A unit that lies in two batches comes in two pieces.
        pieces = np.concatenate(heads)
        first = np.flatnonzero(np.diff(pieces[:, 0], prepend=-1))
        sizes = np.add.reduceat(pieces[:, 1], first)
        time, clock = pieces[first, 2], pieces[first, 3]
        values = np.add.reduceat(np.concatenate(sums), first, axis=0) / sizes[:, None]
        values = values[:, np.ptp(values, axis=0) > 1e-12 * (1.0 + np.abs(values).max(axis=0))]
        if values.shape[1] == 0 or len(values) < 30:
            return None
        return series(time, time, clock, values)

    def level_question(self) -> Question:
        """Drift of the level.

        Simulated levels include the uncertainty of the fit of differences. Their noise is measured
        between neighbours. It does not include the errors of that fit and of the mean, because
        neighbours share these errors.
        """
        fit, generator = self.apart_fits[0], partial(self._named, "level")
        rows = self.levels.series(fit)
        moved = self.levels.moved(fit, generator(), self.simulations)
        noise = from_neighbours(rows.reward)
        evidence = evidence_of(rows, noise, self.lanes, self.simulations, generator, moved)
        return self._answer("level", evidence)

    def context_question(self) -> Question | None:
        """Drift of the mean vectors of the offered actions; None if they never vary."""
        rows = self.context_means()
        if rows is None:
            return None
        noise, generator = rows.reward - rows.reward.mean(axis=0), partial(self._named, "contexts")
        evidence = evidence_of(rows, noise, self.lanes, self.simulations, generator)
        return self._answer("contexts", evidence)

    def _named(self, name: str) -> np.random.Generator:
        return stream(self.seed, "logs", "drift", name)

    def _answer(self, name: str, evidence: Array) -> Question:
        """The answer from the evidence (M, 1 + S) of logged and simulated rewards."""
        gains = evidence.max(axis=0) - evidence[-1]
        p = (1.0 + float((gains[1:] >= gains[0]).sum())) / len(gains)
        memory = float(self.lanes[int(np.argmax(evidence[:, 0]))])
        return Question(name, float(gains[0]), p, memory, memory / self.log.rate)


def _pieces(rows: Stretch, ends: Ints, most: int = AT_ONCE) -> Any:
    """Whole units, about ``most`` rows at a time, so that simulated rewards need little memory."""
    at = 0
    while at < len(ends) - 1:
        to = max(at + 1, int(np.searchsorted(ends, ends[at] + most, "right")) - 1)
        yield rows.part(slice(int(ends[at]), int(ends[to]))), ends[at : to + 1] - ends[at]
        at = to


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
