"""LB-WeightUCB: exponential forgetting with one matrix instead of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from ...core.arrays import one_of
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import RADIUS_CODES, Parameters, State, initial_state


@register("LB-WeightUCB", "D-LinUCB with one matrix instead of two; for drift at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class LBWeightUCB(WeightedPolicy):
    """Weighted LinUCB with a single matrix (Wang, Zhao and Zhou, AISTATS 2023).

        V = Σ γ^{n−s} a_s a_sᵀ + λI      b = Σ γ^{n−s} r_s a_s      θ̂ = V⁻¹b
        β = √λ S + σ √(2 log(1/δ) + d log(1 + L² Σ γ^{2(n−s)} / (λd)))
        play argmax aᵀθ̂ + β √(aᵀ V⁻¹ a)

    Weights are at most one, so Ṽ ≤ V, and the width is at least D-LinUCB's. Estimate and radius are
    the same as D-LinUCB's; there is more exploration; an update and a score cost about half. (Until
    the open round closes, its rewards have weight 1/γ. Then Ṽ ≤ V/γ, and the set below needs β/√γ.)

    Guarantee: without drift, ‖θ̂ − θ‖_V ≤ β at each fixed round with probability 1 − δ. With
    ``delta`` = δ/T, λ = d and γ = 1 − max(1/T, √(B/(dT))), the dynamic regret over T rounds is
    Õ(d^{3/4} B^{1/4} T^{3/4} + d√T) with probability 1 − δ (Wang, Zhao and Zhou, 2023).
    `tuned` sets λ and γ, not ``delta``: the default ``delta`` has no regret bound.
    `driftbandits.theory.bounds.d_linucb_proved_bound` holds for this policy too.

    Attributes:
        gamma: Discount γ in (0, 1): each round multiplies all weights by γ.
        confidence: "per-round", the radius above, or "anytime", which holds at all rounds together.

    Examples:
        >>> from driftbandits.policies.weighted.lb_weight_ucb import LBWeightUCB
        >>> policy = LBWeightUCB(dim=1, gamma=0.5, ridge=1.0)
        >>> for reward in (1.0, 2.0):
        ...     policy.update([1.0], reward)
        >>> policy.theta, policy.widths([[1.0]]).round(3)     # V = 1 + 1/2 + 1
        (array([1.]), array([0.632]))
    """

    gamma: float
    confidence: Literal["per-round", "anytime"] = "per-round"

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "corrected", **options: Any) -> Self:
        """The discount for the problem's budget and horizon, with ``options`` on top.

        "corrected" is the theorem's tuning: γ = 1 − max(1/T, √(B/(dT))) and λ = d. The formulas are
        in `driftbandits.theory.tuning`.
        """
        gamma = rules.discount(**problem.drift(tuning))
        return cls(**{**problem.common(tuning), "gamma": gamma, **options})

    def _validate(self) -> None:
        super()._validate()
        self._check_discount(self.gamma)
        one_of("confidence", self.confidence, ("per-round", "anytime"))

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(gamma=self.gamma, radius=RADIUS_CODES[self.confidence])

    def _initial_state(self) -> State:
        # If the state has no Ṽ, the family takes widths from V.
        return initial_state(dim=self.dim, ridge=self.ridge)
