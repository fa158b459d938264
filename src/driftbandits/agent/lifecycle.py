"""What happens to a decision after it was made: it is learned, rewarded, settled and closed."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ..policies import Policy
from .clock import Clock
from .open_decisions import OpenDecision, OpenDecisions, Status
from .options import Options
from .settling import Settling


class Lifecycle:
    """Decisions from opening to closing, and the time.

    Attributes:
        clock: The latest time, in the caller's unit, and the length of a round.
        open: Decisions that wait for their rewards.
        settling: When assumed rewards are final enough to judge by.
        just_closed: The decisions that the last `move` or `drop` closed, in order.
    """

    def __init__(self, options: Options, *, provisional: bool) -> None:
        self.clock = Clock(options.round_length)
        self.open = OpenDecisions(most=options.most_open, remember=options.remember)
        self.settling = Settling(wait=options.wait, provisional=provisional)
        self.just_closed: tuple[OpenDecision, ...] = ()
        self._learning, self._wait = options.learning, options.wait

    @property
    def now(self) -> float:
        """The latest time; 0 before the first."""
        return 0.0 if self.clock.now is None else self.clock.now

    @property
    def deadline(self) -> float:
        """When a decision that is made now closes."""
        return self.now + self._wait

    def move(self, policy: Policy, now: float) -> int:
        """Go to ``now``: let the policy forget, close what is due, and return how many closed."""
        rounds = self.clock.move(now)
        if rounds > 0:
            policy.advance(rounds=rounds)
        time = self.now
        self.settling.settle_due(policy, time)
        self.just_closed = tuple(self.open.due(time)) if self.open.is_due(time) else ()
        for decision in self.just_closed:
            self._learning.closed(policy, decision)
            self.settling.settle(policy, decision)
        return len(self.just_closed)

    def begin(self, policy: Policy, decision: OpenDecision) -> None:
        """Open a new decision."""
        self.open.add(decision)
        self._learn_opened(policy, decision)

    def activate(self, policy: Policy, id: str) -> bool:
        """Activate a deferred decision; False if it is not open, or already activated."""
        decision = self.open.get(id)
        if decision is None or decision.activated:
            return False
        decision.activated = True
        self.open.renew(decision, self.deadline)
        self._learn_opened(policy, decision)
        return True

    def reward(self, policy: Policy, id: str, value: float) -> Status:
        """Give a decision its reward, and return what happened to the reward."""
        decision = self.open.get(id)
        if decision is None:
            return "too_late" if self.open.knows(id) else "unknown"
        if decision.activated and decision.reward is None:
            self.settling.rewarded(decision, self.now)
        return self._learning.rewarded(policy, decision, value)

    def drop(self, actions: Container[str]) -> None:
        """Close the open decisions for these actions; the policy learns nothing from them."""
        self.just_closed = tuple(entry for entry in self.open if entry.action in actions)
        for decision in self.just_closed:
            self.open.close(decision.id)

    def widen(self, dim: int) -> None:
        """Add zeros to the rows of open decisions, up to ``dim`` coordinates."""
        for decision in self.open:
            decision.row = np.pad(decision.row, (0, dim - decision.row.size))

    def _learn_opened(self, policy: Policy, decision: OpenDecision) -> None:
        """Learn from a decision that was just made or activated."""
        self._learning.opened(policy, decision)
        if decision.activated:
            self.settling.add([decision])
