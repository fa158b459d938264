"""Regret where rewards come late, by the same number of rounds or at random, or never."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np
from benchmarks.measure import Row, Say, mean_and_error

from driftbandits import Policy, registered
from driftbandits.core.arrays import Array
from driftbandits.core.randomness import stream
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.simulation import simulate

NAME = "delays"
ENVIRONMENTS = ("fixed-actions", "abrupt")
POLICIES = ("AdaptiveLinUCB", "D-LinUCB")
MEAN, MISSING = 20, 0.3  # rounds of random delays; share of rewards that never come
SEED = 0

Delay = Callable[[np.random.Generator], float]


def always(rounds: int) -> Delay:
    """The same delay for all rewards."""
    return lambda generator: float(rounds)


DELAYS: dict[str, Delay] = {
    **{f"{rounds} rounds late": always(rounds) for rounds in (0, 10, 50)},
    f"{MEAN} rounds late on average": lambda g: float(g.geometric(1 / MEAN)),
    f"{MISSING:.0%} of the rewards missing": lambda g: math.inf if g.random() < MISSING else 0.0,
}


class Late:
    """A policy that hears of each reward as many rounds after it would have as ``delay`` draws."""

    def __init__(self, policy: Policy, delay: Delay, generator: np.random.Generator):
        self.policy, self.delay, self.generator = policy, delay, generator
        self.waiting: list[tuple[float, float, list[float], float]] = []

    def select(self, actions: Array) -> int:
        """Choose by the rewards that have come."""
        return self.policy.select(actions)

    def update(self, action: Array, reward: float) -> None:
        """Close the round, and learn what is due by now."""
        decided, delay = self.policy.round, self.delay(self.generator)
        if delay < math.inf:
            heapq.heappush(self.waiting, (decided + delay, decided, list(action), reward))
        self.policy.advance()
        while self.waiting and self.waiting[0][0] < self.policy.round:
            _, decided, played, gained = heapq.heappop(self.waiting)
            self.policy.update(played, gained, round=decided)


def run(*, quick: bool, say: Say) -> list[Row]:
    """Final regrets for each delay, where actions stay and where they are fresh."""
    replications = 2 if quick else 100
    rows = []
    for name in ENVIRONMENTS:
        environment, problem, _ = prepare({**suite()[name], "seed": SEED})
        say(f"delays: {name}, {replications} replications")
        contestants = {
            f"{label}, {name}, {title}": _late(registered()[label].tuned(problem), delay)
            for label in POLICIES
            for title, delay in DELAYS.items()
        }
        result = simulate(environment, contestants, replications=replications, seed=SEED)
        for subject in contestants:
            mean, error = mean_and_error(result.final(subject))
            rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))
    return rows


def _late(policy: Policy, delay: Delay) -> Callable[[int], Late]:
    def start(replication: int) -> Late:
        return Late(policy.fresh(replication), delay, stream(SEED, "delays", replication))

    return start
