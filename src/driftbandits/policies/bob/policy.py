"""BOB: bandit over bandit, EXP3 that learns which window or discount to use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ...core.arrays import one_of, whole
from ...core.entry_points import Kernels
from ...core.randomness import stream_state
from ...least_squares.forgetting import COUNTERS
from ..problem import Problem
from ..registry import register
from ..weighted.family import WeightedPolicy
from ..weighted.state import initial_state
from .kernels import BOB_KERNELS, MEMBER, PENDING, PROBABILITY, SEEN, Parameters, State


@register("BOB", "EXP3 over windows; for drift at an unknown pace and a known horizon")
@dataclass(frozen=True, kw_only=True, eq=False)
class BOB(WeightedPolicy):
    """Bandit over bandit (Cheung, Simchi-Levi and Zhu, AISTATS 2019): needs no budget B.

        blocks of H = ⌊d^{2/3} √T⌋ rounds      windows ⌊H^{j/Δ}⌋, j = 0, …, Δ = ⌈log H⌉
        e = min(1, √((Δ + 1) log(Δ + 1) / ((e − 1) ⌈T/H⌉)))

    In each block a fresh SW-LinUCB plays, with a window that EXP3 draws with exploration e. EXP3
    learns from ½ + ΣY / (2HLS + 4σ √(H log(T/√H))), the block's rewards Y scaled to [0, 1]. It was
    published for LS = 1. Values outside [0, 1] have a probability of at most 2/T, and are cut off
    here. With ``over="discounts"`` a D-LinUCB plays instead, with γ = 1 − 1/window, or γ = ½ for a
    window of 1.

    A late reward counts in its own block until the first round of the next block closes; so does an
    amendment. From a block in which no reward arrives, EXP3 learns nothing. The propensity that
    ``decide`` returns is conditional on the block's member.

    Guarantee: none. The published rate for windows without knowing B is
    Õ(d^{2/3} (B + 1)^{1/4} T^{3/4}). It relies on the rate of SW-LinUCB, whose proof fails
    (docs/explanation/mathematics.md, erratum 2). Also, the SW-LinUCB that plays here has the
    published radius at a fixed δ, which no regret bound covers. The price of not knowing B is in
    the blocks: nothing is remembered for longer than H rounds, even if the payoffs do not change.

    Attributes:
        horizon: Number of rounds T; the policy can play on after them.
        over: What the grid holds: "windows" or "discounts".

    Examples:
        >>> from driftbandits.policies.bob.policy import BOB
        >>> policy = BOB(dim=2, horizon=6000)
        >>> policy.block, policy.windows
        (122, (1, 2, 6, 17, 46, 122))
        >>> policy.update([1.0, 0.0], 1.0)
        >>> policy.window in policy.windows
        True
    """

    kernels: ClassVar[Kernels] = BOB_KERNELS
    late_rewards: ClassVar[str] = "lost to EXP3 once the first round of the next block has closed"
    refusals: ClassVar[Mapping[str, str]] = {
        "widened": "its blocks and its grid of windows follow from dim",
        "merged": "which window plays a block is drawn at random",
    }

    horizon: int
    over: Literal["windows", "discounts"] = "windows"

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The published blocks and windows for the problem's horizon; its budget is not used."""
        return cls(horizon=problem.horizon, **problem.common())

    @property
    def block(self) -> int:
        """Length H of a block, in rounds."""
        length: float = self.dim ** (2 / 3) * math.sqrt(self.horizon)
        return max(1, math.floor(length))

    @property
    def windows(self) -> tuple[int, ...]:
        """The grid, in rounds; for discounts, 1/(1 − γ) of each."""
        steps = max(1, math.ceil(math.log(self.block)))
        # H^{Δ/Δ} is H, but rounding may give a number just below.
        return tuple(math.floor(self.block ** (j / steps) + 1e-9) for j in range(steps + 1))

    @property
    def window(self) -> int:
        """The member of the grid that played the last closed round."""
        return self.windows[int(self._state.counters[MEMBER])]

    def _validate(self) -> None:
        super()._validate()
        whole("horizon", self.horizon, least=1)
        one_of("over", self.over, ("windows", "discounts"))

    def _make_parameters(self) -> Parameters:
        length, count = self.block, len(self.windows)
        blocks = math.ceil(self.horizon / length)
        doubt = math.sqrt(length * math.log(max(self.horizon / math.sqrt(length), 1.0)))
        bound = self.action_bound * self.theta_bound
        return Parameters(
            ridge=self.ridge,
            noise=self.noise,
            delta=self.delta,
            theta_bound=self.theta_bound,
            action_bound=self.action_bound,
            block=length,
            explore=min(1.0, math.sqrt(count * math.log(count) / ((math.e - 1.0) * blocks))),
            spread=2.0 * length * bound + 4.0 * self.noise * doubt,
            discounts=float(self.over == "discounts"),
        )

    def _initial_state(self) -> Any:
        window = self._window()
        base = initial_state(dim=self.dim, ridge=self.ridge, discounted=not window, window=window)
        counters = np.concatenate([base.counters, np.zeros(SEEN + 1 - COUNTERS)])
        counters[PENDING], counters[PROBABILITY] = 1.0, 1.0
        grid = np.array(self.windows, dtype=np.float64)
        return State(
            *base._replace(counters=counters),
            grid=grid,
            log_weights=np.zeros(len(grid)),
            weights=np.zeros(len(grid)),
            random=stream_state(self.seed, "policy", "BOB"),
            peek=np.zeros(1, dtype=np.uint64),
        )

    def _reseed(self, replication: int) -> None:
        self._state.random[:] = stream_state(self.seed, "policy", "BOB", replication)

    def _window(self) -> int:
        return self.block if self.over == "windows" else 0

    def _counter_ranges(self, state: Any) -> dict[int, tuple[int, int]]:
        return {**super()._counter_ranges(state), MEMBER: (0, len(state.grid) - 1)}
