"""Environments set apart from those that `AdaptiveLinUCB` was made with.

They were written afterwards: new mixtures of levels, units, launches, wear, sales, clicks and late
rewards. Sales over contexts led to a change of the law for outliers on one side. If a policy is
changed because of results here, it needs new environments for testing.
"""

from __future__ import annotations

import numpy as np

from driftbandits.environments import (
    ActionsInUnits,
    Bernoulli,
    Catalogue,
    ClippedCube,
    Environment,
    Gaussian,
    GeometricDelay,
    Kronecker,
    Launches,
    Missing,
    PathInUnits,
    PiecewiseConstant,
    RandomJumps,
    RandomWalk,
    Rotting,
    Sales,
    Sphere,
    Swing,
    SwitchingArm,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)

from .place import Place

_HORIZON = 6000
_CORNERS = np.array([[1, 1, 0], [1, -1, 0], [0, 1, 1], [0, -1, 1]]) / np.sqrt(2)
_UNITS = (1.0, 50.0, 0.2)

ASIDE = (
    Place(
        "the level jumps by up to 2, six arms stay",
        Environment(
            path=WithLevel(
                path=PiecewiseConstant([[0.2, 0.45, 0.0, 0.5, 0.1, 0.3]]),
                level=PiecewiseConstant([[0.0], [1.5], [-0.5], [0.5]], (1201, 2901, 4301)),
            ),
            actions=WithIntercept(actions=canonical_basis(6)),
            noise=Gaussian(0.4),
            horizon=_HORIZON,
        ),
        action_bound=2**0.5,
        theta_bound=1.0,
    ),
    Place(
        "a wandering level over fresh contexts, one jump",
        Environment(
            path=WithLevel(path=RandomJumps(dim=3, change_points=(3001,)), level=Wander(step=0.03)),
            actions=WithIntercept(actions=ClippedCube(dim=3, count=12), scale=0.7),
            noise=Gaussian(0.4),
            horizon=_HORIZON,
        ),
        action_bound=0.7 * 2**0.5,
        theta_bound=1.0,
    ),
    Place(
        "four fixed items in three units, two jumps",
        Environment(
            path=PathInUnits(path=RandomJumps(dim=3, change_points=(2001, 4001)), units=_UNITS),
            actions=ActionsInUnits(actions=Catalogue(_CORNERS), units=_UNITS),
            noise=Gaussian(0.5),
            horizon=_HORIZON,
        ),
        action_bound=36.0,
        theta_bound=1.0,
    ),
    Place(
        "three launches, each better than the last",
        Environment(
            path=PiecewiseConstant([[0.25, 0.2, 0.3, 0.4, 0.5, 0.6]]),
            actions=Launches(dim=6, rounds=(1001, 2501, 4001)),
            noise=Gaussian(0.4),
            horizon=_HORIZON,
        ),
        theta_bound=1.0,
    ),
    Place(
        "arms that wear out under a level that swings",
        Environment(
            path=WithLevel(
                path=Rotting(heights=[0.5, 0.7, 0.3], lives=[5000, 1500, 50_000]),
                level=Swing(size=0.5, period=700),
                intercept=False,
            ),
            actions=canonical_basis(3),
            noise=Gaussian(0.3),
            horizon=_HORIZON,
        ),
        theta_bound=1.0,
    ),
    Place(
        "clicks of 2 to 4%, six arms, 40% of them not reported",
        Environment(
            path=PiecewiseConstant(
                [[0.03, 0.025, 0.04, 0.02, 0.035, 0.03], [0.03, 0.04, 0.02, 0.035, 0.025, 0.03]],
                (7501,),
            ),
            actions=canonical_basis(6),
            noise=Bernoulli(),
            horizon=15_000,
            delays=Missing(share=0.4),
        ),
        theta_bound=0.08,
        noise=0.2,
    ),
    Place(
        "sales over contexts, 30 rounds late on average",
        Environment(
            path=WithLevel(
                path=RandomWalk(dim=2, step=0.01, norm=0.2), level=PiecewiseConstant([[0.3]])
            ),
            actions=WithIntercept(actions=Sphere(dim=2, count=6), scale=0.7),
            noise=Sales(rate=0.2, spread=0.6),
            horizon=8000,
            delays=GeometricDelay(30.0),
        ),
        action_bound=0.7 * 2**0.5,
        theta_bound=0.37,
        noise=0.8,  # at a mean of 0.33: 0.33 √(1.43/0.2 − 1)
    ),
    Place(
        "five arms take turns as the best, σ = 1, an intercept that means nothing",
        Environment(
            path=WithLevel(
                path=SwitchingArm(dim=5, change_points=(2001, 4001)),
                level=PiecewiseConstant([[0.0]]),
            ),
            actions=WithIntercept(actions=canonical_basis(5)),
            noise=Gaussian(1.0),
            horizon=_HORIZON,
        ),
        action_bound=2**0.5,
        theta_bound=1.0,
    ),
    Place(
        "one model per arm, late and missing rewards, one jump",
        Environment(
            path=RandomJumps(dim=12, change_points=(3001,)),
            actions=Kronecker(
                contexts=WithIntercept(actions=ClippedCube(dim=3, count=1), scale=0.7), arms=3
            ),
            noise=Gaussian(0.3),
            horizon=_HORIZON,
            delays=Missing(share=0.2, delays=GeometricDelay(40.0)),
        ),
        action_bound=0.7 * 2**0.5,
    ),
)
