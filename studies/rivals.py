"""Regret compared with other libraries, which are tuned in every environment.

`AdaptiveLinUCB` is told nothing. The settings of each library are compared on separate
replications, and the best ones again on further replications. The winner is measured on fresh
replications, where all meet the same actions and noise. The results of libraries are kept, so that
a run continues where it stopped, and after a change of `AdaptiveLinUCB` only that is played again.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.libraries import play, unusable
from benchmarks.measure import Array, Row, Say, mean_and_error

from driftbandits import AdaptiveLinUCB, DLinUCB, Problem
from driftbandits.core.storage import atomic_write
from driftbandits.environments import Environment
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.simulation import simulate

from .grids import Setting, settings
from .kept import digest, drawn

NAME = "rivals"
ENVIRONMENTS = ("abrupt", "slow", "stationary")
KEPT = Path(__file__).parents[1] / "results" / NAME
TUNING_SEED, SEED = 1, 0
OURS, PAPER = "AdaptiveLinUCB", "D-LinUCB"
_BUDGET_DRAWS = 20


class Plan(NamedTuple):
    """The numbers of replications, settings and rounds."""

    tried: int  # replications of every setting
    finalists: int  # settings that are tried again
    retried: int  # replications of each finalist
    replications: int  # fresh replications, for the winner
    horizon: int | None = None  # by default the horizon of the suite


FULL = Plan(tried=4, finalists=4, retried=12, replications=100)
QUICK = Plan(tried=1, finalists=2, retried=2, replications=3, horizon=500)


@dataclass(frozen=True)
class Course:
    """An environment of the suite, and the folder of its kept results."""

    name: str
    environment: Environment
    problem: Problem
    folder: Path

    def regrets(self, package: str, setting: Setting, seed: int, replications: int) -> Array:
        """Final regrets of the first replications; kept ones are not played again."""
        facts = {
            "package": f"{package} {version(package)}",
            "player": digest(inspect.getsource(setting.player).encode()),
            "setting": setting.options,
            "seed": seed,
            "rounds": self._rounds[seed],
        }
        path = self.folder / f"{digest(json.dumps(facts).encode())}.json"
        regrets = json.loads(path.read_text("utf-8"))["regrets"] if path.exists() else []
        for replication in range(len(regrets), replications):
            player = setting.make(replication)
            regrets.append(play(player, self.environment, seed, replication).regret)
            _write(path, {"of": facts, "regrets": regrets})
        return np.array(regrets[:replications])

    @cached_property
    def _rounds(self) -> dict[int, str]:
        """A short hash of replication 0 of each seed."""
        return {seed: drawn(self.environment, seed) for seed in (TUNING_SEED, SEED)}


class Tuned(NamedTuple):
    """The chosen setting, and a note for the table."""

    setting: Setting
    note: str


def run(
    *, quick: bool, say: Say, environments: Sequence[str] = ENVIRONMENTS, kept: Path = KEPT
) -> list[Row]:
    """Every library in every environment, compared with AdaptiveLinUCB and D-LinUCB."""
    warnings.simplefilter("ignore")  # the libraries warn a lot
    plan = QUICK if quick else FULL
    rows: list[Row] = []
    for name in environments:
        rows += _compare(_course(name, plan, kept), plan, say)
    return rows


def _course(name: str, plan: Plan, kept: Path) -> Course:
    """The environment; if its path is random, D-LinUCB gets the mean budget."""
    given = {**suite()[name], "seed": SEED}
    if plan.horizon is not None:
        given["horizon"] = plan.horizon
    environment, problem, _ = prepare(given)
    draws = range(_BUDGET_DRAWS)
    budget = np.mean([environment.budget(seed=SEED, replication=draw) for draw in draws])
    return Course(name, environment, replace(problem, budget=float(budget)), kept / name)


def _compare(course: Course, plan: Plan, say: Say) -> list[Row]:
    """The rows of an environment."""
    say(f"rivals, {course.name}: {OURS} and {PAPER}, {plan.replications} replications")
    regrets = _ours(course, plan.replications)
    notes, rows = {OURS: "told nothing", PAPER: "the paper's tuning"}, []
    for package, tried in settings(course.environment.actions.count).items():
        say(f"rivals, {course.name}: {package}, {len(tried)} settings")
        try:
            tuned = tune(course, package, tried, plan)
            say(f"rivals, {course.name}: {package}, {plan.replications} replications")
            regrets[package] = course.regrets(package, tuned.setting, SEED, plan.replications)
            notes[package] = tuned.note
        except Exception as error:
            rows.append(unusable(NAME, package, course.name, error))
    return [*rows_of(course.name, regrets, notes), *rows]


def _ours(course: Course, replications: int) -> dict[str, Array]:
    """Final regrets of our policies; they take only seconds, so they are not kept."""
    policies = {
        OURS: AdaptiveLinUCB.tuned(course.problem),
        PAPER: DLinUCB.tuned(course.problem),
    }
    result = simulate(course.environment, policies, replications=replications, seed=SEED, workers=1)
    return {name: result.final(name) for name in policies}


def tune(course: Course, package: str, tried: list[Setting], plan: Plan) -> Tuned:
    """The setting with the least mean regret: try all settings, then the best ones again."""

    def means(some: list[Setting], replications: int) -> dict[str, float]:
        played = {s.words: course.regrets(package, s, TUNING_SEED, replications) for s in some}
        return {words: float(regrets.mean()) for words, regrets in played.items()}

    regrets = means(tried, plan.tried)
    finalists = sorted(tried, key=lambda setting: regrets[setting.words])[: plan.finalists]
    again = means(finalists, plan.retried)
    best = min(finalists, key=lambda setting: again[setting.words])
    ends = f" ({' and '.join(best.ends)} at the end of its grid)" if best.ends else ""
    return Tuned(
        best,
        f"chosen: {best.words}{ends}; best ones on {plan.retried} replications: {_list(again)}; "
        f"all on {plan.tried}: {_list(regrets)}",
    )


def rows_of(name: str, regrets: dict[str, Array], notes: dict[str, str]) -> list[Row]:
    """Mean regrets, and differences to AdaptiveLinUCB in the same replications."""
    rows = []
    for who, values in regrets.items():
        rows.append(_row(f"{who}, {name}", "final regret", values, notes[who]))
        if who != OURS:
            apart = values - regrets[OURS]
            subject = f"{who} − {OURS}, {name}"
            rows.append(_row(subject, "difference of regret", apart, verdict(apart)))
    return rows


def verdict(apart: Array) -> str:
    """Who is ahead; differences are positive if AdaptiveLinUCB has less regret."""
    mean, error = mean_and_error(apart)
    if abs(mean) <= 2 * error:
        return f"{OURS} is level: within 2 standard errors"
    return f"{OURS} is {'ahead' if mean > 0 else 'behind'}"


def _row(subject: str, quantity: str, values: Array, note: str) -> Row:
    mean, error = mean_and_error(values)
    return Row(NAME, subject, quantity, "", mean, mean - error, mean + error, note=note)


def _list(regrets: dict[str, float]) -> str:
    return ", ".join(f"{words}: {regret:.0f}" for words, regret in regrets.items())


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, sync=False) as file:
        file.write(json.dumps(content).encode())
