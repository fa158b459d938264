"""A slow and simple reference of the service, with dictionaries and lists.

It has one policy and uses nothing of the package. It does not choose: it is told which action was
shown. It says what every answer must be and what must have been learned.
"""

from __future__ import annotations

import copy
from typing import Any


class Refused(Exception):  # noqa: N818 - an answer of the service, not a fault
    """Carries the name of the error that the service must raise."""


class Reference:
    def __init__(self, *, wait: float, default: float | None, rule: str, rewards: str) -> None:
        self.wait, self.default, self.rule, self.rewards = wait, default, rule, rewards
        self.remember = 4
        self.time = 0.0
        self.events: dict[str, dict[str, Any]] = {}
        self.closed: list[str] = []
        self.learned: dict[int, tuple[str, float]] = {}  # by decision: action and value
        self.made = 0

    def copy(self) -> Reference:
        return copy.deepcopy(self)

    def move(self, clock: float) -> None:
        """Move the clock, never back, and close overdue decisions in order of their deadlines."""
        self.time = max(self.time, clock)
        waiting = [name for name, event in self.events.items() if event["open"]]
        for name in sorted(waiting, key=lambda n: self.events[n]["place"]):
            if self.events[name]["deadline"] <= self.time:
                self.close(name)

    def close(self, name: str) -> None:
        event = self.events[name]
        event["open"] = False
        if event["active"] and event["number"] not in self.learned:
            self.learn(name, self.default if event["reward"] is None else event["reward"])
        self.closed.append(name)
        if len(self.closed) > self.remember:
            del self.events[self.closed.pop(0)]

    def learn(self, name: str, value: float | None) -> None:
        if value is not None:
            event = self.events[name]
            self.learned[event["number"]] = (event["action"], value)

    def repeats(self, name: str, body: Any) -> bool:
        """Whether the decision exists; refused if its request was different."""
        if name not in self.events:
            return False
        if self.events[name]["body"] != body:
            raise Refused("conflicting_event")
        return True

    def decided(self, name: str, body: Any, action: str, clock: float, *, defer: bool) -> None:
        self.move(clock)
        self.made += 1
        self.events[name] = {
            "number": self.made,  # a forgotten id may be used again
            "body": body,
            "action": action,
            "open": True,
            "active": not defer,
            "reward": None,
            "deadline": self.time + self.wait,
            "place": self.next_place(),
        }
        if self.rule == "assume" and not defer:
            self.learn(name, self.default)

    def next_place(self) -> int:
        return 1 + max((event["place"] for event in self.events.values()), default=0)

    def reward(self, name: str, value: float, clock: float) -> str:
        if name not in self.events:
            raise Refused("unknown_event")
        event = self.events[name]
        known = event["reward"]
        if self.rewards == "first" and known not in (None, value):
            raise Refused("conflicting_reward")
        self.move(clock)
        if not event["open"]:
            same = self.rewards != "sum" and known == value
            return "duplicate" if same else "too_late"
        if not event["active"]:
            return "not_activated"
        if self.rewards != "sum" and known == value:
            return "duplicate"
        event["reward"] = value if self.rewards != "sum" or known is None else known + value
        if self.rule == "hold":
            return "held"
        self.learn(name, event["reward"])
        return "learned"

    def activate(self, name: str, clock: float) -> str:
        if name not in self.events:
            raise Refused("unknown_event")
        event = self.events[name]
        self.move(clock)
        if not event["open"]:
            return "too_late"
        if event["active"]:
            return "already_active"
        event |= {"active": True, "deadline": self.time + self.wait, "place": self.next_place()}
        if self.rule == "assume":
            self.learn(name, self.default)
        return "activated"

    def expire(self, clock: float) -> int:
        before = self.copy()
        self.move(clock)
        gone = [name for name, event in before.events.items() if event["open"]]
        still = [name for name in gone if name in self.events and self.events[name]["open"]]
        if len(gone) == len(still):  # nothing is recorded, so time has not moved either
            self.time = before.time
        return len(gone) - len(still)
