"""D-LinUCB: exponential forgetting, the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from ...core.arrays import one_of, whole
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import RADIUS_CODES, Parameters, State, initial_state

Confidence = Literal[
    "per-round",
    "anytime",
    "blockwise",
    "determinant",
    "anytime-determinant",
    "blockwise-determinant",
]


@register("D-LinUCB", "exponential forgetting; for payoffs that drift at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class DLinUCB(WeightedPolicy):
    """Discounted LinUCB (Russac, Vernade and Cappé, NeurIPS 2019, Algorithm 1).

        V = Σ γ^{n−s} a_s a_sᵀ + λI      Ṽ = Σ γ^{2(n−s)} a_s a_sᵀ + λI      b = Σ γ^{n−s} r_s a_s
        β = √λ S + σ √(2 log(1/δ) + d log(1 + L² Σ γ^{2(n−s)} / (λd)))
        play argmax aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a),   θ̂ = V⁻¹b

    Memory does not grow with the number of rounds. About the last 1/(1 − γ) rounds count.

    Guarantee: the coverage of ``confidence``, and the regret bound
    `driftbandits.theory.bounds.d_linucb_proved_bound` with ``delta`` = δ/T for a horizon T. The
    default ``delta`` has no regret bound: the paper's Theorem 2 has gaps
    (docs/explanation/mathematics.md, errata 1, 2 and 5).

    Attributes:
        gamma: Discount γ in (0, 1): each round multiplies all weights by γ. `tuned` takes it from
            `driftbandits.theory.tuning.discount`.
        confidence: Which radius. "per-round" (Algorithm 1) covers the parameter with probability
            1 − δ at each fixed round; "anytime" and "blockwise" do so at all rounds together.
            "blockwise" is narrower than "anytime" once a few rounds have passed. "determinant"
            (per-round), "anytime-determinant" and "blockwise-determinant" are narrower still, and
            cost another O(d³) per round. docs/explanation/mathematics.md has the formulas, the
            conditions and the proofs.
        restore_every: Rounds m after which λ is restored. 1 is Algorithm 1, at O(d³) per round.
            With m > 1, λ fades with the data in between, as Theorem 1 allows, and a round costs
            O(d² + d³/m): for large d, take m = d/4. If λ would fade below a hundredth of its value
            before that, it is restored earlier.

    Examples:
        >>> import numpy as np
        >>> from driftbandits import DLinUCB
        >>> policy = DLinUCB(dim=2, gamma=0.5, ridge=1.0, noise=0.1)
        >>> actions = np.eye(2)
        >>> policy.update(actions[policy.select(actions)], 1.0)
        >>> late = policy.round
        >>> policy.advance()                          # this round's reward is still to come
        >>> policy.update(actions[1], 1.0)
        >>> policy.update(actions[0], 1.0, round=late)  # it arrives, and counts as if on time
        >>> policy.theta.round(3)
        array([0.429, 0.5  ])
    """

    gamma: float
    confidence: Confidence = "per-round"
    restore_every: int = 1

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "paper", **options: Any) -> Self:
        """The discount for the problem's budget and horizon, with ``options`` on top.

        "paper" is the published rule, whose rate is not proved (docs/explanation/mathematics.md,
        erratum 2). "corrected" and "refined" minimise proved bounds, and set λ = d. Their proofs
        also need a radius that holds at all T rounds. The default radius does not: see the
        guarantee of the class. The formulas are in `driftbandits.theory.tuning`.
        """
        gamma = rules.discount(**problem.drift(tuning))
        return cls(**{**problem.common(tuning), "gamma": gamma, **options})

    def _validate(self) -> None:
        super()._validate()
        self._check_discount(self.gamma)
        one_of("confidence", self.confidence, tuple(RADIUS_CODES))
        whole("restore_every", self.restore_every, least=1)

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(
            gamma=self.gamma,
            radius=RADIUS_CODES[self.confidence],
            restore=self.restore_every,
        )

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge, discounted=True)
