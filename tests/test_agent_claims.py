"""The cost of agents: late clicks against instant ones, a new article against a spare coordinate.

Differences are computed per replication, on the same visits, with their standard errors.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, Agent, DLinUCB, Policy
from driftbandits.features import Cyclic, Features, OneHot, PerAction
from oracles import Floats

pytestmark = pytest.mark.thorough

SEEDS = 24  # single runs differ by more than their mean

ARMS = Features(per_action=PerAction(slots=4))
CROSSED = Features(
    context={"country": OneHot(["FR", "DE"], other=False), "hour": Cyclic(24)},
    action={"category": OneHot(["sport", "politics", "arts"], other=False)},
)
OFFERS: dict[str, dict[str, Any]] = {
    "arms": {f"a{k}": {} for k in range(4)},
    "features": {f"a{k}": {"category": ["sport", "politics", "arts"][k]} for k in range(3)},
}


def d_linucb(dim: int) -> Policy:
    return DLinUCB(dim=dim, gamma=1 - 1 / 1500, noise=0.1, theta_bound=0.5)


def adaptive(dim: int) -> Policy:
    return AdaptiveLinUCB(dim=dim)


def clicks_lost(
    make: Callable[[int], Policy], kind: str, rule: Any, delay: float, seed: int
) -> float:
    """Regret in clicks of an agent under ``rule``; tastes change after half of the visits."""
    rng, visits = np.random.default_rng(seed), 5000
    features = ARMS if kind == "arms" else CROSSED
    policy = make(features.dim)
    agent = Agent(features=features, policy=policy, wait=5 * max(delay, 1.0), rule=rule)
    offer, coming, lost = OFFERS[kind], list[tuple[float, str]](), 0.0
    names = list(offer)
    for visit in range(visits):
        if visit % (visits // 2) == 0:
            taste = rng.permuted(np.tile(np.linspace(0.05, 0.3, len(names)), (2, 1)), axis=1)
        country, luck, late = int(rng.integers(2)), rng.random(), rng.exponential(delay)
        now = float(visit)
        while coming and coming[0][0] <= now:
            moment, decision = heapq.heappop(coming)
            agent.reward(decision, 1.0, now=moment)
        context = {} if kind == "arms" else {"country": ["FR", "DE"][country], "hour": visit % 24}
        choice = agent.decide(context, offer, now=now)
        rates = taste[0 if kind == "arms" else country]
        rate = rates[names.index(choice.action)]
        if luck < rate:
            heapq.heappush(coming, (now + late, choice.id))
        lost += rates.max() - rate
    return lost


@pytest.mark.parametrize("make", [d_linucb, adaptive])
@pytest.mark.parametrize("kind", ["arms", "features"])
def test_late_clicks_cost_little_under_the_rule_for_clicks(
    make: Callable[[int], Policy], kind: str
) -> None:
    """Within 5% of instant clicks; early clicks with zeros at the timeout cost far more."""

    def lost(rule: Any, delay: float) -> Floats:
        return np.array([clicks_lost(make, kind, rule, delay, seed) for seed in range(SEEDS)])

    at_once, late = lost("assume", 0.0), lost("assume", 20.0)

    def error(differences: Floats) -> float:
        return float(differences.std(ddof=1) / np.sqrt(len(differences)))

    assert (late - at_once).mean() < 0.05 * at_once.mean() + 2 * error(late - at_once)
    if make is adaptive:  # with features it avoids the trap
        return
    # The trap must cost more than the margin above.
    trapped = lost("wait", 20.0)
    assert (trapped - at_once).mean() > 0.05 * at_once.mean() + 2 * error(trapped - at_once)


def newcomer(seed: int, *, slots: int, remove: bool = False, fresh: bool = False) -> float:
    """Regret in the 3,000 rounds after a better article appears, 10,000 rounds after the start."""
    rng = np.random.default_rng(seed)
    features = Features(per_action=PerAction(slots=slots))

    def new() -> Agent:
        return Agent(features=features, policy=AdaptiveLinUCB(dim=features.dim), wait=1.0)

    agent, lost = new(), 0.0
    means = {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2}
    for round in range(13_000):
        if fresh and round < 10_000:  # another agent comes, whatever this one does
            rng.standard_normal()
            continue
        if round == 10_000:
            if remove:
                agent.remove(["a"])
                del means["a"]
            if fresh:
                agent = new()
            means["new"] = 0.7
        choice = agent.decide({}, list(means), now=float(round))
        noise = 0.1 * rng.standard_normal()
        agent.reward(choice.id, means[choice.action] + noise, now=float(round))
        lost += (max(means.values()) - means[choice.action]) * (round >= 10_000)
    return lost


def test_a_newcomer_costs_no_more_than_with_a_spare_coordinate() -> None:
    spare = np.array([newcomer(seed, slots=5) for seed in range(5)])
    widened = np.array([newcomer(seed, slots=4) for seed in range(5)])
    reused = np.array([newcomer(seed, slots=4, remove=True) for seed in range(5)])
    afresh = np.array([newcomer(seed, slots=5, fresh=True) for seed in range(5)])
    for cost in (widened, reused):
        difference = cost - spare
        assert difference.mean() < 3 * difference.std(ddof=1) / np.sqrt(5) + 0.05 * spare.mean()
    assert spare.mean() < afresh.mean()
