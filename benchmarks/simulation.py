"""Simulation: five policies in the paper's setting, with drawing, and research-style code."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from driftbandits import DLinUCB, Policy, registered
from driftbandits.environments import Environment
from driftbandits.simulation import simulate

from . import problems, research
from .measure import Array, Row, Say, at_least, interleaved, summary

NAME = "simulation"
POLICIES = ("D-LinUCB", "SW-LinUCB", "dLinUCB", "LinUCB", "LinUCB-OR")


def run(*, quick: bool, say: Say) -> list[Row]:
    """Time per policy-round, the ratio to the baseline, and the speed-up by a second thread."""
    replications, repetitions = (10, 3) if quick else (100, 15)
    environment = problems.abrupt()
    known = problems.problem(environment)
    policies = {name: registered()[name].tuned(known) for name in POLICIES}
    say("simulation: research-style baseline, on fewer rounds")
    baselines = _baselines(environment, policies, rounds=200 if quick else 600)
    works = {
        f"{workers} workers": _simulation(environment, policies, replications, workers)
        for workers in (1, 2)
    }
    works |= {f"{threads} cores": _arithmetic(threads) for threads in (1, 2)}
    works["research"] = lambda: [play() for play in baselines.values()]
    say(f"simulation: N = {replications}, {repetitions} repetitions, 1 and 2 threads")
    times = interleaved(works, repetitions=repetitions)
    played = len(policies) * replications * environment.horizon
    ours = times["1 workers"].cpu / played
    one, two = times["1 workers"].wall / played, times["2 workers"].wall / played
    ceiling = 2.0 * times["1 cores"].wall / times["2 cores"].wall
    theirs = times["research"].cpu / sum(_rounds(play) for play in baselines.values())
    each = _each_policy(environment, policies, baselines, min(replications, 20))
    return [
        summary(NAME, "driftbandits, 1 thread", "time a policy-round", ours * 1e6, unit="µs"),
        summary(NAME, "driftbandits, 1 thread", "wall time", one * 1e6, unit="µs"),
        summary(NAME, "driftbandits, 2 threads", "wall time", two * 1e6, unit="µs"),
        summary(
            NAME,
            "research style, 1 thread",
            "time a policy-round",
            theirs * 1e6,
            unit="µs",
            note="measured on fewer rounds, per policy-round",
        ),
        summary(NAME, "research style / driftbandits", "ratio", theirs / ours, aim=at_least(1500)),
        _second_thread(one / two, ceiling),
        summary(NAME, "second thread, arithmetic alone", "speed-up", ceiling),
        *each,
    ]


def _second_thread(gained: Array, ceiling: Array) -> Row:
    """The speed-up by a second thread, in repetitions where pure arithmetic got two cores."""
    free = ceiling >= 1.9
    judged = int(free.sum()) >= 3
    return summary(
        NAME,
        "second thread",
        "speed-up",
        gained[free] if judged else gained,
        aim=at_least(1.7),
        note=f"arithmetic alone got 1.9 in {free.sum()} of {free.size} repetitions, "
        + ("which count" if judged else "too few to tell"),
        judged=judged,
    )


class _Baseline:
    """A research-style policy that starts from scratch in each repetition."""

    def __init__(
        self, make: Callable[[], research.ResearchPolicy], thetas: Array, restarts: frozenset[int]
    ):
        self.make, self.thetas, self.restarts = make, thetas, restarts

    def __call__(self) -> float:
        rng = np.random.default_rng(0)
        regret = research.play(self.make(), self.thetas, count=50, restarts=self.restarts, rng=rng)
        return float(regret.sum())


def _rounds(play: _Baseline) -> int:
    return len(play.thetas)


def _baselines(
    environment: Environment, policies: dict[str, Policy], rounds: int
) -> dict[str, _Baseline]:
    """Baselines in rounds around the first change, so that all policies have work to do."""
    draw = environment.path.start(np.random.default_rng(0))
    thetas = draw(problems.CHANGES[0] - 1 + rounds // 2)[-rounds:]
    discounted, windowed = policies["D-LinUCB"], policies["SW-LinUCB"]
    assert isinstance(discounted, DLinUCB)
    window = int(windowed.config["window"])
    makes: dict[str, Callable[[], research.ResearchPolicy]] = {
        "D-LinUCB": lambda: research.DLinUCB(gamma=discounted.gamma, dim=2),
        "SW-LinUCB": lambda: research.SWLinUCB(window=window, dim=2),
        "dLinUCB": lambda: research.DynamicLinUCB(dim=2),
        "LinUCB": lambda: research.LinUCB(dim=2),
        "LinUCB-OR": lambda: research.LinUCB(dim=2),
    }
    middle = frozenset({rounds // 2})
    return {
        name: _Baseline(make, thetas, middle if name == "LinUCB-OR" else frozenset())
        for name, make in makes.items()
    }


def _simulation(
    environment: Environment, policies: dict[str, Policy], replications: int, workers: int
) -> Callable[[], object]:
    return lambda: simulate(environment, policies, replications=replications, workers=workers)


@numba.njit(nogil=True)
def _square_roots(count: int) -> float:
    total = 0.0
    for i in range(count):
        total += np.sqrt(i)
    return total


def _arithmetic(threads: int) -> Callable[[], object]:
    """The same work in every thread; the threads share nothing."""
    _square_roots(1)

    def work() -> list[float]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(_square_roots, [50_000_000] * threads))

    return work


def _each_policy(
    environment: Environment,
    policies: dict[str, Policy],
    baselines: dict[str, _Baseline],
    replications: int,
) -> list[Row]:
    """The ratio of each policy alone, so each includes the whole time of drawing."""
    rows = []
    for name, policy in policies.items():
        works = {"ours": _simulation(environment, {name: policy}, replications, 1)}
        times = interleaved({**works, "theirs": baselines[name]}, repetitions=3)
        ours = times["ours"].cpu / (replications * environment.horizon)
        ratio = times["theirs"].cpu / _rounds(baselines[name]) / ours
        rows.append(summary(NAME, f"{name} alone", "ratio", ratio, note="drawing not shared"))
    return rows
