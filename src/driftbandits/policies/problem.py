"""What is known of a problem: what policies are tuned by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..theory.tuning import Tuning, with_ridge


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

    def drift(self, tuning: Tuning) -> dict[str, Any]:
        """What the rules of `driftbandits.theory.tuning` ask for."""
        return {"dim": self.dim, "horizon": self.horizon, "budget": self.budget, "tuning": tuning}

    def common(self, tuning: Tuning = "paper") -> dict[str, Any]:
        """The options that all linear policies share; λ = d where the tuning is proved for it."""
        return {
            "dim": self.dim,
            "ridge": with_ridge(self.ridge, dim=self.dim, tuning=tuning),
            "noise": self.noise,
            "delta": self.delta,
            "theta_bound": self.theta_bound,
            "action_bound": self.action_bound,
        }
