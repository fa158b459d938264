"""Detect and restart: LinUCB that forgets everything when no single parameter fits its data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ...core.arrays import non_negative, open_unit, positive
from ...core.entry_points import Kernels
from ...core.randomness import stream_state
from ...least_squares.combining import padded
from ..linear import Fit, LinearPolicy
from ..problem import Problem
from ..registry import register
from .change_test import (
    COUNTERS,
    DETECTING,
    DETECTIONS,
    FACTS,
    OUTDATED,
    RADIUS,
    SPLITS,
    Parameters,
    State,
)


@register("DAL", "LinUCB that restarts when it detects a change; for rare changes, told no budget")
@dataclass(frozen=True, kw_only=True, eq=False)
class DetectRestartLinUCB(LinearPolicy):
    """Detection-augmented LinUCB, after DAL (Gerogiannis et al., arXiv 2501.19401).

    From the paper: a stationary learner, here LinUCB; forced rounds, more frequent after each
    detection; a change detector; when it fires, everything is forgotten.

    From this library: the detector, and the choice in a forced round. The paper tests the rewards
    of each of a fixed set of covering actions, which must be on offer again and again. Here every
    reward counts in one test on the parameter itself. For splits of the data since the last restart
    into before and after,

        log E = (b₁ᵀV₁⁻¹b₁ + b₂ᵀV₂⁻¹b₂ − bᵀV⁻¹b − λS²)/(2σ²) − ½ log(det V₁ det V₂/λ^{2d})

    says how much better two parameters explain the rewards than any single one. A forced round has
    probability α √(1 + detections), and plays any action on offer.

    Guarantee: from a restart on, while the parameter does not change, the probability of ever
    restarting is at most ``false_alarm``, for σ-sub-Gaussian noise and ‖θ‖ ≤ S
    (docs/explanation/successors.md). No regret bound is proved for this detector. The paper's bound
    Õ(√(N T)), for N changes that are far enough apart, is for the paper's detector.

    Memory and time are O(d²) for each of 28 splits. For d > 8, tests are less frequent, so that a
    round stays at O(d²) on average. A late reward is tested when it arrives; a reward from before
    the last restart changes nothing. Rewards cannot be amended, and policies cannot be merged: the
    splits hold sums in the order of arrival. A widened policy tests as often as the new dimension
    requires.

    Attributes:
        exploration: Probability α of a forced round before the first detection.
        false_alarm: Probability δ with which a parameter that does not change may cause a restart.

    Examples:
        >>> from driftbandits.policies.dal.policy import DetectRestartLinUCB
        >>> policy = DetectRestartLinUCB(dim=1, noise=0.5)
        >>> for t in range(400):
        ...     policy.update([1.0], 1.0 if t < 200 else -1.0)
        >>> policy.detections
        (203,)
    """

    kernels: ClassVar[Kernels] = DETECTING
    detections_counter: ClassVar[int] = DETECTIONS
    late_rewards: ClassVar[str] = "tested when it arrives, so it may cause or miss a restart"
    refusals: ClassVar[Mapping[str, str]] = {
        "scores": "some rounds are forced, at random",
        "amend": "which splits of the data hold a reward is not known",
        "merged": "its test depends on the order in which rewards arrived",
    }

    exploration: float = 0.005
    false_alarm: float = 0.01

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """α = √(d log T / T) / 8 for the problem's horizon; its budget is not used."""
        rate = math.sqrt(problem.dim * math.log(problem.horizon) / problem.horizon) / 8
        return cls(exploration=min(rate, 1.0), **problem.common())

    def _validate(self) -> None:
        super()._validate()
        # The test measures changes in units of the noise. Without noise, any change shows at once.
        positive("noise", self.noise)
        non_negative("exploration", self.exploration)
        if self.exploration > 1:
            raise ValueError(f"exploration must be at most 1, got {self.exploration!r}")
        open_unit("false_alarm", self.false_alarm)

    def _make_parameters(self) -> Parameters:
        return Parameters(
            ridge=self.ridge,
            noise=self.noise,
            delta=self.delta,
            theta_bound=self.theta_bound,
            action_bound=self.action_bound,
            explore=self.exploration,
            alarm=math.log(1.0 / self.false_alarm),
            every=math.ceil(self.dim / 8),
        )

    def _initial_state(self) -> State:
        d = self.dim
        state = State(
            counters=np.zeros(COUNTERS),
            gram=np.zeros((2, d, d)),
            moment=np.zeros((2, d)),
            unweighted=np.zeros((2, 0, 0)),
            factor=np.zeros((d, d)),
            theta=np.zeros(d),
            facts=np.zeros((SPLITS, FACTS)),
            grams=np.zeros((SPLITS, d, d)),
            moments=np.zeros((SPLITS, d)),
            rest=np.zeros((d, d)),
            rest_moment=np.zeros(d),
            random=stream_state(self.seed, "policy", "DetectRestartLinUCB"),
            detections=np.zeros(0),
        )
        state.counters[OUTDATED] = 1.0
        return state

    def _reseed(self, replication: int) -> None:
        name = "DetectRestartLinUCB"
        self._state.random[:] = stream_state(self.seed, "policy", name, replication)

    def _widened_state(self, wider: Self) -> State:
        state, d = self._state, wider.dim
        counters = state.counters.copy()
        counters[OUTDATED] = 1.0
        return wider._initial_state()._replace(
            counters=counters,
            gram=padded(state.gram, 2, d, d),
            moment=padded(state.moment, 2, d),
            facts=state.facts,
            grams=padded(state.grams, SPLITS, d, d),
            moments=padded(state.moments, SPLITS, d),
            random=state.random,
            detections=state.detections,
        )

    def _fit(self) -> Fit:
        self._prepare()
        state = self._state
        radius = float(state.counters[RADIUS])
        return Fit(state.factor, state.unweighted, float(self.ridge), state.theta, radius)
