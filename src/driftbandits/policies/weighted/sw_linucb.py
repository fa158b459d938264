"""SW-LinUCB: a sliding window, the last l rounds and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from ...core.arrays import one_of, whole
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import PUBLISHED_WINDOW, UNION, Parameters, State, initial_state


@register("SW-LinUCB", "a sliding window; for payoffs that change at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class SWLinUCB(WeightedPolicy):
    """Sliding-window LinUCB (Cheung, Simchi-Levi and Zhu, AISTATS 2019).

        V = Σ a_s a_sᵀ + λI      b = Σ r_s a_s      over the last l rounds,      Ṽ = V

    Guarantee: with ``confidence="union"``, coverage 1 − δ at all T rounds together, and the regret
    bound `driftbandits.theory.bounds.sw_linucb_proved_bound`. The default has no regret bound.

    Attributes:
        window: Length l of the window, in rounds. `tuned` takes it from
            `driftbandits.theory.tuning.window`.
        confidence: "published" is β = √λ S + σ √(d log((1 + l L²/λ)/δ)), as its authors state it
            and as the paper ran it. Its proof has a gap; for d ≥ 2 and at most one reward per
            round it still covers with probability 1 − δ at each fixed round. "union" is the radius
            that the paper's appendix proves, √λ S + σ √(2 log(T/δ) + d log(1 + L² n/(λd))), for
            ``horizon`` T and n rewards in the window.
        horizon: Number of rounds T that the union bound covers; only "union" needs it.

    Examples:
        >>> from driftbandits import SWLinUCB
        >>> policy = SWLinUCB(dim=1, window=2, ridge=1.0)
        >>> for reward in (5.0, 1.0, 1.0):
        ...     policy.update([1.0], reward)
        >>> policy.theta.round(3)
        array([0.667])
    """

    window: int
    confidence: Literal["published", "union"] = "published"
    horizon: int | None = None

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "paper", **options: Any) -> Self:
        """The window for the problem's budget and horizon, with ``options`` on top.

        "paper" is the published rule, whose rate is not proved (docs/explanation/mathematics.md,
        erratum 2). "corrected" and "refined" minimise proved bounds, and set λ = d. Their proofs
        also need a radius that holds at all T rounds. The default radius does not: see the
        guarantee of the class. The formulas are in `driftbandits.theory.tuning`.
        """
        memory = {"window": rules.window(**problem.drift(tuning)), "horizon": problem.horizon}
        return cls(**{**problem.common(tuning), **memory, **options})

    def _validate(self) -> None:
        super()._validate()
        whole("window", self.window, least=1)
        one_of("confidence", self.confidence, ("published", "union"))
        if self.horizon is not None:
            whole("horizon", self.horizon, least=1)
        elif self.confidence == "union":
            raise ValueError('horizon must be given for confidence "union", got None')

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(
            window=self.window,
            radius=PUBLISHED_WINDOW if self.confidence == "published" else UNION,
            horizon=self.horizon or 1,
        )

    def _window(self) -> int:
        return self.window

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge, window=self.window)
