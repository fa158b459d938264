"""Settings of recommended policies: noise and bounds from a log, as objects and as code."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..policies import DLinUCB, LinUCB
from .passes import Pass

# Longer memories equal never forgetting, in double precision.
_LONGEST = 1e12
# Why a snippet shows another policy; see `Setup.possible`.
IMPOSSIBLE = "features are too large or too small for D-LinUCB; scale them to use it"


@dataclass(frozen=True)
class Setup:
    """Settings of D-LinUCB for a log, for any memory.

    Attributes:
        dim: Length d of a full action vector.
        noise: Standard deviation of the best memory's prediction errors.
        action_bound: Norm of the longest action that was offered, rounded up.
        theta_bound: Norm of the last estimate of the parameter, rounded up.
    """

    dim: int
    noise: float
    action_bound: float
    theta_bound: float

    @classmethod
    def of(cls, one: Pass, lane: int, *, scales: Array, longest: float) -> Setup:
        """Settings from a finished pass, with the memory of ``lane``."""
        theta = one.theta(lane) / scales
        noise = math.sqrt(float(one.state.squares[lane, 0] / one.state.due[0]))
        return cls(
            theta.size,
            rounded_up(noise),
            rounded_up(longest),
            rounded_up(float(np.linalg.norm(theta))),
        )

    def policy(self, memory: float) -> DLinUCB | LinUCB:
        """The policy with this memory in decisions; LinUCB if it never forgets."""
        noise, action_bound, theta_bound = self.noise, self.action_bound, self.theta_bound
        if memory > _LONGEST:
            return LinUCB(
                dim=self.dim, noise=noise, action_bound=action_bound, theta_bound=theta_bound
            )
        return DLinUCB(
            dim=self.dim,
            gamma=1.0 - 1.0 / memory,
            noise=noise,
            action_bound=action_bound,
            theta_bound=theta_bound,
        )

    @property
    def possible(self) -> bool:
        """Whether the policy can be made: it refuses features that are too large or too small."""
        try:
            self.policy(np.inf)
        except ValueError:
            return False
        return True

    def code(self, memory: float) -> str:
        """The policy as Python code; AdaptiveLinUCB, which takes any units, if not `possible`."""
        if not self.possible:
            return f"AdaptiveLinUCB(dim={self.dim})"
        gamma = "" if memory > _LONGEST else f"gamma={1.0 - 1.0 / memory:.6g}, "
        return (
            f"{'DLinUCB' if gamma else 'LinUCB'}(dim={self.dim}, {gamma}noise={self.noise:g}, "
            f"action_bound={self.action_bound:g}, theta_bound={self.theta_bound:g})"
        )


def snippet(code: str, why: str) -> str:
    """Lines to paste: a policy, and a comment that says why."""
    return f"from driftbandits import {code.partition('(')[0]}\n\npolicy = {code}  # {why}"


def rounded_up(value: float, digits: int = 3) -> float:
    """``value`` rounded up to ``digits`` significant digits; 1 instead of 0."""
    if value <= 0.0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    # Through the printed form, so that a snippet shows exactly this number.
    up = float(f"{math.ceil(value / unit * (1.0 - 1e-12)) * unit:.{digits}g}")
    return up if up >= value else float(f"{up + unit:.{digits}g}")
