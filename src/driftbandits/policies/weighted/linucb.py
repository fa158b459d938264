"""LinUCB: no forgetting. The stationary learner that the other policies are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ...core.arrays import one_of
from ...least_squares.estimator import RADIUS_KINDS, RadiusKind
from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import RADIUS_CODES, Parameters, State, initial_state


@register("LinUCB", "all data counts alike; for payoffs that do not drift")
@dataclass(frozen=True, kw_only=True, eq=False)
class LinUCB(WeightedPolicy):
    """Optimism over ridge regression (Abbasi-Yadkori, Pál and Szepesvári, 2011).

        β = √λ S + σ √(2 log(1/δ) + d log(1 + L² n/(λd)))

    Guarantee: without drift the true parameter lies in the ellipsoid at all rounds together with
    probability 1 − δ, for every ``confidence``. With late rewards this needs noise that is
    sub-Gaussian in the order of arrival (docs/explanation/mathematics.md, late observations).

    Attributes:
        confidence: Which radius: "per-round" (the formula above), "determinant" (tighter),
            "anytime" or "anytime-determinant". The anytime radii have no advantage here.

    Examples:
        >>> from driftbandits import LinUCB
        >>> policy = LinUCB(dim=2, ridge=1.0, noise=0.5)
        >>> policy.update([1.0, 0.0], 0.8)
        >>> policy.theta
        array([0.4, 0. ])
    """

    confidence: RadiusKind = "per-round"

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """LinUCB has nothing to tune."""
        return cls(**problem.common())

    def _validate(self) -> None:
        super()._validate()
        one_of("confidence", self.confidence, RADIUS_KINDS)

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(radius=RADIUS_CODES[self.confidence])

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge)
