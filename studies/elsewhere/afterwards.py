"""Environments that were looked at when the constants of `AdaptiveLinUCB` were fixed.

Titles and order are as in the table of docs/results/adaptive.md.
"""

from __future__ import annotations

import numpy as np
from benchmarks.measure import Array

from driftbandits.environments import (
    Bernoulli,
    DrawnActions,
    Environment,
    Gaussian,
    Kronecker,
    Periodic,
    PiecewiseConstant,
    Sphere,
    WithIntercept,
)
from driftbandits.environments.random_paths import RandomJumps

from .parts import DrawnPath, Frozen, StudentT, WanderingNoise, directions
from .place import Place, arms, drifting_arms, fresh, swinging

_SPREAD_MEANS = np.linspace(0.1, 1.0, 10)


def _shuffled_means(generator: np.random.Generator) -> Array:
    """Ten means in a random order."""
    return generator.permutation(_SPREAD_MEANS)[None]


def _three_tastes(generator: np.random.Generator) -> Array:
    """Click rates around 0.48: a constant, plus three random directions one after the other."""
    tastes = np.insert(0.7 * directions(generator, 3, 3), 0, 0.8, axis=1)
    return np.repeat(tastes, [3000, 4000, 3000], axis=0)


def _turning(generator: np.random.Generator) -> Array:
    """A turn by up to one radian in either direction, every 50 rounds."""
    angles = np.repeat(np.cumsum(generator.uniform(-1.0, 1.0, 30)), 50)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _walk_within_the_ball(generator: np.random.Generator) -> Array:
    """A walk from a point of the sphere in d = 5, projected on the sphere if outside the ball."""
    walk = directions(generator, 5) + np.cumsum(generator.normal(0.0, 0.01, (6000, 5)), axis=0)
    return np.asarray(walk / np.maximum(np.linalg.norm(walk, axis=1, keepdims=True), 1.0))


def _context(round: int, generator: np.random.Generator) -> Array:
    """A constant, and one coordinate of a point of the square that is clipped to the disc."""
    point = generator.uniform(-1.0, 1.0, 2)
    return 0.7 * np.array([[1.0, point[1] / max(float(np.linalg.norm(point)), 1.0)]])


def _of_many_lengths(round: int, generator: np.random.Generator) -> Array:
    """Twelve random directions with norms that are log-uniform between 0.001 and 1."""
    return directions(generator, 12, 3) * 10 ** generator.uniform(-3.0, 0.0, (12, 1))


AFTERWARDS = (
    Place(
        "three arms that swing with period 2500, σ = 0.3, T = 8000",
        drifting_arms(
            swinging(arms=3, period=2500, middle=0.5, swing=0.3, horizon=8000),
            noise=Gaussian(0.3),
            horizon=8000,
        ),
    ),
    Place(
        "ten arms, no change, σ = 0.2, T = 10,000",
        drifting_arms(
            DrawnPath(function=_shuffled_means, dim=10, norm=float(np.linalg.norm(_SPREAD_MEANS))),
            noise=Gaussian(0.2),
            horizon=10_000,
        ),
    ),
    Place(
        "of six arms one turns best unseen, σ = 0.2, T = 9000",
        arms(
            [1.0, 0.8, 0.7, 0.5, 0.4, 0.2],
            [1.0, 0.8, 0.7, 0.5, 1.4, 0.2],
            changes=(6001,),
            noise=Gaussian(0.2),
            horizon=9000,
        ),
    ),
    Place(
        "of three arms one turns best unseen, σ = 1",
        arms(
            [1.0, 0.6, 0.2],
            [1.0, 0.6, 1.8],
            changes=(2001,),
            noise=Gaussian(1.0),
            horizon=5000,
        ),
    ),
    Place(
        "one model per arm, one improves unseen",
        Environment(
            path=PiecewiseConstant(
                [[1.0, 0.0, 0.6, 0.3, 0.2, -0.2], [1.0, 0.0, 0.6, 0.3, 1.6, -0.2]], (4001,)
            ),
            actions=Kronecker(contexts=DrawnActions(function=_context, dim=2, count=1), arms=3),
            noise=Gaussian(0.3),
            horizon=8000,
        ),
        action_bound=0.7 * 2**0.5,
    ),
    Place(
        "five arms, one change, Student-t noise with 3 degrees of freedom",
        arms(
            [1.0, 0.7, 0.5, 0.4, 0.2],
            [0.3, 0.7, 0.5, 1.1, 0.2],
            changes=(2501,),
            noise=StudentT(scale=0.35, degrees=3),
        ),
    ),
    Place(
        "three arms, one change, T = 1000",
        arms([0.5, 0.4, 0.1], [0.1, 0.4, 0.6], changes=(601,), noise=Gaussian(0.2), horizon=1000),
    ),
    Place(
        "eight fixed items in d = 4, Bernoulli, two changes",
        Environment(
            noise=Bernoulli(),
            path=DrawnPath(
                function=_three_tastes,
                dim=4,
                norm=float(np.hypot(0.8, 0.7)),
                change_points=(3001, 7001),
            ),
            actions=WithIntercept(actions=Frozen(Sphere(dim=3, count=8)), scale=0.6),
            horizon=10_000,
        ),
        action_bound=0.6 * 2**0.5,
    ),
    Place(
        "30 fixed items in d = 6, no change",
        Environment(
            path=RandomJumps(dim=6, change_points=()),
            actions=Frozen(Sphere(dim=6, count=30)),
            noise=Gaussian(0.3),
            horizon=6000,
        ),
    ),
    Place(
        "d = 3, ten jumps 60 rounds apart",
        fresh(
            RandomJumps(dim=3, change_points=tuple(range(3001, 3601, 60))),
            count=15,
            noise=Gaussian(0.5),
            horizon=7000,
        ),
    ),
    Place(
        "d = 3, two jumps, noise level wanders over a factor of ten",
        fresh(
            RandomJumps(dim=3, change_points=(1501, 3501)),
            count=20,
            noise=WanderingNoise(0.3 * 10 ** (0.5 * np.sin(np.arange(6000) / 300))),
        ),
    ),
    Place(
        "d = 3, one jump, norms of actions from 0.001 to 1",
        Environment(
            path=RandomJumps(dim=3, change_points=(3001,)),
            actions=DrawnActions(function=_of_many_lengths, dim=3, count=12),
            noise=Gaussian(0.3),
            horizon=6000,
        ),
    ),
    Place(
        "jumps every 50 rounds, σ = 0.3, T = 1500",
        fresh(
            DrawnPath(function=_turning, dim=2, change_points=tuple(range(51, 1500, 50))),
            count=10,
            noise=Gaussian(0.3),
            horizon=1500,
        ),
    ),
    Place(
        "d = 3, no change, σ = 1, T = 20,000",
        fresh(RandomJumps(dim=3, change_points=()), count=10, noise=Gaussian(1.0), horizon=20_000),
    ),
    Place(
        "random walk in d = 5",
        fresh(DrawnPath(function=_walk_within_the_ball, dim=5), count=20, noise=Gaussian(0.5)),
    ),
    Place(
        "one slow rotation, T = 10,000",
        fresh(Periodic(period=10_000), count=10, noise=Gaussian(0.5), horizon=10_000),
    ),
)
