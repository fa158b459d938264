"""The answer of `Log.drift`: p-values, in words, as a table, and as a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .memory import Memory, say_hours
from .periods import say_time
from .setup import Setup, snippet

ALPHA = 0.05
# Delays above this share of the log's time are mentioned. Of 60 logs with one jump in the middle,
# drift is found in 47 with no delay, 44 at 1/50, 21 at 1/20; delays hide slow turns less.
_LATE = 1.0 / 40.0


@dataclass(frozen=True)
class Question:
    """One question to a log that may drift.

    Attributes:
        name: Subject of the question: payoffs, level, differences or contexts.
        gain: Log-evidence of the best memory minus that of never forgetting.
        p: P-value of the gain, from simulated logs that do not drift.
        memory: The memory with the largest evidence, in decisions.
        hours: This memory in hours.
    """

    name: str
    gain: float
    p: float
    memory: float
    hours: float

    @property
    def drifts(self) -> bool:
        """Whether there is drift at the 5% level."""
        return self.p <= ALPHA


@dataclass(frozen=True)
class Drift:
    """What `Log.drift` found.

    Attributes:
        p: P-value of no drift at all: the smallest p-value of ``payoffs``, ``level`` and
            ``differences``, times their number (Bonferroni).
        payoffs: Rewards given actions.
        level: The part of the payoff that all actions share.
        differences: Differences between actions; None if the log cannot show them.
        contexts: The sets of actions; None if they are not logged or never vary.
        when: One row per point in time: the evidence for drift so far.
        evidence: One row per memory of a coarse grid: memory, hours, evidence.
        setup: Noise and bounds for a policy.
        dated: Whether times are dates.
        delay: Median hours until a reward.
        span: Hours from the first decision to the last.
        changed: Times in seconds between which the largest change lies
            (`driftbandits.logs.dating`); None if nothing drifts or no change stands out.
        remembered: The answer of `Log.memory` if payoffs drift and some memory is clearly better
            than never forgetting; otherwise None.
    """

    p: float
    payoffs: Question
    level: Question
    differences: Question | None
    contexts: Question | None
    when: pd.DataFrame
    evidence: pd.DataFrame
    setup: Setup
    dated: bool
    delay: float
    span: float
    changed: tuple[float, float] | None = None
    remembered: Memory | None = None

    @property
    def drifting(self) -> bool:
        """Whether payoffs drift, at the 5% level."""
        return self.p <= ALPHA

    @property
    def recommended(self) -> float:
        """The memory for a policy in decisions, from `Log.memory`; infinity: never forget."""
        return np.inf if self.remembered is None else self.remembered.best

    @property
    def late(self) -> bool:
        """Whether rewards come so late that drift is harder to find."""
        return self.delay > _LATE * self.span > 0.0

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if not self.drifting:
            lead = f"No drift of payoffs was found (p = {self.p:.2g})."
            return lead + self._delays() + self._contexts()
        parts = []
        if self.level.drifts:
            parts.append(f"the level moves (p = {self.level.p:.2g})")
        if self.differences is not None:
            verb = "move" if self.differences.drifts else "show no drift"
            parts.append(f"differences between actions {verb} (p = {self.differences.p:.2g})")
        if not (self.level.drifts or (self.differences is not None and self.differences.drifts)):
            parts.append(f"nor does the level alone (p = {self.level.p:.2g})")
        lead = f"Payoffs drift (p = {self.p:.2g}): {', '.join(parts)}"
        if self.remembered is None and np.isinf(self.payoffs.memory):
            return f"{lead}. {self._advice()}{self._delays()}"
        return f"{lead}; {self._largest()}. {self._advice()}{self._delays()}{self._contexts()}"

    def _advice(self) -> str:
        """Which memory a policy should have, and which policy needs no memory."""
        words = "No one memory follows it clearly."
        if self.remembered is None and np.isinf(self.payoffs.memory):
            words = "No memory of the vectors follows it; they may lack a constant 1."
        if self.remembered is not None:
            words = f"{self.remembered.recommendation}."
            if np.isinf(self.remembered.best):
                words += " To D-LinUCB, forgetting would cost more than it saves."
        if self.differences is not None and not self.differences.drifts and self.level.drifts:
            words += " AdaptiveLinUCB learns a level that moves apart from differences that stay."
        return words

    def _delays(self) -> str:
        if not self.late:
            return ""
        return (
            f" Half of the rewards came {say_hours(self.delay)} or more after their decisions, "
            f"{self.delay / self.span:.0%} of the log's time: this makes drift harder to find, and "
            "faster changes may leave no trace."
        )

    def _largest(self) -> str:
        """When the largest change happened, or that none stands out."""
        times = self.when["time"].to_numpy()
        if np.ptp(times) == 0.0:
            return "when it changed cannot be told, since no time passes in this log"
        if self.changed is None:
            return "payoffs move all along, and no one change stands out"
        start, end = (say_time(time, dated=self.dated) for time in self.changed)
        return f"the largest change came between {start} and {end}"

    def _contexts(self) -> str:
        if self.contexts is None:
            return ""
        verb = "drift" if self.contexts.drifts else "show no drift"
        return f" Contexts {verb} (p = {self.contexts.p:.2g})."

    @property
    def table(self) -> pd.DataFrame:
        """All numbers: quantity, value."""
        rows: dict[str, Any] = {"drifting": self.drifting, "p": self.p}
        if self.remembered is not None:
            rows["recommended memory in decisions"] = self.remembered.best
            rows["recommended memory in hours"] = self.remembered.hours
        for question in (self.payoffs, self.level, self.differences, self.contexts):
            if question is None:
                continue
            rows |= {
                f"{question.name}: p": question.p,
                f"{question.name}: gain in log-evidence": question.gain,
                f"{question.name}: memory with most evidence, in decisions": question.memory,
                f"{question.name}: memory with most evidence, in hours": question.hours,
            }
        start, end = busiest(self.when)
        rows["most evidence from"] = say_time(start, dated=self.dated)
        rows["most evidence to"] = say_time(end, dated=self.dated)
        if self.changed is not None:
            ends = (say_time(time, dated=self.dated) for time in self.changed)
            rows["largest change from"], rows["largest change to"] = ends
        rows["median delay in hours"] = self.delay
        return pd.DataFrame({"quantity": list(rows), "value": list(rows.values())})

    @property
    def snippet(self) -> str:
        """Configuration of a policy that fits the answer."""
        if not self.drifting:
            return snippet(self.setup.code(np.inf), "no drift found")
        if self.remembered is None:
            return snippet(f"AdaptiveLinUCB(dim={self.setup.dim})", "drifts, at no one pace")
        return self.remembered.snippet


def busiest(when: pd.DataFrame) -> tuple[float, float]:
    """The shortest stretch of time that holds half of the evidence for drift."""
    times, total = when["time"].to_numpy(), when["gain"].to_numpy()
    if len(times) < 2 or total[-1] <= total[0]:
        return (float(times[0]), float(times[-1])) if len(times) else (np.nan, np.nan)
    best = (float(times[0]), float(times[-1]))
    for i in range(len(times)):
        later = np.flatnonzero(total[i:] >= total[i] + 0.5 * (total[-1] - total[0]))
        if len(later) and times[i + later[0]] - times[i] < best[1] - best[0]:
            best = (float(times[i]), float(times[i + later[0]]))
    return best
