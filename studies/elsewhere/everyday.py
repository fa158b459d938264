"""Everyday situations: moving levels, features of all scales, launches, wear.

They were looked at when `AdaptiveLinUCB` got its model of the level.
"""

from __future__ import annotations

import numpy as np

from driftbandits.environments import (
    ActionsInUnits,
    ClippedCube,
    Environment,
    Gaussian,
    Kronecker,
    Launches,
    ParameterPath,
    PathInUnits,
    PiecewiseConstant,
    RandomJumps,
    Rotting,
    Swing,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)

from .place import Place, drifting_arms

MEANS = np.array([0.6, 0.4, 0.3, 0.2, 0.1])
HORIZON = 6000


def with_level(
    level: ParameterPath, *, intercept: bool = True, change: bool = False
) -> Environment:
    """Five arms whose rewards share a level, with or without a feature for it."""
    means = PiecewiseConstant([MEANS, MEANS[::-1]], (HORIZON // 2 + 1,))
    arms = canonical_basis(5)
    return Environment(
        path=WithLevel(
            path=means if change else PiecewiseConstant([MEANS]), level=level, intercept=intercept
        ),
        actions=WithIntercept(actions=arms) if intercept else arms,
        noise=Gaussian(0.5),
        horizon=HORIZON,
    )


def in_units(*units: float) -> Environment:
    """Ten fresh actions in d = 5, with features in the given units."""
    return Environment(
        path=PathInUnits(path=RandomJumps(dim=5, change_points=()), units=units),
        actions=ActionsInUnits(actions=ClippedCube(dim=5, count=10), units=units),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def launch(*means: float) -> Environment:
    """Arms with these means; the last arm is launched half way."""
    return Environment(
        path=PiecewiseConstant([list(means)]),
        actions=Launches(dim=len(means), rounds=(HORIZON // 2 + 1,)),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def wearing_out() -> Environment:
    """Four arms that wear out, the better ones faster."""
    path = Rotting(heights=[0.8, 0.6, 0.5, 0.4], lives=[1000, 2000, 4000, 16_000])
    return drifting_arms(path, noise=Gaussian(0.3))


def many_contexts() -> Environment:
    """One context of six features per round, and one model for each of three arms."""
    return Environment(
        path=RandomJumps(dim=18, change_points=()),
        actions=Kronecker(contexts=ClippedCube(dim=6, count=1), arms=3),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def _place(title: str, environment: Environment, norm: float = 1.0) -> Place:
    return Place(title, environment, action_bound=norm, theta_bound=1.0)


ROOT = 2**0.5
EVERYDAY = (
    _place("five arms, the level stays", with_level(Wander(step=0.0)), ROOT),
    _place("a level that swings by ±2 in 400 rounds", with_level(Swing(size=2, period=400)), ROOT),
    _place("by ±1 in 100 rounds", with_level(Swing(size=1, period=100)), ROOT),
    _place("by ±0.5 in 1000 rounds", with_level(Swing(size=0.5, period=1000)), ROOT),
    _place("by ±0.25 in 2000 rounds", with_level(Swing(size=0.25, period=2000)), ROOT),
    _place("a level on a random walk, steps of 0.2", with_level(Wander(step=0.2)), ROOT),
    _place("steps of 0.05", with_level(Wander(step=0.05)), ROOT),
    _place("steps of 0.01", with_level(Wander(step=0.01)), ROOT),
    _place(
        "by ±0.25 in 2000, and the arms change",
        with_level(Swing(size=0.25, period=2000), change=True),
        ROOT,
    ),
    _place(
        "by ±2 in 400 rounds, no intercept", with_level(Swing(size=2, period=400), intercept=False)
    ),
    _place(
        "by ±1 in 300, and the arms change",
        with_level(Swing(size=1, period=300), change=True),
        ROOT,
    ),
    _place("five features in the same units", in_units(1, 1, 1, 1, 1)),
    _place("one feature in units of 1/300", in_units(300, 1, 1, 1, 1), 301.0),
    _place("a launch, the new arm is best", launch(0.5, 0.4, 0.3, 0.2, 0.6)),
    _place("a launch, the new arm is worst", launch(0.5, 0.4, 0.3, 0.2, 0.1)),
    _place("four arms that wear out", wearing_out()),
    _place("many contexts, three arms, no change", many_contexts()),
)
