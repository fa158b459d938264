"""Which memory fits: prequential evidence of a grid of memories, in one pass.

Every reward is predicted from the rewards that had come by then, with weights that fade at each of
several rates. The memory whose predictions were the least surprised fits best. No propensities are
needed, and nothing later changes an earlier prediction.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.arrays import Array
from .passes import Pass
from .reading import LogReader, Progress
from .resuming import Checkpoint, Part
from .schema import CannotAnswer
from .units import Stretches, is_aggregated, of_same_time, of_size

# Memories within this many log units of the best are as good.
CLOSE = 2.0
_SHORTEST = 10.0


@dataclass(frozen=True)
class Memory:
    """What `Log.memory` found.

    Attributes:
        table: One row per memory: memory in decisions (infinity: never forgets), the same in
            hours, log-evidence, whether it is the best, whether it is within 2 log units of it, and
            the evidence had all rewards come at once.
        clock: What memories are measured on: decisions or hours.
        dim: Length of the log's vectors.
        rows: Number of rewards that were predicted.
        trace: Evidence of every memory over time: one row per point, ``time`` in seconds.
    """

    table: pd.DataFrame
    clock: str
    dim: int
    rows: int
    trace: pd.DataFrame

    @property
    def best(self) -> float:
        """The memory that fits best, in decisions."""
        return float(self.table.loc[self.table["best"], "memory"].iloc[0])

    @property
    def hours(self) -> float:
        """The same in hours."""
        return float(self.table.loc[self.table["best"], "hours"].iloc[0])

    @property
    def gamma(self) -> float:
        """The discount γ = 1 − 1/memory per decision; 1 where nothing is to be forgotten."""
        return 1.0 - 1.0 / self.best

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        close = self.table[self.table["close"]]
        gain = self.table["evidence"].max() - self.table["evidence"].iloc[-1]
        if np.isinf(self.best):
            return "Never forgetting predicts best."
        span = f"{say_memory(close['memory'].iloc[0])} to {say_memory(close['memory'].iloc[-1])}"
        return (
            f"A memory of {say_memory(self.best)} decisions ({say_hours(self.hours)}) predicts "
            f"best, {gain:.1f} log units ahead of never forgetting; {span} do as well."
        )

    @property
    def snippet(self) -> str:
        """Configuration of a policy with this memory."""
        if np.isinf(self.best):
            return f"policy = LinUCB(dim={self.dim})  # nothing to forget"
        return (
            f"policy = DLinUCB(dim={self.dim}, gamma={self.gamma:.6g})  # {say_hours(self.hours)}"
        )


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
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Memory:
    """Prequential evidence for a grid of memories; see `Memory`.

    Args:
        log: The log.
        memories: Memories in decisions; 15 and "never" unless given.
        clock: Whether weights fade with ``decisions`` or with ``hours``.
        resume: File that keeps what has been done, every half minute. A later call with the same
            log and arguments continues from it; at the end it is removed.
        progress: Told how many rows are done.
    """
    if log.rows < 30:
        raise CannotAnswer(f"memory needs at least 30 rows, the log has {log.rows}")
    lanes = grid(log, 16) if memories is None else np.append(np.asarray(memories, float), np.inf)
    if not (lanes > 1.0).all():
        raise ValueError(f"memories must be above 1 decision, got {lanes.min():g}")
    passes = [
        Pass(lanes, width=log.width, blocks=log.blocks, instant=instant)
        for instant in (False, True)
    ]
    # Predictions of long vectors are refreshed every few rows: the factorisations dominate.
    cut = of_same_time if is_aggregated(log) else of_size(max(1, log.width // 16))
    walk = Stretches(log, clock=clock, cut=cut, progress=progress)
    parts: dict[str, Part] = {"walk": walk, "real": passes[0], "instant": passes[1]}
    kept = Checkpoint(resume, parts, f"memory {clock} {lanes.tolist()} {log.source.stamp}")
    with ThreadPoolExecutor(2) as threads, kept:
        for rows, ends in walk:
            list(threads.map(lambda one, r=rows, e=ends: one.take(r, e), passes))
            kept.save()
    real, instantly = passes
    if real.state.scored[0] == 0:
        raise CannotAnswer("memory needs rewards that differ; too few are known and not all equal")
    table = pd.DataFrame(
        {
            "memory": lanes,
            "hours": lanes / log.rate,
            "evidence": real.evidence,
            "best": np.arange(len(lanes)) == int(np.argmax(real.evidence)),
            "close": real.evidence >= real.evidence.max() - CLOSE,
            "instant": instantly.evidence,
        }
    )
    trace = pd.DataFrame(real.trace.values, columns=[say_memory(m) for m in lanes])
    trace.insert(0, "time", real.trace.times)
    return Memory(table, clock, log.dim, int(real.state.scored[0]), trace)
