"""An environment of this section, and helpers for common kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from benchmarks import problems

from driftbandits import Problem
from driftbandits.environments import (
    ClippedCube,
    Environment,
    Noise,
    ParameterPath,
    Periodic,
    PiecewiseConstant,
    RandomJumps,
    Trajectory,
    WithLevel,
    canonical_basis,
)

from .parts import DrawnPath


class Place(NamedTuple):
    """An environment, and its title in the table."""

    title: str
    environment: Environment
    action_bound: float = 1.0  # the largest norm that an action can have
    theta_bound: float | None = None  # bound on ‖θ‖; by default that of the path
    noise: float | None = None  # noise level; by default that of the environment

    @property
    def problem(self) -> Problem:
        """The facts that fixed discounts get: the truth, but a bound S from the path is at most 1.

        A larger S, even if it is true, only makes them explore more than necessary.
        """
        bound = self.theta_bound
        if bound is None:
            bound = min(theta_bound(self.environment.path), 1.0)
        known = problems.problem(self.environment, bound)
        noise = known.noise if self.noise is None else self.noise
        return replace(known, action_bound=self.action_bound, noise=noise)


def theta_bound(path: ParameterPath) -> float:
    """The largest norm that the parameter can have."""
    match path:
        case PiecewiseConstant(values=given) | Trajectory(parameters=given):
            return float(np.linalg.norm(given, axis=1).max())
        case RandomJumps(norm=norm) | Periodic(norm=norm) | DrawnPath(norm=norm):
            return norm
        case WithLevel(path=inner, level=level, intercept=True):
            return float(np.hypot(theta_bound(inner), theta_bound(level)))
    raise TypeError(f"no bound is known for {path!r}")


def arms(
    *means: Sequence[float], noise: Noise, horizon: int = 6000, changes: tuple[int, ...] = ()
) -> Environment:
    """Arms with these means; at each of the rounds ``changes``, the next means begin."""
    return drifting_arms(PiecewiseConstant(means, changes), noise=noise, horizon=horizon)


def drifting_arms(path: ParameterPath, *, noise: Noise, horizon: int = 6000) -> Environment:
    """Arms whose means are the coordinates of the path."""
    actions = canonical_basis(path.dim)
    return Environment(path=path, actions=actions, noise=noise, horizon=horizon)


def fresh(path: ParameterPath, *, count: int, noise: Noise, horizon: int = 6000) -> Environment:
    """Fresh actions in each round."""
    actions = ClippedCube(dim=path.dim, count=count)
    return Environment(path=path, actions=actions, noise=noise, horizon=horizon)


def swinging(*, arms: int, period: int, middle: float, swing: float, horizon: int) -> Trajectory:
    """Means that swing like sines, with phases evenly spread over the period."""
    phases = np.arange(horizon)[:, None] / period + np.arange(arms) / arms
    return Trajectory(middle + swing * np.sin(2 * np.pi * phases))
