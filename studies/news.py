"""The news problem of `examples.news`: an agent, vectors made by hand, and other libraries.

All players of a seed meet the same visits. The agent and the policy with vectors made by hand know
nothing of the world, and learn of a click when it comes, under the rule "assume". All others learn
of every click at once, which is impossible in practice, so they need no rule for late clicks. Each
of the others is played at several settings; the best one counts, chosen on the same seeds.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.measure import Array, Row, Say, at_most, mean_and_error
from benchmarks.players import BayesianBandits, VowpalWabbit
from examples.news import CATEGORIES, COUNTRIES, DEVICES, Visit, new_agent, visits
from examples.news import run as run_agent

from driftbandits import AdaptiveLinUCB

NAME = "news"
SEEDS, VISITS, CHANGE_EVERY = 20, 4_000, 2_000

Play = Callable[[list[Visit], int], float]


def by_hand(visit: Visit) -> Array:
    """Hand-written NumPy features for this site: visitor ⊗ article, shape (8, 48)."""
    phase = 2 * np.pi * visit.context["hour"] / 24
    visitor = [
        1.0,
        *(float(visit.context["country"] == country) for country in COUNTRIES),
        *(float(visit.context["device"] == device) for device in DEVICES),
        np.sin(phase),
        np.cos(phase),
    ]
    rows = [
        [1.0, *(float(a["category"] == c) for c in CATEGORIES), (a["length"] - 800) / 600]
        for a in visit.articles.values()
    ]
    # The squared norm of a visitor is 4; the squared norm of an article is at most 3.
    return np.asarray(np.einsum("i,kj->kij", visitor, rows).reshape(len(rows), -1) / np.sqrt(12))


def lost(visit: Visit, article: str) -> float:
    """Expected clicks lost."""
    return max(visit.rates.values()) - visit.rates[article]


def agent(stream: list[Visit], seed: int) -> float:
    """The agent of the example."""
    return float(run_agent(new_agent(), iter(stream)).sum())


def policy_by_hand(stream: list[Visit], seed: int) -> float:
    """The same policy and rule, with vectors and open decisions managed by hand."""
    policy, total = AdaptiveLinUCB(dim=48), 0.0
    coming: list[tuple[float, int, Array]] = []
    for visit in stream:
        while coming and coming[0][0] <= visit.now:
            _, round, vector = heapq.heappop(coming)
            policy.amend(vector, round=round, old=0.0, new=1.0)
        rows = by_hand(visit)
        decision = policy.decide(rows)
        article, vector = list(visit.articles)[decision.index], rows[decision.index].copy()
        policy.update(vector, 0.0, round=decision.round)
        if visit.clicks(article):
            heapq.heappush(coming, (visit.now + visit.delay, int(decision.round), vector))
        total += lost(visit, article)
    return total


def library(make: Callable[..., Any], **options: Any) -> Play:
    """Another library, on the vectors made by hand, with every click known at once."""

    def play(stream: list[Visit], seed: int) -> float:
        player, total = make(seed=seed, **options), 0.0
        for visit in stream:
            rows = by_hand(visit)
            chosen = player.select(rows)
            article = list(visit.articles)[chosen]
            player.update(rows[chosen], float(visit.clicks(article)))
            total += lost(visit, article)
        return total

    return play


def moving_average(memory: float, epsilon: float) -> Play:
    """The article with the highest recent click rate, and sometimes a random one."""

    def play(stream: list[Visit], seed: int) -> float:
        rng, total = np.random.default_rng(seed), 0.0
        rates: dict[str, float] = {}
        for visit in stream:
            names = list(visit.articles)
            best = max(names, key=lambda name: rates.get(name, 0.2))
            article = str(rng.choice(names)) if rng.random() < epsilon else best
            known = rates.get(article, 0.2)
            rates[article] = known + (float(visit.clicks(article)) - known) / memory
            total += lost(visit, article)
        return total

    return play


def others() -> Iterator[tuple[str, str, Play]]:
    """Library, setting, and the function that plays it."""
    for exploring in ("--squarecb --gamma_scale 300", "--epsilon 0.05"):
        for rate in (0.5, 2.0):
            options = f"{exploring} --power_t 0 -l {rate}"
            yield "Vowpal Wabbit", options, library(VowpalWabbit, arguments=options)
    for forgetting in (0.9995, 0.998):
        given: dict[str, Any] = {"rule": "StabilizedForgetting", "rate": forgetting}
        play = library(BayesianBandits, policy="Thompson", count=8, noise=0.3, **given)
        yield "bayesianbandits", f"forgetting {forgetting}", play
    for memory in (30.0, 100.0):
        yield "moving average", f"memory {memory:g}", moving_average(memory, 0.05)


def run(*, quick: bool, say: Say) -> list[Row]:
    """Clicks lost by all, and ratios to the agent."""
    seeds, count = (2, 400) if quick else (SEEDS, VISITS)
    streams = [list(visits(count, seed=n, change_every=CHANGE_EVERY)) for n in range(seeds)]

    def played(name: str, play: Play) -> Array:
        regrets = np.array([play(stream, n) for n, stream in enumerate(streams)])
        mean, error = mean_and_error(regrets)
        say(f"{NAME}: {name}: {mean:.0f} ± {error:.0f} ({seeds} seeds)")
        return regrets

    lost_by = {"agent": played("agent", agent), "by hand": played("by hand", policy_by_hand)}
    for name, setting, play in others():
        regrets = played(f"{name}, {setting}", play)
        if name not in lost_by or regrets.mean() < lost_by[name].mean():
            lost_by[name] = regrets
    return [row for name, regrets in lost_by.items() for row in _rows(name, regrets, lost_by)]


def _rows(name: str, regrets: Array, lost_by: dict[str, Array]) -> Iterator[Row]:
    mean, error = mean_and_error(regrets)
    yield Row(NAME, name, "clicks lost", "", mean, mean - error, mean + error)
    if name != "agent":
        ratio = float(lost_by["agent"].mean() / mean)
        aim = at_most(1.1 if name == "by hand" else 1.0)
        yield Row(NAME, f"agent / {name}", "ratio", "", ratio, aim=aim)
