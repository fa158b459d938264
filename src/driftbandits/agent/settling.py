"""When a reward that was assumed is final enough to judge by.

A policy that weighs its memories by how well they predict must not judge by rewards that are only
assumed: while clicks are on their way, all of them are zeros, and short memories predict those
best. Nor may it judge by clicks as they come and by zeros later. So every decision is settled at
the same age, whatever came of it: three times the mean delay of rewards so far, and at its deadline
at the latest. Where rewards come at once, that is at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..policies import Policy
from .open_decisions import OpenDecision

PATIENCE = 3.0  # mean delays; of exponential ones, 95% have come by then
DELAYS = 1000  # rewards over which delays are averaged, since they may change


class Settling:
    """Decisions whose assumed rewards are still to be settled, in the order they were made.

    ``delay`` is the mean delay of the last rewards, ``rewards`` how many there were. Where the
    rewards of the policy are not provisional, there is nothing to settle.
    """

    def __init__(self, *, wait: float, provisional: bool) -> None:
        self.wait, self.provisional = wait, provisional
        self.delay, self.rewards = 0.0, 0
        self._pending: deque[OpenDecision] = deque()

    def add(self, decisions: Iterable[OpenDecision]) -> None:
        """Wait for these."""
        if self.provisional:
            self._pending.extend(decisions)

    def rewarded(self, decision: OpenDecision, now: float) -> None:
        """Note how long the first reward of a decision took."""
        self.rewards = min(DELAYS, self.rewards + 1)
        self.delay += (now - self._made(decision) - self.delay) / self.rewards

    def settle_due(self, policy: Policy, now: float) -> None:
        """Settle the decisions that are old enough; a reward of this moment may still come."""
        age = min(self.wait, PATIENCE * self.delay) if self.rewards else self.wait
        latest, pending = now - age + self.wait, self._pending
        while pending and (pending[0].settled or pending[0].deadline < latest):
            self.settle(policy, pending.popleft())

    def settle(self, policy: Policy, decision: OpenDecision) -> None:
        """Tell the policy that what it learned of a decision stands; once."""
        value = decision.learned
        if self.provisional and value is not None and not decision.settled:
            policy.amend(decision.row, round=decision.round, old=value, new=value)
            decision.settled = True

    def _made(self, decision: OpenDecision) -> float:
        return decision.deadline - self.wait
