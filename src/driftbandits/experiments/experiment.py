"""An experiment: an environment, policies, and what to record."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import whole
from ..core.storage import atomic_write
from ..environments import Environment
from ..policies import Policy
from ..simulation import Recording, Result, even_rounds, simulate
from ..simulation.engine import Contestant
from ..simulation.simulate import Progress, check_coverage, check_policies


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What ``driftbandits run`` runs; a Python file must define one named ``experiment``.

    Attributes:
        name: Name of the folder of its results.
        title: Heading of its figures.
        environment: The environment to play in.
        policies: Policies by label.
        replications: Number of independent repetitions.
        seed: Seed of all random numbers.
        regret_rounds: Rounds after which to record the regret; if empty, 200 even ones.
        estimate_rounds: Rounds after which to record estimates; if None, 60 even ones for d = 2 and
            none otherwise.
        coverage: Whether to check the confidence sets.
        about: Further facts for the report: description, published values, groups (by label, of
            policies that tables show separately), standin, …

    Raises:
        ValueError: A value is out of range, or a policy does not fit the environment.
    """

    name: str
    title: str
    environment: Environment
    policies: Mapping[str, Contestant]
    replications: int = 100
    seed: int = 0
    regret_rounds: tuple[int, ...] = ()
    estimate_rounds: tuple[int, ...] | None = None
    coverage: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)
        whole("replications", self.replications, least=1)
        whole("seed", self.seed, least=0, most=None)
        check_policies(self.policies)
        if not isinstance(self.coverage, bool):
            raise ValueError(f"coverage must be true or false, got {self.coverage!r}")
        if self.coverage:
            check_coverage(self.policies)
        for label, policy in self.policies.items():
            if isinstance(policy, Policy) and policy.dim != self.environment.dim:
                raise ValueError(
                    f"{label} must have dim = {self.environment.dim}, as the environment has, "
                    f"got {policy.dim}"
                )
        _check_text("title", self.title)
        _check_text("description", self.about.get("description", ""))
        check_published(self.about.get("published", {}))

    def run(
        self, out: Path, *, workers: int | None = None, progress: Progress | None = None
    ) -> Result:
        """Run or continue the experiment in ``out/name``; write results and summaries."""
        folder = out / self.name
        result = simulate(
            self.environment,
            self.policies,
            replications=self.replications,
            seed=self.seed,
            workers=workers,
            record=Recording(
                regret=self.regret_rounds or None,
                estimates=self._estimate_rounds(),
                coverage=self.coverage,
            ),
            folder=folder,
            about={"name": self.name, "title": self.title, **self.about},
            progress=progress,
        )
        self._write_summaries(result, folder)
        return result

    def _estimate_rounds(self) -> tuple[int, ...]:
        if self.estimate_rounds is not None:
            return self.estimate_rounds
        plane = self.environment.dim == 2
        return even_rounds(self.environment.horizon, 60) if plane else ()

    def _write_summaries(self, result: Result, folder: Path) -> None:
        tables = {"summary.csv": result.summary(), "detections.csv": result.detections_frame()}
        if self.coverage:
            tables["coverage.csv"] = result.coverage_frame()
        for name, table in tables.items():
            with atomic_write(folder / name) as file:
                table.to_csv(file, index=False)


def check_name(name: Any) -> None:
    """Raise an error for a name that cannot name the folder of the results."""
    if not (isinstance(name, str) and re.fullmatch(r"[\w-][\w .-]*", name)):
        raise ValueError(f"name must be letters, digits, '-', '_' and '.', got {name!r}")


def check_published(published: Any) -> None:
    """Raise an error unless the published values are one finite number per policy."""
    if not isinstance(published, Mapping):
        raise ValueError(f"published must be a table of one number per policy, got {published!r}")
    for label, value in published.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (isinstance(label, str) and number and math.isfinite(value)):
            raise ValueError(f"published: {label} must be a finite number, got {value!r}")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {value!r}")


def logarithmic_rounds(horizon: int, count: int) -> tuple[int, ...]:
    """At most ``count`` rounds up to the horizon, evenly spread on a logarithmic scale."""
    return tuple(int(t) for t in np.unique(np.geomspace(1, horizon, count).round()))
