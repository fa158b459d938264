"""What the policies have in common whose memory follows from a variation budget and a horizon."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from ..theory import tuning as rules
from .base import Policy
from .problem import Problem


@dataclass(frozen=True, kw_only=True, eq=False)
class Budgeted(Policy):
    """A policy whose memory a rule of `driftbandits.theory.tuning` chooses."""

    @classmethod
    @abstractmethod
    def _memory_for(
        cls, *, dim: int, horizon: int, budget: float | None, tuning: rules.Tuning
    ) -> dict[str, Any]:
        """The fields that say how long the policy remembers, by the rule."""

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

        ``tuning="paper"``, the default, is the published rule, whose rate is not proved
        (docs/explanation/mathematics.md, erratum 2). ``tuning="corrected"`` and
        ``tuning="refined"`` minimise bounds that are proved, and come with λ = d unless a ridge is
        given. The proofs also need a radius that holds at all T rounds, which the default one does
        not: the docstring of the class says which does. An unknown B is taken as 1. The formulas
        are those of `driftbandits.theory.tuning`.
        """
        memory = cls._memory_for(dim=dim, horizon=horizon, budget=budget, tuning=tuning)
        return cls(dim=dim, **memory, **rules.with_ridge(options, dim=dim, tuning=tuning))

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The published memory for the problem's budget and horizon."""
        options = problem.common()
        return cls.from_budget(horizon=problem.horizon, budget=problem.budget, **options)
