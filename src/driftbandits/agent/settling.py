"""When an assumed reward is final enough to judge by.

Some policies weigh several memories by how well they predict. They must not judge by rewards that
are only assumed: until clicks arrive, all rewards are zeros, and short memories predict zeros best.
They must not judge by clicks as soon as they come and by zeros later, either. So every decision is
settled at the same age, with or without a reward. This age is three times the mean delay of the
rewards so far, and at most the waiting time. If rewards come at once, the age is zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..policies import Policy
from .open_decisions import OpenDecision

PATIENCE = 3.0  # mean delays; 95% of exponential delays are shorter
DELAYS = 1000  # rewards in the running mean of delays, because delays may change


class Settling:
    """Decisions whose assumed rewards are not settled yet, in the order they were made.

    ``delay`` is the running mean delay of rewards; ``rewards`` is their number, up to `DELAYS`.
    There is nothing to settle unless the policy's rewards are provisional.
    """

    def __init__(self, *, wait: float, provisional: bool) -> None:
        self.wait, self.provisional = wait, provisional
        self.delay, self.rewards = 0.0, 0
        self._pending: deque[OpenDecision] = deque()

    def add(self, decisions: Iterable[OpenDecision]) -> None:
        """Add decisions that are to be settled later."""
        if self.provisional:
            self._pending.extend(decisions)

    def rewarded(self, decision: OpenDecision, now: float) -> None:
        """Note how long the first reward of a decision took."""
        self.rewards = min(DELAYS, self.rewards + 1)
        self.delay += (now - self._made(decision) - self.delay) / self.rewards

    def settle_due(self, policy: Policy, now: float) -> None:
        """Settle decisions older than the age; at exactly that age a reward may still come."""
        age = min(self.wait, PATIENCE * self.delay) if self.rewards else self.wait
        latest, pending = now - age + self.wait, self._pending
        while pending and (pending[0].settled or pending[0].deadline < latest):
            self.settle(policy, pending.popleft())

    def settle(self, policy: Policy, decision: OpenDecision) -> None:
        """Tell the policy, once per decision, that the reward it learned is final."""
        value = decision.learned
        if self.provisional and value is not None and not decision.settled:
            policy.amend(decision.row, round=decision.round, old=value, new=value)
            decision.settled = True

    def _made(self, decision: OpenDecision) -> float:
        return decision.deadline - self.wait
