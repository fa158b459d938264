"""What an agent must have learned, computed from the whole history."""

from __future__ import annotations

from typing import Any

import numpy as np


class Reference:
    """Keeps the whole history, and computes from it what must be learned now."""

    def __init__(self, *, rule: str, rewards: str, default: float | None, wait: float) -> None:
        self.rule, self.rewards, self.default, self.wait = rule, rewards, default, wait
        self.decisions: dict[str, dict[str, Any]] = {}
        self.now, self.clock = -np.inf, 0.0

    def move(self, now: float) -> None:
        self.now = max(self.now, now)

    def is_open(self, id: str) -> bool:
        entry = self.decisions.get(id)
        return entry is not None and entry["deadline"] > self.now and "fixed" not in entry

    def decide(
        self, id: str, action: str, row: Any, round: float, now: float, deferred: bool
    ) -> None:
        self.move(now)
        self.decisions[id] = {
            "action": action, "row": np.array(row), "round": round, "rewards": [],
            "deadline": self.now + self.wait, "active": not deferred,
        }  # fmt: skip

    def reward(self, id: str, value: float, now: float) -> str:
        self.move(now)
        if not self.is_open(id):
            return "too_late" if id in self.decisions else "unknown"
        entry = self.decisions[id]
        if not entry["active"]:
            return "not_activated"
        seen = entry["rewards"]
        again = self.rewards == "last" and seen[-1:] == [value]
        if seen and (self.rewards == "first" or again):
            return "duplicate"
        seen.append(value)
        return "held" if self.rule == "hold" else "learned"

    def activate(self, id: str, now: float) -> None:
        self.move(now)
        if self.is_open(id) and not self.decisions[id]["active"]:
            self.decisions[id] |= {"active": True, "deadline": self.now + self.wait}

    def remove(self, action: str, coordinates: list[int]) -> None:
        for id, entry in self.decisions.items():
            if entry["action"] == action and self.is_open(id):
                entry["fixed"] = self.value(id)
            entry["row"][coordinates[: 0 if entry["row"].size <= max(coordinates) else None]] = 0.0

    def value(self, id: str) -> float | None:
        """The reward that is learned for a decision now."""
        entry = self.decisions[id]
        if "fixed" in entry or not entry["active"]:
            fixed: float | None = entry.get("fixed")
            return fixed
        if entry["rewards"] and (self.rule != "hold" or not self.is_open(id)):
            return float(sum(entry["rewards"]) if self.rewards == "sum" else entry["rewards"][-1])
        return self.default if self.rule == "assume" or not self.is_open(id) else None

    def sums(self, dim: int, gamma: float) -> tuple[Any, Any]:
        """Σ w a aᵀ and Σ w r a with w = γ^age over everything learned."""
        gram, moment = np.zeros((dim, dim)), np.zeros(dim)
        for id, entry in self.decisions.items():
            value = self.value(id)
            if value is not None:
                row = np.pad(entry["row"], (0, dim - entry["row"].size))
                weight = gamma ** (self.clock - entry["round"])
                gram += weight * np.outer(row, row)
                moment += weight * value * row
        return gram, moment
