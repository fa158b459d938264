"""Moving levels drawn at random: swings, walks and jumps of any size and pace, set apart.

Two to ten arms share the level. In every fifth environment the arms change places half way. These
were drawn after `AdaptiveLinUCB` was fixed. Thirty others, drawn in the same way, had been looked
at: there, jumps upwards were taken for falls, which led to a change.
"""

from __future__ import annotations

import numpy as np

from driftbandits.environments import (
    Environment,
    Gaussian,
    ParameterPath,
    PiecewiseConstant,
    Swing,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)

from .place import Place

HORIZON = 6000
COUNT = 30
SEED = 2026


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def _level(kind: str, generator: np.random.Generator) -> tuple[ParameterPath, str]:
    """A level, and what it does."""
    if kind == "swing":
        size = round(_log_uniform(generator, 0.25, 5.0), 2)
        period = round(_log_uniform(generator, 60.0, 4000.0))
        return Swing(size=size, period=period), f"swings by ±{size} in {period} rounds"
    if kind == "walk":
        step = round(_log_uniform(generator, 0.005, 0.2), 3)
        return Wander(step=step), f"walks in steps of {step}"
    jumps = generator.choice(np.arange(200, HORIZON - 200), generator.integers(2, 12), False)
    values = generator.uniform(-2.0, 2.0, (len(jumps) + 1, 1))
    path = PiecewiseConstant(values, tuple(sorted(jumps.tolist())))
    return path, f"jumps {len(jumps)} times"


def _place(number: int, generator: np.random.Generator) -> Place:
    arms, noise = int(generator.integers(2, 11)), round(_log_uniform(generator, 0.1, 1.0), 2)
    means = generator.uniform(0.0, 1.0, arms) * generator.uniform(0.3, 1.0)
    level, said = _level(("swing", "walk", "jumps")[number % 3], generator)
    change, intercept = number % 5 == 4, bool(generator.integers(2))
    path = PiecewiseConstant([means])
    if change:
        path = PiecewiseConstant([means, generator.permutation(means)], (HORIZON // 2 + 1,))
    basis = canonical_basis(arms)
    environment = Environment(
        path=WithLevel(path=path, level=level, intercept=intercept),
        actions=WithIntercept(actions=basis) if intercept else basis,
        noise=Gaussian(noise),
        horizon=HORIZON,
    )
    changes = ", which change places" if change else ""
    return Place(
        f"{number + 1}: {said}, {arms} arms{changes}, σ = {noise}",
        environment,
        action_bound=2**0.5 if intercept else 1.0,
        theta_bound=1.0,
    )


_GENERATOR = np.random.default_rng(SEED)
DRAWN_LEVELS = tuple(_place(number, _GENERATOR) for number in range(COUNT))
