"""Time as the agent sees it: handed in, never read, never backwards."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """Maps times to rounds of the policy.

    Attributes:
        round_length: None where every decision closes one round.
        now: The latest time handed in; None before the first.
    """

    round_length: float | None
    now: float | None = None

    @property
    def per_decision(self) -> bool:
        """Whether every decision closes a round, and time closes none."""
        return self.round_length is None

    def move(self, now: float) -> float:
        """Move to ``now``, and return the rounds that have passed since the last time.

        A time before the latest one counts as the latest: clocks of machines jump, and what has
        closed stays closed.
        """
        if not math.isfinite(now):
            raise ValueError(f"now must be a finite time, got {now!r}")
        before, self.now = self.now, now if self.now is None else max(self.now, now)
        if self.round_length is None or before is None:
            return 0.0
        return (self.now - before) / self.round_length
