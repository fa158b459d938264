"""D-LinUCB: exponential forgetting, the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.arrays import one_of, whole
from ...least_squares.estimator import RADIUS_KINDS, RadiusKind
from ..registry import register
from .discounted import Discounted
from .family import RADIUS_CODES, Parameters, State, WeightedPolicy, initial_state


@register("D-LinUCB", "exponential forgetting; for payoffs that drift at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class DLinUCB(Discounted, WeightedPolicy):
    """Discounted LinUCB (Russac, Vernade and Cappé, NeurIPS 2019, Algorithm 1).

        V = Σ γ^{n−s} a_s a_sᵀ + λI      Ṽ = Σ γ^{2(n−s)} a_s a_sᵀ + λI      b = Σ γ^{n−s} r_s a_s
        β = √λ S + σ √(2 log(1/δ) + d log(1 + L² Σ γ^{2(n−s)} / (λd)))
        play argmax aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a),   θ̂ = V⁻¹b

    Memory does not grow with the rounds: 1/(1 − γ) of them count, more or less.

    Attributes:
        gamma: Discount γ in (0, 1), what a weight keeps in a round. `from_budget` takes
            γ = 1 − (B/(dT))^{2/3}, or corrected γ = 1 − max(1/T, √(B/(dT))).
        confidence: Which radius: "per-round" (Theorem 1), "anytime" (holds at all rounds
            together, where Theorem 1 does not) or "determinant" (per-round, and tighter).
        restore_every: Rounds after which λ is put back in place. 1 is Algorithm 1, at O(d³) a
            round. With m > 1 it fades with the data in between, λ_t and μ_t are those of Theorem 1,
            which allows any, and a round costs O(d² + d³/m): for large d, take m = d/4. A λ that
            would fade to a hundredth of itself before that is put back earlier.

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

    confidence: RadiusKind = "per-round"
    restore_every: int = 1

    def _validate(self) -> None:
        super()._validate()
        one_of("confidence", self.confidence, RADIUS_KINDS)
        whole("restore_every", self.restore_every, least=1)

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(
            gamma=self.gamma,
            radius=RADIUS_CODES[self.confidence],
            restore=self.restore_every,
        )

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge, discounted=True)
