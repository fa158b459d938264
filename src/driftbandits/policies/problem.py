"""What is known of a problem: what policies are tuned by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is known of a problem, for policies to be tuned by. Each uses what it needs."""

    dim: int
    horizon: int
    budget: float
    change_points: tuple[int, ...] = ()
    ridge: float = 0.1
    noise: float = 1.0
    delta: float = 0.01
    theta_bound: float = 1.0
    action_bound: float = 1.0

    def common(self) -> dict[str, Any]:
        """The options that all linear policies share."""
        return {
            "dim": self.dim,
            "ridge": self.ridge,
            "noise": self.noise,
            "delta": self.delta,
            "theta_bound": self.theta_bound,
            "action_bound": self.action_bound,
        }
