"""Decisions whose rewards are still to come, in the order in which they close."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..core.arrays import Array

Status = Literal["learned", "held", "duplicate", "too_late", "not_activated", "unknown"]


@dataclass(slots=True)
class OpenDecision:
    """One decision that waits for its reward.

    Attributes:
        id: Its name.
        action: Name of the action that was shown.
        row: The action's vector, shape (d,).
        round: The policy's round that the reward belongs to.
        deadline: Time at which it closes.
        activated: False while a deferred decision has not been shown.
        reward: The rewards so far, combined; None before the first.
        learned: Reward that the policy has learned for it so far; None before the first.
        settled: Whether the policy knows that ``learned`` is final enough to judge by.
    """

    id: str
    action: str
    row: Array
    round: float
    deadline: float
    activated: bool = True
    reward: float | None = None
    learned: float | None = None
    settled: bool = False


class OpenDecisions:
    """Open decisions in the order of their deadlines, and the names of closed ones.

    Waiting times are all the same and time never goes backwards, so a new decision is always the
    last to close. At most ``most`` decisions are open, and at most ``remember`` closed names are
    known.
    """

    def __init__(self, *, most: int, remember: int) -> None:
        self.most, self.remember = most, remember
        self._open: OrderedDict[str, OpenDecision] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenDecision]:
        return iter(self._open.values())

    @property
    def closed(self) -> list[str]:
        """Names of closed decisions, the oldest first."""
        return list(self._closed)

    def knows(self, id: str) -> bool:
        """Whether a decision with this name is open, or closed and remembered."""
        return id in self._open or id in self._closed

    def fresh(self, ids: Iterable[str | None], *, decided: int) -> list[str]:
        """Names for new decisions, made up from the number of decisions where none is given."""
        names = list[str]()
        for place, id in enumerate(ids):
            name = f"d{decided + place + 1}" if id is None else id
            if type(name) is not str or name == "":
                raise ValueError(f"id must be a text, got {name!r}")
            if name in names or self.knows(name):
                raise ValueError(f"id must be new, got {name!r} again")
            names.append(name)
        return names

    def get(self, id: str) -> OpenDecision | None:
        """The open decision with this name; None if there is none."""
        return self._open.get(id)

    def add(self, decision: OpenDecision) -> None:
        """Open a decision. Its deadline must not be earlier than any other deadline."""
        self._open[decision.id] = decision

    def renew(self, decision: OpenDecision, deadline: float) -> None:
        """Give an open decision a later deadline, behind all others."""
        decision.deadline = deadline
        self._open.move_to_end(decision.id)

    def due(self, now: float) -> Iterator[OpenDecision]:
        """Close decisions whose deadline has come, and the oldest ones if too many are open."""
        while self.is_due(now):
            first = next(iter(self._open.values()))
            self.close(first.id)
            yield first

    def is_due(self, now: float) -> bool:
        """Whether there is a decision to close."""
        if not self._open:
            return False
        return len(self._open) > self.most or next(iter(self._open.values())).deadline <= now

    def close(self, id: str) -> None:
        """Close a decision and remember its name."""
        del self._open[id]
        self.remember_closed([id])

    def remember_closed(self, ids: Iterable[str]) -> None:
        """Remember names of closed decisions, at most ``remember`` of them."""
        for id in ids:
            self._closed[id] = None
        while len(self._closed) > self.remember:
            self._closed.popitem(last=False)
