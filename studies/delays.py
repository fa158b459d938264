"""Regret where rewards come late: every one by the same number of rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from benchmarks.measure import Row, Say, mean_and_error

from driftbandits import Policy, registered
from driftbandits.core.arrays import Array
from driftbandits.experiments import suite
from driftbandits.experiments.settings import prepare
from driftbandits.simulation import simulate

NAME = "delays"
ENVIRONMENTS = ("fixed-actions", "abrupt")
POLICIES = ("AdaptiveLinUCB", "D-LinUCB")
DELAYS = (0, 10, 50)
SEED = 0


class Late:
    """A policy that hears of each reward ``delay`` rounds after it would have."""

    def __init__(self, policy: Policy, delay: int):
        self.policy, self.delay = policy, delay
        self.waiting: deque[tuple[float, Array, float]] = deque()

    def select(self, actions: Array) -> int:
        """Choose by the rewards that have come."""
        return self.policy.select(actions)

    def update(self, action: Array, reward: float) -> None:
        """Close the round, and learn what is due by now."""
        self.waiting.append((self.policy.round, action, reward))
        self.policy.advance()
        while self.waiting and self.waiting[0][0] + self.delay < self.policy.round:
            decided, played, gained = self.waiting.popleft()
            self.policy.update(played, gained, round=decided)


def run(*, quick: bool, say: Say) -> list[Row]:
    """Final regrets for each delay, where actions stay and where they are fresh."""
    replications = 2 if quick else 100
    rows = []
    for name in ENVIRONMENTS:
        environment, problem, _ = prepare({**suite()[name], "seed": SEED})
        say(f"delays: {name}, {replications} replications")
        contestants = {
            f"{label}, {name}, {delay} rounds late": _late(
                registered()[label].tuned(problem), delay
            )
            for label in POLICIES
            for delay in DELAYS
        }
        result = simulate(environment, contestants, replications=replications, seed=SEED)
        for subject in contestants:
            mean, error = mean_and_error(result.final(subject))
            rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))
    return rows


def _late(policy: Policy, delay: int) -> Callable[[int], Late]:
    return lambda replication: Late(policy.fresh(replication), delay)
