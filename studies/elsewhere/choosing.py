"""Environments that were looked at while the constants of `AdaptiveLinUCB` were chosen.

Titles and order are as in the table of docs/results/adaptive.md.
"""

from __future__ import annotations

import numpy as np
from benchmarks.measure import Array

from driftbandits.environments import (
    ActionSequence,
    Bernoulli,
    ClippedCube,
    Environment,
    Gaussian,
    Kronecker,
    PiecewiseConstant,
    Trajectory,
    WithIntercept,
    canonical_basis,
)
from driftbandits.environments.random_paths import RandomJumps

from .parts import DrawnPath, directions
from .place import Place, arms, drifting_arms, fresh, swinging


def _walking_means(generator: np.random.Generator) -> Array:
    """Eight means that walk between 0 and ½, with reflection at the ends."""
    steps = generator.normal(0.0, 0.01, (6000, 8))
    walks = np.cumsum(steps, axis=0) + generator.uniform(0.0, 1.0, 8)
    return np.asarray(np.abs(walks % 2 - 1) / 2)


def _from_place_to_place(generator: np.random.Generator) -> Array:
    """A straight line between two random points of the sphere in d = 6."""
    first, last = directions(generator, 2, 6)
    return np.linspace(first, last, 12_000, endpoint=False)


def _two_planes(*, period: int, horizon: int) -> Trajectory:
    """A turn in the first plane of d = 4, and a reverse turn at half speed in the second."""
    angle = 2 * np.pi * np.arange(horizon) / period
    circles = [np.cos(angle), np.sin(angle), np.cos(1 - angle / 2), np.sin(1 - angle / 2)]
    return Trajectory(np.stack(circles, axis=1) / np.sqrt(2))


def _crossing(horizon: int) -> Trajectory:
    """One mean falls and one rises."""
    time = np.arange(horizon) / horizon
    return Trajectory(np.stack([0.7 - 0.4 * time, 0.2 + 0.6 * time], axis=1))


def _taking_turns(*, dim: int, horizon: int) -> ActionSequence:
    """The first half of the basis in odd rounds, the other half in even rounds."""
    halves: Array = np.eye(dim).reshape(2, dim // 2, dim)
    return ActionSequence(np.tile(halves, (horizon // 2, 1, 1)))


CHOOSING = (
    Place(
        "three quiet arms, no change, T = 10,000, σ = 0.15",
        arms([0.8, 0.5, 0.3], noise=Gaussian(0.15), horizon=10_000),
    ),
    Place(
        "five quiet arms, no change, σ = 0.1",
        arms([0.6, 0.4, 0.3, 0.2, 0.1], noise=Gaussian(0.1)),
    ),
    Place(
        "four arms that swing with period 4000, σ = 0.5",
        drifting_arms(
            swinging(arms=4, period=4000, middle=0.36, swing=0.27, horizon=6000),
            noise=Gaussian(0.5),
        ),
    ),
    Place(
        "of three quiet arms one turns best, late and by little",
        arms([0.6, 0.3, 0.1], [0.6, 0.3, 0.75], changes=(4501,), noise=Gaussian(0.1)),
    ),
    Place(
        "of four arms one turns best unseen, σ = 0.1",
        arms([0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.75], changes=(3001,), noise=Gaussian(0.1)),
    ),
    Place(
        "the same, σ = 0.3",
        arms([0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.75], changes=(3001,), noise=Gaussian(0.3)),
    ),
    Place(
        "the same by more, σ = 0.5, T = 3000",
        arms(
            [0.5, 0.3, 0.2, 0.0],
            [0.5, 0.3, 0.2, 0.9],
            changes=(1501,),
            noise=Gaussian(0.5),
            horizon=3000,
        ),
    ),
    Place(
        "of ten arms one turns best unseen, σ = 0.2, T = 8000",
        arms(
            [0.6, *np.linspace(0.1, 0.45, 9)],
            [0.6, 0.9, *np.linspace(0.1, 0.45, 9)[1:]],
            changes=(4001,),
            noise=Gaussian(0.2),
            horizon=8000,
        ),
    ),
    Place(
        "two catalogues take turns, an arm of each turns best",
        Environment(
            path=PiecewiseConstant(
                [[0.6, 0.3, 0.1, 0.5, 0.4, 0.1], [0.6, 0.3, 0.9, 0.5, 0.4, 0.9]], (3001,)
            ),
            actions=_taking_turns(dim=6, horizon=6000),
            noise=Gaussian(0.3),
            horizon=6000,
        ),
    ),
    Place(
        "eight arms, means walk",
        drifting_arms(
            DrawnPath(function=_walking_means, dim=8, norm=0.5 * 8**0.5), noise=Gaussian(0.3)
        ),
    ),
    Place(
        "two arms cross slowly, T = 4000",
        drifting_arms(_crossing(4000), noise=Gaussian(0.5), horizon=4000),
    ),
    Place(
        "six arms, no change, T = 20,000",
        arms([0.5, 0.45, 0.4, 0.3, 0.2, 0.1], noise=Gaussian(0.3), horizon=20_000),
    ),
    Place(
        "Bernoulli arms, one change",
        Environment(
            noise=Bernoulli(),
            path=PiecewiseConstant([[0.3, 0.2, 0.1, 0.15], [0.1, 0.2, 0.4, 0.15]], (3001,)),
            actions=canonical_basis(4),
            horizon=8000,
        ),
    ),
    Place(
        "d = 4, one jump, T = 1000",
        fresh(
            RandomJumps(dim=4, change_points=(501,)), count=10, noise=Gaussian(0.5), horizon=1000
        ),
    ),
    Place(
        "d = 5, fresh actions, no change",
        fresh(RandomJumps(dim=5, change_points=()), count=20, noise=Gaussian(0.5), horizon=5000),
    ),
    Place(
        "one model per arm, slow drift, T = 12,000",
        Environment(
            path=DrawnPath(function=_from_place_to_place, dim=6),
            actions=Kronecker(contexts=ClippedCube(dim=2, count=1), arms=3),
            noise=Gaussian(0.5),
            horizon=12_000,
        ),
    ),
    Place(
        "rewards far from zero, intercept, one jump",
        Environment(
            path=PiecewiseConstant([[10, 1, 0], [10, 0, 1]], (2501,)),
            actions=WithIntercept(actions=ClippedCube(dim=2, count=8), scale=0.7),
            noise=Gaussian(0.5),
            horizon=5000,
        ),
        action_bound=0.7 * 2**0.5,
    ),
    Place(
        "rotation in two planes of d = 4",
        fresh(_two_planes(period=4000, horizon=6000), count=30, noise=Gaussian(0.5)),
    ),
)
