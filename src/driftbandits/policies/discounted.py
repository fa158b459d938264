"""What the policies that discount have in common: the discount, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from .. import tuning as rules
from ..arrays import open_unit
from .problem import Problem
from .weighted import WeightedEstimate


@dataclass(frozen=True, kw_only=True, eq=False)
class Discounted(WeightedEstimate):
    """A policy of the weighted family that forgets by a discount.

    Attributes:
        gamma: Discount γ in (0, 1), what a weight keeps in a round.
    """

    gamma: float

    @classmethod
    def from_budget(
        cls,
        *,
        dim: int,
        horizon: int,
        budget: float | None = None,
        tuning: rules.Tuning = "paper",
        **options: Any,
    ) -> Self:
        """The policy for a variation budget B and a horizon T.

        ``tuning="paper"``, the default, is the published γ = 1 − (B/(dT))^{2/3}. The rate it aims
        at is not proved (docs/mathematics.md, erratum 2). ``tuning="corrected"`` is
        γ = 1 − max(1/T, √(B/(dT))) with λ = d, which has a proof. An unknown B is taken as 1.
        """
        gamma = rules.discount(dim=dim, horizon=horizon, budget=budget, tuning=tuning)
        options = rules.with_ridge(options, dim=dim, tuning=tuning)
        return cls(dim=dim, gamma=gamma, **options)

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The published discount for the problem's budget and horizon."""
        options = problem.common()
        return cls.from_budget(horizon=problem.horizon, budget=problem.budget, **options)

    def _validate(self) -> None:
        super()._validate()
        open_unit("gamma", self.gamma)
