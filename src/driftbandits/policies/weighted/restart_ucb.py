"""RestartUCB: LinUCB that forgets everything at regular intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ...core.arrays import one_of, whole
from ...least_squares.estimator import RADIUS_KINDS, RadiusKind
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import RADIUS_CODES, Parameters, State, initial_state


@register("RestartUCB", "LinUCB, restarted at a fixed interval; for drift at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class RestartUCB(WeightedPolicy):
    """LinUCB that starts afresh every H rounds (Zhao, Zhang, Jiang and Zhou, AISTATS 2020).

        V = Σ a_s a_sᵀ + λI      b = Σ r_s a_s      over s = mH + 1, …, n with m = ⌊n/H⌋
        β = √λ S + σ √(2 log(1/δ) + d log(1 + L² (n − mH) / (λd)))

    A late reward of a round before the last restart changes nothing. Only V and b are kept, and
    the factor of V follows by rank-one changes: of the policies here that forget, this is the
    cheapest.

    Guarantee: between two restarts without drift, θ lies in the ellipsoid at all of these rounds
    together with probability 1 − δ, as for LinUCB. With ``delta`` = δ/⌈T/H⌉ the regret over T
    rounds is at most `driftbandits.theory.bounds.sw_linucb_proved_bound` with probability 1 − δ.
    With the corrected tuning that is Õ(d^{3/4} B^{1/4} T^{3/4} + d√T), with the refined tuning
    Õ(d^{5/8} B^{1/4} T^{3/4} + d√T). The authors prove Õ(d^{7/8} (1 + B)^{1/4} T^{3/4}) for
    H = d^{1/4} √(T/(1 + B)) and λ = 1 in arXiv 2103.05324. There they withdraw the proof for the
    published H = (dT/B)^{2/3}: it had the same gap as D-LinUCB's proof
    (docs/explanation/mathematics.md, erratum 2). The default ``delta`` has no regret bound.

    Attributes:
        length: Rounds H between restarts. `tuned` takes it from
            `driftbandits.theory.tuning.restart_length`.
        confidence: Which radius: "per-round" (the formula above), "anytime", "determinant" or
            "anytime-determinant".

    Examples:
        >>> from driftbandits.policies.weighted.restart_ucb import RestartUCB
        >>> policy = RestartUCB(dim=1, length=2, ridge=1.0)
        >>> for reward in (4.0, 4.0, 1.0):                    # a restart after the second
        ...     policy.update([1.0], reward)
        >>> policy.theta
        array([0.5])
    """

    length: int
    confidence: RadiusKind = "per-round"

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "paper", **options: Any) -> Self:
        """The length for the problem's budget and horizon, with ``options`` on top.

        "paper" is the published rule, whose rate is not proved (docs/explanation/mathematics.md,
        erratum 2). "corrected" and "refined" minimise proved bounds, and set λ = d. Their proofs
        also need a radius that holds at all T rounds. The default radius does not: see the
        guarantee of the class. The formulas are in `driftbandits.theory.tuning`.
        """
        length = rules.restart_length(**problem.drift(tuning))
        return cls(**{**problem.common(tuning), "length": length, **options})

    def _validate(self) -> None:
        super()._validate()
        whole("length", self.length, least=1)
        one_of("confidence", self.confidence, RADIUS_KINDS)

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(radius=RADIUS_CODES[self.confidence], period=self.length)

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge)
