"""What is known of a problem: what policies are tuned by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is known of a problem, for policies to be tuned by. Each uses what it needs.

    Attributes:
        dim: Length d of actions and parameters.
        horizon: Number T of rounds.
        budget: Variation budget B: the sum of the distances that the parameter moves.
        change_points: Rounds, increasing, that are the first with a new parameter.
        ridge: Penalty λ.
        noise: Sub-Gaussian level σ of the noise.
        delta: Probability δ that a confidence set is allowed to miss.
        theta_bound: Bound S on the norm of the parameter.
        action_bound: Bound L on the norms of actions.
    """

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
