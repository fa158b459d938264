"""Rewards that are mostly similar and sometimes very different.

They were looked at when `AdaptiveLinUCB` got its model of the tails of the noise. Titles and order
are as in the table of docs/results/adaptive.md. If no useful sub-Gaussian constant exists,
D-LinUCB is told the standard deviation at the arm that is best in the first round.
"""

from __future__ import annotations

from driftbandits.environments import (
    Bernoulli,
    Environment,
    PiecewiseConstant,
    RandomJumps,
    Sales,
    Sphere,
    WithIntercept,
    WithLevel,
)

from .parts import Outliers
from .place import Place, arms, fresh

_CLICK_RATE, _TASTE = 0.05, 0.03
_CLICK_NOISE = 0.22  # √(0.05 · 0.95)
_SALE_NOISE = 1.5  # 0.3 √(1.28/0.05 − 1)
_ONE_IN_TWENTY = Outliers(usual=0.1, large=1.5, share=0.05)


def _clicked_arms(*means: list[float], changes: tuple[int, ...] = ()) -> Environment:
    return arms(*means, changes=changes, noise=Bernoulli(), horizon=20_000)


def _clicked_items(*changes: int) -> Environment:
    """Click rates of 1.4 to 5.6%; the taste changes at each of the rounds ``changes``."""
    return Environment(
        noise=Bernoulli(),
        path=WithLevel(
            path=RandomJumps(dim=4, norm=_TASTE, change_points=changes),
            level=PiecewiseConstant([[_CLICK_RATE]]),
        ),
        actions=WithIntercept(actions=Sphere(dim=4, count=10), scale=0.7),
        horizon=12_000,
    )


def _sales(*means: list[float], changes: tuple[int, ...] = ()) -> Environment:
    return arms(*means, changes=changes, noise=Sales(rate=0.05, spread=0.5), horizon=10_000)


OUTLYING = (
    Place(
        "four arms with click rates of 1 to 5%, no change, T = 20,000",
        _clicked_arms([0.05, 0.03, 0.02, 0.01]),
        noise=_CLICK_NOISE,
    ),
    Place(
        "the same, one change",
        _clicked_arms([0.05, 0.03, 0.02, 0.01], [0.02, 0.03, 0.02, 0.06], changes=(10_001,)),
        noise=_CLICK_NOISE,
    ),
    Place(
        "ten fresh items with click rates of 1 to 6%, no change, T = 12,000",
        _clicked_items(),
        action_bound=0.7 * 2**0.5,
        noise=_CLICK_NOISE,
    ),
    Place(
        "the same, another taste after half of it",
        _clicked_items(6001),
        action_bound=0.7 * 2**0.5,
        noise=_CLICK_NOISE,
    ),
    Place(
        "d = 3, one reward in 20 far off, no change",
        fresh(RandomJumps(dim=3, change_points=()), count=10, noise=_ONE_IN_TWENTY),
    ),
    Place(
        "the same, one jump",
        fresh(RandomJumps(dim=3, change_points=(3001,)), count=10, noise=_ONE_IN_TWENTY),
    ),
    Place(
        "five arms, one reward in 20 far off, no change",
        arms([1.0, 0.8, 0.7, 0.5, 0.4], noise=_ONE_IN_TWENTY),
    ),
    Place(
        "three arms, a sale in 5% of the rounds, no change",
        _sales([0.3, 0.2, 0.1]),
        noise=_SALE_NOISE,
    ),
    Place(
        "three arms, a sale in 5% of the rounds, one turns best unseen",
        _sales([0.3, 0.2, 0.1], [0.3, 0.2, 0.6], changes=(5001,)),
        noise=_SALE_NOISE,
    ),
)
