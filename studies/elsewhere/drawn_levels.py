"""Moving levels drawn at random: swings, walks and jumps of any size and pace.

Two to ten arms share the level. In every fifth environment the arms change places half way.

`DRAWN_LEVELS` showed that jumps of many σ were expensive, which led to `adaptive/jumps.py`. Its two
constants were chosen with them, and with thirty jumping levels that are not listed here.
`JUMPING_LEVELS` are thirty more, drawn afterwards and set apart: nothing was chosen by them.
"""

from __future__ import annotations

import numpy as np

from driftbandits.environments import (
    Environment,
    Gaussian,
    ParameterPath,
    PiecewiseConstant,
    Swing,
    Trajectory,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)

from .place import Place

HORIZON = 6000
COUNT = 30
SEED, LATER_SEED = 2026, 2027


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def _level(kind: str, generator: np.random.Generator) -> tuple[ParameterPath, str]:
    """A level of some kind, and what it does."""
    if kind in _JUMPING:
        return _JUMPING[kind](generator)
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


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _steps(generator: np.random.Generator) -> tuple[ParameterPath, str]:
    count, size = round(_log_uniform(generator, 1, 60)), round(_log_uniform(generator, 0.2, 5.0), 2)
    jumps = np.sort(generator.choice(np.arange(100, HORIZON - 100), count, False))
    values = generator.uniform(-size, size, (count + 1, 1))
    said = f"jumps {_counted(count, 'time')} within ±{size}"
    return PiecewiseConstant(values, tuple(jumps.tolist())), said


def _square_wave(generator: np.random.Generator) -> tuple[ParameterPath, str]:
    size, period = (
        round(_log_uniform(generator, 0.2, 5.0), 2),
        int(_log_uniform(generator, 60, 4000)),
    )
    phases = (np.arange(HORIZON) + generator.integers(period)) % period
    high = phases < period * generator.uniform(0.2, 0.8)
    said = f"switches between ±{size}, every {period} rounds"
    return Trajectory(np.where(high, size, -size)[:, None]), said


def _promotions(generator: np.random.Generator) -> tuple[ParameterPath, str]:
    size = round(_log_uniform(generator, 0.2, 5.0) * generator.choice([-1, 1]), 2)
    level, count = np.zeros((HORIZON, 1)), int(generator.integers(1, 12))
    for start in generator.integers(HORIZON, size=count):
        level[start : start + int(_log_uniform(generator, 20, 500))] = size
    return Trajectory(level), f"has {_counted(count, 'promotion')} of {size:+}"


_JUMPING = {"steps": _steps, "square wave": _square_wave, "promotions": _promotions}


def _place(number: int, kinds: tuple[str, ...], generator: np.random.Generator) -> Place:
    arms, noise = int(generator.integers(2, 11)), round(_log_uniform(generator, 0.1, 1.0), 2)
    means = generator.uniform(0.0, 1.0, arms) * generator.uniform(0.3, 1.0)
    level, said = _level(kinds[number % len(kinds)], generator)
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


def _places(kinds: tuple[str, ...], seed: int) -> tuple[Place, ...]:
    generator = np.random.default_rng(seed)
    return tuple(_place(number, kinds, generator) for number in range(COUNT))


DRAWN_LEVELS = _places(("swing", "walk", "jumps"), SEED)
JUMPING_LEVELS = _places(tuple(_JUMPING), LATER_SEED)
