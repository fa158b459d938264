"""Regret outside the leaderboard, compared with D-LinUCB tuned in hindsight.

The best fixed discount has the theorem's radius; "tuned twice" also has the best radius.

`AdaptiveLinUCB` is told only the dimension. D-LinUCB plays with a grid of memories, and is told the
noise level and the norms of parameters (at most 1) and actions. All meet the same actions and
noise. Finished replications are kept, so that a run continues where it stopped.
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
from driftbandits.experiments.contestants import NO_FORGETTING, fixed_discounts, scaled_radii
from driftbandits.experiments.standings_text import table
from driftbandits.experiments.yardsticks import relative, yardsticks
from driftbandits.simulation import Recording, simulate

from ..kept import drawn
from .afterwards import AFTERWARDS
from .aside import ASIDE
from .choosing import CHOOSING
from .drawn_levels import DRAWN_LEVELS, JUMPING_LEVELS
from .everyday import EVERYDAY
from .outlying import OUTLYING
from .place import Place

NAME = "elsewhere"
GROUPS = {
    "Looked at while choosing": CHOOSING,
    "Looked at afterwards": AFTERWARDS,
    "Outliers and rare rewards": OUTLYING,
    "Levels, scales and launches": EVERYDAY,
    "Set apart": ASIDE,
    "Moving levels drawn at random": DRAWN_LEVELS,
    "Jumping levels drawn at random": JUMPING_LEVELS,
}
RESULTS = Path(__file__).parents[2] / "results"
SEED = 0
OURS = "AdaptiveLinUCB"


class Plan(NamedTuple):
    """The numbers of replications and rounds."""

    replications: int
    longest: int | None = None  # most rounds to play; None for all

    def cut(self, place: Place) -> Place:
        """The first rounds of a place."""
        if self.longest is None:
            return place
        horizon = min(place.environment.horizon, self.longest)
        return place._replace(environment=replace(place.environment, horizon=horizon))


FULL = Plan(replications=100)
QUICK = Plan(replications=2, longest=500)


class Score(NamedTuple):
    """Final regrets in one environment, one per replication."""

    section: str
    title: str
    ours: Array
    best: Array  # of the fixed discount with the least mean
    memory: str  # its memory, in rounds
    twice: Array  # of the discount and radius with the least mean

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Ratio of the means, and the ends of its 95% interval."""
        return relative(self.ours, self.best)[:3]

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        fixed, twice = (
            f"{ratio:.2f} ({low:.2f} to {high:.2f})"
            for ratio, low, high in (self.ratio, relative(self.ours, self.twice)[:3])
        )
        regrets = _regret(self.ours), _regret(self.best), self.memory, fixed
        return self.title, *regrets, _regret(self.twice), twice

    @property
    def row(self) -> Row:
        """A row for the results of all sections."""
        regrets = f"{_regret(self.ours)} and {_regret(self.best)} at memory {self.memory}"
        return Row(self.section, self.title, "ratio, 95% interval", "", *self.ratio, note=regrets)


def run(*, quick: bool, say: Say) -> list[Row]:
    """Play in all environments, print the tables, and write them to a file."""
    return play(NAME, GROUPS, quick=quick, say=say)


def play(
    section: str,
    groups: Mapping[str, Sequence[Place]],
    *,
    quick: bool,
    say: Say,
    results: Path = RESULTS,
) -> list[Row]:
    """Play in all places; write the tables to a file named after the section, in ``results``."""
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
    """Play in one environment, or continue."""
    environment, problem = place.environment, place.problem
    hindsight = {**fixed_discounts(problem), **scaled_radii(problem)}

    def progress(done: int, of: int) -> None:
        if done % max(of // 4, 1) == 0:
            say(f"{section}, {place.title}: {done} of {of} replications")

    result = simulate(
        environment,
        {OURS: AdaptiveLinUCB.tuned(problem), **hindsight},
        replications=replications,
        seed=SEED,
        record=Recording(regret=(environment.horizon,)),
        folder=folder / re.sub(r"[^\w.]+", "-", place.title),
        about={"rounds": drawn(environment, SEED)},
        progress=progress,
    )
    best, twice = yardsticks(result, problem)
    memory = "∞" if best == NO_FORGETTING else best.rpartition(" ")[2]
    regrets = result.final(OURS), result.final(best), memory, result.final(twice)
    return Score(section, place.title, *regrets)


def markdown(heading: str, scores: Sequence[Score]) -> str:
    """The table of a group."""
    ratio = "Ratio (95% interval)"
    header = (heading, OURS, "Best fixed", "its memory", ratio, "Tuned twice", ratio)
    return table(header, (of.cells for of in scores))


def _regret(values: Array) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:.1f} ± {error:.1f}"
