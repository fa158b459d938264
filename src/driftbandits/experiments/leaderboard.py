"""The leaderboard: every policy in a suite of different environments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.storage import atomic_write
from ..environments import Environment
from ..policies import Policy, Problem, Random, registered
from ..simulation import Recording, Result, simulate
from ..simulation.description import describe
from ..simulation.fingerprint import versions
from ..simulation.statistics import standard_error
from .contestants import Competitor, enter, fixed_discounts, reference
from .parsing import labels_of
from .recovery import checkpoints, recovery
from .settings import Settings, prepare
from .standings import INTERVALS, SHARES
from .standings_text import markdown
from .suites import group_of, suite
from .timing import time_per_round
from .yardsticks import Relative, Yardsticks, relative, yardsticks

_BUDGET_DRAWS = 20

# Called with what is being played, and the numbers of its finished and of all its replications.
Progress = Callable[[str, int, int], None]


def run_leaderboard(
    out: Path,
    *,
    replications: int = 100,
    workers: int | None = None,
    seed: int = 0,
    environments: Mapping[str, Settings] | None = None,
    policies: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Play every policy in every environment, or continue, and write the tables to ``out``.

    Each policy gets its documented tuning for the true facts of the environment. If a path is
    random, the budget is its mean. D-LinUCB also plays, with a grid of memories and with smaller
    radii. Regrets are divided by two yardsticks: the best memory in hindsight at the theorem's
    radius, and the best memory and radius ("tuned twice"). All meet the same actions, noise and
    delays. Results from an earlier run of the same code are not played again.

    Args:
        out: Folder for results and the tables leaderboard.csv and leaderboard.md.
        replications: Number of independent repetitions.
        workers: Number of threads; does not affect results.
        seed: Seed of all random numbers.
        environments: Settings by name; by default the `suite`.
        policies: Labels or class names of registered policies; by default all of them.
        progress: Called with what is played, and the numbers of finished and of all replications.

    Returns:
        The table that `standings` reads, with one row per environment and contestant.
    """
    chosen = _chosen(policies)
    rows: list[dict[str, Any]] = []
    for name, settings in (suite() if environments is None else environments).items():
        course = _course(name, {**settings, "seed": seed}, out, replications, workers, progress)
        rows.extend(course.rows(chosen))
    scores = pd.DataFrame(rows)
    plain = scores.drop(columns=[name for name in SHARES.values() if name in scores])
    _write(out / "leaderboard.csv", plain.to_csv(index=False))
    _write(out / "leaderboard.md", markdown(scores))
    return scores


@dataclass(frozen=True, kw_only=True)
class _Course:
    """An environment of the leaderboard, and how to play in it."""

    name: str
    title: str
    environment: Environment
    problem: Problem
    folder: Path
    play: Callable[..., Result]
    progress: Progress | None

    def rows(self, policies: Mapping[str, type[Policy]]) -> Iterator[dict[str, Any]]:
        """The rows of all contestants in this environment."""
        measure = self._result("reference", reference(self.problem))
        best = yardsticks(measure, self.problem)
        for label in fixed_discounts(self.problem):
            facts = {"told": "in hindsight", "fixed": True, "yardstick": label == best.fixed}
            yield self._row(label) | facts | self._score(measure, label, measure, best)
        for label, policy in policies.items():
            contestant = enter(label, policy, self.environment, self.problem)
            facts = {"told": ", ".join(contestant.told), "fixed": False, "yardstick": False}
            yield self._row(label) | facts | self._played(contestant, measure, best)

    def _row(self, label: str) -> dict[str, Any]:
        facts = {"group": group_of(self.name), "environment": self.name, "title": self.title}
        return {**facts, "policy": label}

    def _played(self, contestant: Competitor, measure: Result, best: Yardsticks) -> dict[str, Any]:
        label, policy = contestant.label, contestant.policy
        if policy is None:
            return {"left_out": contestant.reason}
        result = self._result(label, {label: policy})
        return self._score(result, label, measure, best) | self._time(label, policy)

    def _result(self, label: str, policies: Mapping[str, Policy]) -> Result:
        report = None if self.progress is None else partial(self.progress, f"{self.name}: {label}")
        return self.play(
            self.environment, policies, folder=self.folder / _slug(label), progress=report
        )

    def _score(
        self, result: Result, label: str, measure: Result, best: Yardsticks
    ) -> dict[str, Any]:
        final, twice = result.final(label), measure.final(best.twice)
        back = recovery(
            result.regret_rounds,
            _mean_curve(result, label),
            _mean_curve(measure, Random.label),
            self.environment.change_points,
        )
        return {
            "replications": len(final),
            "regret": float(final.mean()),
            "se": standard_error(final),
            **_columns("ratio", relative(final, measure.final(best.fixed))),
            **_columns("twice", relative(final, twice)),
            "tuned_twice": best.twice,
            "tuned_twice_regret": float(twice.mean()),
            **({} if back is None else back._asdict()),
        }

    def _time(self, label: str, policy: Policy) -> dict[str, float]:
        """Time per round; measured only once for the same code and settings."""
        path = self.folder / _slug(label) / "time.json"
        facts = json.loads(json.dumps({"policy": describe(policy), "code": versions()["code"]}))
        if path.exists():
            # If the file is damaged, measure again.
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                saved = json.loads(path.read_bytes())
                if saved["of"] == facts:
                    return {key: float(value) for key, value in saved["time"].items()}
        against = registered()["D-LinUCB"].tuned(self.problem)
        measured = time_per_round(policy, against, self.environment)
        _write(path, json.dumps({"of": facts, "time": measured}))
        return measured


def _course(
    name: str,
    settings: Settings,
    out: Path,
    replications: int,
    workers: int | None,
    progress: Progress | None,
) -> _Course:
    environment, problem, facts = prepare(settings, cache=out / "data")
    seed, title = settings["seed"], str(settings.get("title", name))
    draws = range(_BUDGET_DRAWS)
    budget = np.mean([environment.budget(seed=seed, replication=draw) for draw in draws])
    play = partial(
        simulate,
        replications=replications,
        seed=seed,
        workers=workers,
        record=Recording(regret=checkpoints(environment)),
        about={"name": name, "title": title, **facts},
    )
    return _Course(
        name=name,
        title=f"{title} (stand-in data)" if facts.get("standin") else title,
        environment=environment,
        problem=replace(problem, budget=float(budget)),
        folder=out / name,
        play=play,
        progress=progress,
    )


def _columns(yardstick: str, relation: Relative) -> dict[str, Any]:
    """The columns of a ratio, as named by `INTERVALS` and `SHARES`."""
    low, high = INTERVALS[yardstick]
    ratio, shares = relation.ratio, relation.shares
    return {yardstick: ratio, low: relation.low, high: relation.high, SHARES[yardstick]: shares}


def _mean_curve(result: Result, label: str) -> Array:
    return np.asarray(result.regret[result.policies.index(label)].mean(axis=0))


def _chosen(labels: Iterable[str] | None) -> dict[str, type[Policy]]:
    offered = registered()
    wanted = list(offered) if labels is None else labels
    return {label: offered[label] for name in wanted for label in labels_of(name, offered)}


def _slug(label: str) -> str:
    return re.sub(r"[^\w.-]+", "-", label)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())
