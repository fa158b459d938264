"""Which memory fits: prequential evidence of a grid of memories, in one pass.

Every reward is predicted from the rewards that arrived before it, with weights that fade at one of
several rates. The memory whose predictions give the rewards the highest probability fits best. No
propensities are needed, and later rows never change an earlier prediction.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .batch import Mask
from .passes import Pass
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .schema import CannotAnswer
from .setup import IMPOSSIBLE, Setup, snippet
from .units import Stretches, is_aggregated, of_same_time, of_size

# Memories within this many log units of the best, or within two standard errors, count as equal.
CLOSE = 2.0
_SHORTEST = 10.0
# Memory of the noise level s², in rows: quiet and noisy times then count equally.
NOISE = 500.0


@dataclass(frozen=True)
class Memory:
    """What `Log.memory` found.

    Attributes:
        table: One row per memory: ``memory`` in decisions (infinity: never forgets), ``hours``,
            log-``evidence``, whether a policy should use it (``best``), whether it predicts best
            (``predictor``) or equally well (``close``), the evidence if all rewards had come at
            once (``instant``), and the ``regret`` per decision of D-LinUCB in a model of the log
            (NaN if there is no model).
        clock: Whether weights fade with decisions or with hours.
        setup: Noise and bounds for a policy.
        gain: Σ (e²_never − e²)/(2s²): log units by which the memory with the smallest errors
            predicts closer than never forgetting.
        error: Standard error of ``gain``, from 64 stretches of the log.
        rows: Number of rewards that were predicted.
        trace: Evidence of every memory over time: one row per point, ``time`` in seconds.
    """

    table: pd.DataFrame
    clock: str
    setup: Setup
    gain: float
    error: float
    rows: int
    trace: pd.DataFrame

    @property
    def best(self) -> float:
        """The memory for a policy, in decisions; infinity if it should never forget.

        D-LinUCB loses least with this memory in a model of the log. If the log has no model, this
        is `predictor` (`driftbandits.logs.earning.confirmed`).
        """
        return self._of("best", "memory")

    @property
    def hours(self) -> float:
        """The memory `best`, in hours."""
        return self._of("best", "hours")

    @property
    def gamma(self) -> float:
        """The discount γ = 1 − 1/memory of `best`; 1 if the policy should never forget."""
        return 1.0 - 1.0 / self.best

    @property
    def predictor(self) -> float:
        """The memory that predicts best, in decisions; infinity if none is clearly better."""
        return self._of("predictor", "memory")

    def _of(self, which: str, column: str) -> float:
        return float(self.table.loc[self.table[which], column].iloc[0])

    @property
    def recommendation(self) -> str:
        """The memory for a policy, in words."""
        if np.isinf(self.best):
            return "Recommended: never forget"
        return f"Recommended memory: {say_memory(self.best)} decisions ({say_hours(self.hours)})"

    @property
    def sentence(self) -> str:
        """The answer in a few sentences; the first has the memory for a policy."""
        close = self.table.loc[self.table["close"], "memory"]
        shortest, longest = say_memory(close.iloc[0]), say_memory(close.iloc[-1])
        gain = f"{self.gain:,.1f} log units (standard error {self.error:,.1f})"
        if self.gain == 0.0:
            rest = (
                "" if len(close) == 1 else f"; any memory from {shortest} decisions on does as well"
            )
            return f"{self.recommendation}. That predicts best{rest}."
        if np.isinf(self.predictor):
            return (
                f"{self.recommendation}. No memory predicts clearly closer: the closest is ahead "
                f"by {gain}. Any memory from {shortest} decisions on does as well."
            )
        ahead = self.table["evidence"].max() - self.table["evidence"].iloc[-1]
        well = "" if len(close) == 1 else f"; {shortest} to {longest} predict as well"
        return (
            f"{self.recommendation}. {self._reason()} is {ahead:,.1f} log units ahead of never "
            f"forgetting{well}. Errors alone bring {gain}."
        )

    def _reason(self) -> str:
        """Why this memory is recommended; ends with the subject of a sentence on the predictor."""
        time = say_hours(self._of("predictor", "hours"))
        predictor = f"{say_memory(self.predictor)} decisions ({time})"
        if self.table["regret"].isna().all():
            return "It predicts best, and"
        least = "With it" if np.isfinite(self.best) else "So"
        model = f"{least} D-LinUCB loses least in a model of the log, at its theorem's radius."
        if self.best == self.predictor:
            return f"{model} It predicts best, too, and"
        return f"{model} The best predictor, a memory of {predictor},"

    @property
    def snippet(self) -> str:
        """Configuration of a policy with the best memory."""
        why = say_hours(self.hours)
        if not self.setup.possible:
            why = IMPOSSIBLE
        elif np.isinf(self.best):
            forgets = np.isfinite(self.predictor)
            why = "loses least in a model of the log" if forgets else "nothing to forget"
        return snippet(self.setup.code(self.best), why)


def say_memory(memory: float) -> str:
    """A memory in decisions."""
    return (
        "infinity" if np.isinf(memory) else f"{memory:,.3g}" if memory < 100 else f"{memory:,.0f}"
    )


def say_hours(hours: float) -> str:
    """A time span in words."""
    if not np.isfinite(hours):
        return "for ever" if np.isinf(hours) else "no time passes in this log"
    for size, unit in ((1.0 / 60, "minutes"), (1.0, "hours"), (24.0, "days")):
        if hours < 48 * size:
            return f"{hours / size:.3g} {unit}"
    return f"{hours / 24.0:.3g} days"


def grid(log: LogReader, count: int) -> Array:
    """``count`` memories from short to never, evenly spaced on a logarithmic scale."""
    decisions, rows = log.decisions(), log.rows
    shortest = _SHORTEST * decisions / rows
    longest = max(decisions / 2.0, 2.0 * shortest)
    return np.append(np.geomspace(shortest, longest, count - 1), np.inf)


def memory(
    log: LogReader,
    *,
    memories: Array | None = None,
    clock: str = "decisions",
    resume: Resume = None,
    progress: Progress | None = None,
) -> Memory:
    """Prequential evidence for a grid of memories; see `Memory`.

    Args:
        log: The log.
        memories: Memories in decisions, "never" is added; by default a grid of 15.
        clock: Whether weights fade with ``decisions`` or with ``hours``.
        resume: File that saves the work about every half minute. A later call with the same log and
            arguments continues from it. The file is removed at the end.
        progress: Called with the number of rows done.
    """
    if log.rows < 30:
        raise CannotAnswer(f"memory needs at least 30 rows, the log has {log.rows}")
    lanes = grid(log, 16) if memories is None else np.append(np.asarray(memories, float), np.inf)
    if not (lanes > 1.0).all():
        raise ValueError(f"memories must be above 1 decision, got {lanes.min():g}")
    passes = [
        Pass(lanes, width=log.width, blocks=log.blocks, instant=instant, noise=NOISE)
        for instant in (False, True)
    ]
    # Long vectors are predicted several rows at a time: the factorisations dominate the cost.
    cut = of_same_time if is_aggregated(log) else of_size(max(1, log.width // 16))
    walk = Stretches(log, clock=clock, cut=cut)
    question, work = f"memory {clock} {lanes.tolist()}", {"walk": walk, "passes": passes}
    with ThreadPoolExecutor(2) as threads, Checkpoint(resume, log, question, work) as kept:
        for rows, ends in walk.of(kept.batches(progress=progress)):
            list(threads.map(lambda one, r=rows, e=ends: one.take(r, e), passes))
    real, instantly = passes
    if real.state.scored[0] == 0:
        raise CannotAnswer(f"memory needs {real.unscored}")
    predictor, close, gain, error = _verdict(real)
    predicts_best = np.arange(len(lanes)) == predictor
    table = pd.DataFrame(
        {
            "memory": lanes,
            "hours": lanes / log.rate,
            "evidence": real.evidence,
            "best": predicts_best,
            "predictor": predicts_best,
            "close": close,
            "instant": instantly.evidence,
            "regret": np.nan,
        }
    )
    trace = pd.DataFrame(real.trace.values, columns=[say_memory(m) for m in lanes])
    trace.insert(0, "time", real.trace.times)
    setup = Setup.of(real, predictor, scales=log.scales(), longest=walk.longest)
    return Memory(table, clock, setup, gain, error, int(real.state.scored[0]), trace)


def _verdict(one: Pass) -> tuple[int, Mask, float, float]:
    """The best predictor, the memories that predict equally well, the gain and its standard error.

    Forgetting has to bring predictions closer, by 2 log units and 2 standard errors. Evidence alone
    does not show this: if noise differs between contexts or has heavy tails, the wide bounds of a
    short memory gain hundreds of log units even in a log that does not drift.
    """
    closeness = one.state.closeness
    closest = int(np.argmax(closeness))
    errors = one.closer.errors(closest)
    gain, error = float(closeness[closest] - closeness[-1]), float(errors[-1])
    if gain <= np.fmax(CLOSE, 2.0 * error):
        as_well = closeness >= closeness[closest] - np.fmax(CLOSE, 2.0 * errors)
        return len(closeness) - 1, as_well, gain, error
    best = int(np.argmax(one.evidence))
    reach = np.fmax(CLOSE, 2.0 * one.trace.errors(best))
    close = one.evidence >= one.evidence[best] - reach
    # Closer predictions without clear evidence come from a few rows under heavy tails.
    return (len(close) - 1 if close[-1] else best), close, gain, error
