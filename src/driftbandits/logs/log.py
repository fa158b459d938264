"""`Log`: open your log and ask it questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from ..agent import Agent
from ..core.arrays import Array
from ..policies import Policy
from .agents import fit_agent
from .drift import drift
from .earning import confirmed
from .first_time import compile_apart
from .fit import Learner, fit
from .health import Check, check
from .memory import Memory, memory
from .reading import LogReader, Progress
from .replay import replay
from .resuming import Resume
from .schema import CannotAnswer, Catalogue, Encoder, Schema
from .sources import open_source
from .sums import Sums, sums
from .targets import Target
from .value import Value, value
from .verdict import Drift
from .world import LogModel, to_environment

_ROWS = 16_384


class Log(LogReader):
    """A log of decisions: offered actions, played action, its probability and its reward.

    Use `Log.open`. Only the current batch is kept in memory, so a log may be larger than memory.
    Every question takes ``progress``, a function that is called with the number of rows done and
    the number of all rows (None if it is not known yet). Most take ``resume``, a file that saves
    the work done so far: the same call continues after an interruption.

    Attributes:
        schema: What the columns mean.
        dim: Length d of a full action vector.
        blocks: Number of parameter blocks: one per arm, or 1.
        whole: Whether rows hold the set of actions, not only the played action.
        dated: Whether times are dates; otherwise they are numbers.
        notes: Remarks on the log from reading it, in words.
        findings: Rows that were dropped in the latest pass, with numbers and reasons.

    Examples:
        >>> import pandas as pd
        >>> from driftbandits.logs import Log
        >>> frame = pd.DataFrame({"time": [0, 1, 2], "chosen": [0, 1, 0], "reward": [1, 0, 1]})
        >>> log = Log.open(frame, arms=2)
        >>> log.dim, log.check()["rows"]
        (2, 3)
    """

    @classmethod
    def open(
        cls,
        data: Any,
        schema: Schema | None = None,
        *,
        kind: str | None = None,
        catalogue: Catalogue | Mapping[Any, Any] | None = None,
        features: Encoder | None = None,
        on_bad: str = "stop",
        rows: int = _ROWS,
        **columns: Any,
    ) -> Log:
        """Open a log.

        Args:
            data: Path to Parquet, CSV, JSON lines, Arrow or dsjson; an Arrow table; a pandas or
                polars frame.
            schema: What the columns mean; without it ``columns`` are the arguments of `Schema`.
            kind: Format of a file if its name does not show it: parquet, csv, jsonl, arrow, dsjson.
            catalogue: Sets of actions by id, if rows hold only ids or nothing.
            features: Encoder of named actions and contexts, such as `driftbandits.features`.
            on_bad: What to do with a row that cannot be right: "stop" or "drop".
            rows: Largest number of rows that are read at a time.
            **columns: Fields of `Schema`, by name.
        """
        if schema is not None and columns:
            raise ValueError(f"give a schema or columns, not both: {', '.join(columns)}")
        if catalogue is not None and not isinstance(catalogue, Catalogue):
            catalogue = Catalogue(catalogue)
        return cls(
            open_source(data, rows=rows, drop=on_bad == "drop", kind=kind),
            schema or Schema(**columns),
            catalogue=catalogue,
            features=features,
            on_bad=on_bad,
        )

    def check(
        self, *, period: str = "auto", resume: Resume = None, progress: Progress | None = None
    ) -> Check:
        """Is the log sound? See `driftbandits.logs.health.Check`."""
        return check(self, period=period, resume=resume, progress=progress)

    def drift(
        self,
        *,
        simulations: int = 199,
        seed: int = 0,
        clock: str = "decisions",
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Drift:
        """Is it drifting? See `driftbandits.logs.drift.drift`.

        If it drifts, the recommended memory is the answer of `memory`.
        """
        compile_apart("drift")
        found = drift(
            self, simulations=simulations, seed=seed, clock=clock, resume=resume, progress=progress
        )
        if not found.drifting:
            return found
        return replace(found, remembered=self._remembered(clock))

    def _remembered(self, clock: str) -> Memory | None:
        """The answer of `memory`; None if no memory is clearly better than never forgetting."""
        try:
            found = self.memory(clock=clock)
        except CannotAnswer:
            return None
        return found if np.isfinite(found.predictor) else None

    def memory(
        self,
        *,
        memories: Array | None = None,
        clock: str = "decisions",
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Memory:
        """Which memory fits? See `driftbandits.logs.memory.memory`.

        If the log holds sets of actions, a model of the log then shows which memory loses least
        (`driftbandits.logs.earning.confirmed`).
        """
        compile_apart("memory")
        found = memory(self, memories=memories, clock=clock, resume=resume, progress=progress)
        return confirmed(self, found)

    def value(
        self,
        policies: Mapping[str, Target | str],
        *,
        period: str = "auto",
        propensities: str = "logged",
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Value:
        """What would fixed policies have earned? See `driftbandits.logs.value.value`.

        A policy is a function of the log and a batch, or a text as on the command line: uniform,
        action:NAME, column:NAME, shares:FILE.csv, frozen:FILE.npz.
        """
        compile_apart("value")
        return value(
            self,
            policies,
            period=period,
            propensities=propensities,
            resume=resume,
            progress=progress,
        )

    def replay(
        self,
        policies: Mapping[str, Policy],
        *,
        learn: str = "accepted",
        share: float | None = None,
        full_traffic: bool = True,
        period: str = "auto",
        seed: int = 0,
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Value:
        """What would policies that learn have earned? See `driftbandits.logs.replay.replay`."""
        compile_apart("value")  # not together with policies: both at once take more than 500 MB
        compile_apart("replay", list(policies.values()))
        return replay(
            self,
            policies,
            learn=learn,
            share=share,
            full_traffic=full_traffic,
            period=period,
            seed=seed,
            resume=resume,
            progress=progress,
        )

    @overload
    def fit(
        self,
        policy: Learner,
        *,
        rule: str = ...,
        decide: bool | None = ...,
        resume: Resume = ...,
        progress: Progress | None = ...,
    ) -> Learner: ...

    @overload
    def fit(
        self, policy: Agent, *, resume: Resume = ..., progress: Progress | None = ...
    ) -> Agent: ...

    def fit(
        self,
        policy: Any,
        *,
        rule: str | None = None,
        decide: bool | None = None,
        resume: Resume = None,
        progress: Progress | None = None,
    ) -> Any:
        """A copy of a policy or an agent that has learned the log.

        See `driftbandits.logs.fit.fit` and `driftbandits.logs.agents.fit_agent`. An agent has its
        own rules, so it takes neither ``rule`` nor ``decide``.
        """
        if not isinstance(policy, Agent | Policy):
            raise TypeError(f"policy must be a policy or an agent, got {policy!r}")
        if not isinstance(policy, Agent):
            compile_apart("fit", [policy])
            return fit(
                self, policy, rule=rule or "wait", decide=decide, resume=resume, progress=progress
            )
        if rule is not None or decide is not None:
            raise ValueError("an agent has its own rules: leave out rule and decide")
        return fit_agent(self, policy, resume=resume, progress=progress)

    def sums(
        self,
        *,
        memories: Any = (float("inf"),),
        period: str | None = None,
        workers: int = 2,
        progress: Progress | None = None,
    ) -> dict[str, Sums]:
        """Sums that merge exactly. See `driftbandits.logs.sums.sums`."""
        return sums(self, memories=memories, period=period, workers=workers, progress=progress)

    def to_environment(
        self, *, memory: float | None = None, rounds: int = 10_000, seed: int = 0
    ) -> LogModel:
        """A simulator built from the log. See `driftbandits.logs.world.to_environment`."""
        return to_environment(self, memory=memory, rounds=rounds, seed=seed)
