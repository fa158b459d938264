"""Regret where the leaderboard does not look, beside the best fixed discount in hindsight.

`AdaptiveLinUCB` is told nothing but the dimension. D-LinUCB plays with each of a grid of memories,
and is told the noise level and the norms of parameters (1 at most) and actions. All meet the same
actions and noise. What was played is kept, so that a run goes on where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Array, Row, Say, mean_and_error

from driftbandits import AdaptiveLinUCB
from driftbandits.core.storage import atomic_write
from driftbandits.experiments.contestants import NO_FORGETTING, fixed_discounts
from driftbandits.experiments.leaderboard import ratio_of_means
from driftbandits.experiments.standings import table
from driftbandits.simulation import Recording, simulate
from driftbandits.simulation.statistics import mean_interval

from ..kept import drawn
from .afterwards import AFTERWARDS
from .choosing import CHOOSING
from .everyday import EVERYDAY
from .outlying import OUTLYING
from .place import Place

NAME = "elsewhere"
GROUPS = {
    "Looked at while choosing": CHOOSING,
    "Looked at afterwards": AFTERWARDS,
    "Outliers and rare rewards": OUTLYING,
    "Levels, scales and launches": EVERYDAY,
}
RESULTS = Path(__file__).parents[2] / "results"
SEED = 0
OURS = "AdaptiveLinUCB"


class Plan(NamedTuple):
    """How much is played."""

    replications: int
    longest: int | None = None  # rounds, where not all of them are

    def cut(self, place: Place) -> Place:
        """The first rounds of a place."""
        if self.longest is None:
            return place
        horizon = min(place.environment.horizon, self.longest)
        return place._replace(environment=replace(place.environment, horizon=horizon))


FULL = Plan(replications=100)
QUICK = Plan(replications=2, longest=500)


class Score(NamedTuple):
    """Final regrets in one environment, a replication each."""

    section: str
    title: str
    ours: Array
    best: Array  # of the fixed discount of the least mean
    memory: str  # its memory, in rounds

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Ratio of the means, and the ends of its 95% interval."""
        ratio, error = ratio_of_means(self.ours, self.best)
        return (ratio, *mean_interval(ratio, error, len(self.ours)))

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        ratio, low, high = self.ratio
        interval = f"{ratio:.2f} ({low:.2f} to {high:.2f})"
        return self.title, _regret(self.ours), _regret(self.best), self.memory, interval

    @property
    def row(self) -> Row:
        """The same for the results of all sections."""
        regrets = f"{_regret(self.ours)} beside {_regret(self.best)} at memory {self.memory}"
        return Row(self.section, self.title, "ratio, 95% interval", "", *self.ratio, note=regrets)


def run(*, quick: bool, say: Say) -> list[Row]:
    """Play everywhere, print the tables, and write them down."""
    return play(NAME, GROUPS, quick=quick, say=say)


def play(
    section: str,
    groups: Mapping[str, Sequence[Place]],
    *,
    quick: bool,
    say: Say,
    results: Path = RESULTS,
) -> list[Row]:
    """Play in all places; the tables go to a file of the section's name, among what is kept."""
    plan, folder = (QUICK, results / section / "quick") if quick else (FULL, results / section)

    def played(place: Place) -> Score:
        return score(section, plan.cut(place), plan.replications, folder, say)

    scores = {heading: [played(place) for place in places] for heading, places in groups.items()}
    text = "\n\n".join(markdown(heading, of) for heading, of in scores.items()) + "\n"
    if quick:
        cut = (
            f"{plan.replications} replications of {plan.longest} rounds; later changes do not come"
        )
        text = f"A quick look: {cut}.\n\n{text}"
    print(f"\n{text}", flush=True)
    with atomic_write(folder / f"{section}.md") as file:
        file.write(text.encode())
    return [of.row for group in scores.values() for of in group]


def score(section: str, place: Place, replications: int, folder: Path, say: Say) -> Score:
    """Play in one environment, or go on with it."""
    environment, problem = place.environment, place.problem
    fixed = fixed_discounts(problem)

    def progress(done: int, of: int) -> None:
        if done % max(of // 4, 1) == 0:
            say(f"{section}, {place.title}: {done} of {of} replications")

    result = simulate(
        environment,
        {OURS: AdaptiveLinUCB.tuned(problem), **fixed},
        replications=replications,
        seed=SEED,
        record=Recording(regret=(environment.horizon,)),
        folder=folder / re.sub(r"[^\w.]+", "-", place.title),
        about={"rounds": drawn(environment, SEED)},
        progress=progress,
    )
    best = min(fixed, key=lambda label: float(result.final(label).mean()))
    memory = "∞" if best == NO_FORGETTING else best.rpartition(" ")[2]
    return Score(section, place.title, result.final(OURS), result.final(best), memory)


def markdown(heading: str, scores: Sequence[Score]) -> str:
    """The table of a group."""
    header = (heading, OURS, "Best fixed", "its memory", "Ratio (95% interval)")
    return table(header, (of.cells for of in scores))


def _regret(values: Array) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:.1f} ± {error:.1f}"
