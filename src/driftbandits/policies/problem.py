"""What is known about a problem; policies are tuned with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..theory.tuning import Tuning, with_ridge


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is known about a problem. Each policy is tuned with the parts that it needs.

    Attributes:
        dim: Length d of actions and parameters.
        horizon: Number T of rounds.
        budget: Variation budget B: the sum of the distances that the parameter moves.
        change_points: First rounds with a new parameter, in increasing order.
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
        """The arguments for the rules of `driftbandits.theory.tuning`."""
        return {"dim": self.dim, "horizon": self.horizon, "budget": self.budget, "tuning": tuning}

    def common(self, tuning: Tuning = "paper") -> dict[str, Any]:
        """The options that all linear policies share; λ = d if the tuning is proved for λ = d."""
        return {
            "dim": self.dim,
            "ridge": with_ridge(self.ridge, dim=self.dim, tuning=tuning),
            "noise": self.noise,
            "delta": self.delta,
            "theta_bound": self.theta_bound,
            "action_bound": self.action_bound,
        }
