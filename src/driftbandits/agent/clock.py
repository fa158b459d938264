"""The agent's time: the caller passes it in, and it never goes backwards."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """Maps times to rounds of the policy.

    Attributes:
        round_length: Time per round; None if every decision closes one round.
        now: The latest time so far; None before the first.
    """

    round_length: float | None
    now: float | None = None

    @property
    def per_decision(self) -> bool:
        """Whether every decision closes a round, and time closes none."""
        return self.round_length is None

    def move(self, now: float) -> float:
        """Move to ``now``, and return the rounds that have passed since the last time.

        An earlier time counts as the latest one: clocks of machines jump back, but closed
        decisions stay closed.
        """
        latest = _time(now)
        before, self.now = self.now, latest if self.now is None else max(self.now, latest)
        if self.round_length is None or before is None:
            return 0.0
        return (self.now - before) / self.round_length


def _time(now: float) -> float:
    """A time as a plain number."""
    try:
        if math.isfinite(now):
            return float(now)
    except TypeError:
        pass
    raise ValueError(
        f"now must be a finite number (of a datetime, its timestamp()), got {now!r}"
    ) from None
