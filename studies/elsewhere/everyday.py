"""Situations that every practitioner meets: moving levels, features of all scales, launches, wear.

They were looked at when `AdaptiveLinUCB` was given a level of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from benchmarks.measure import Array

from driftbandits.environments import (
    ActionSet,
    Catalogue,
    ClippedCube,
    Environment,
    Gaussian,
    Kronecker,
    PiecewiseConstant,
    Trajectory,
)
from driftbandits.environments import actions as action_sets

from .parts import DrawnPath, directions
from .place import Place, drifting_arms

MEANS = np.array([0.6, 0.4, 0.3, 0.2, 0.1])
HORIZON = 6000

Level = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Scaled:
    """Actions whose features are in units of their own."""

    actions: ActionSet
    scales: tuple[float, ...]

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return self.actions.dim

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return self.actions.count

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        draw, units = self.actions.start(generator), np.array(self.scales)
        return lambda rounds: draw(rounds) * units[None, :, None]


@dataclass(frozen=True)
class Launch:
    """Arms of which the last is a copy of the first until it is launched after round ``after``."""

    dim: int
    after: int

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return self.dim

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        position, arms = 0, np.eye(self.dim)
        before = np.column_stack([arms[:, :-1], arms[:, 0]])

        def draw(rounds: int) -> Array:
            nonlocal position
            launched = np.arange(position, position + rounds) >= self.after
            position += rounds
            return np.where(launched[:, None, None], arms, before)

        return draw


def swing(size: float, period: int) -> Level:
    """A sine that starts anywhere."""
    return lambda g: size * np.sin(2 * np.pi * (np.arange(HORIZON) / period + g.random()))


def walk(step: float) -> Level:
    """A random walk."""
    return lambda g: np.cumsum(step * g.standard_normal(HORIZON))


def with_level(level: Level, *, intercept: bool = True, change: bool = False) -> Environment:
    """Five arms whose rewards share a level, with or without a feature for it."""
    means = np.tile(MEANS, (HORIZON, 1))
    if change:
        means[HORIZON // 2 :] = MEANS[::-1]

    def path(generator: np.random.Generator) -> Array:
        drawn = level(generator)
        return np.column_stack([means, drawn]) if intercept else means + drawn[:, None]

    arms = np.eye(5)
    actions = Catalogue(np.column_stack([arms, np.ones(5)]) if intercept else arms)
    return Environment(
        path=DrawnPath(function=path, dim=actions.dim, norm=1.0),
        actions=actions,
        noise=Gaussian(0.5),
        horizon=HORIZON,
    )


def in_units(*scales: float) -> Environment:
    """Ten fresh actions in d = 5, the same but for the units of their features."""
    return Environment(
        path=DrawnPath(function=lambda g: directions(g, 1, 5) / np.array(scales), dim=5),
        actions=Scaled(ClippedCube(dim=5, count=10), scales),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def launch(*means: float) -> Environment:
    """The last arm comes half way."""
    return Environment(
        path=PiecewiseConstant([list(means)], ()),
        actions=Launch(len(means), HORIZON // 2),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def wearing_out() -> Environment:
    """Four arms that lose their charm, the better ones faster."""
    age = np.arange(HORIZON)[:, None]
    heights, lives = np.array([0.8, 0.6, 0.5, 0.4]), np.array([1000, 2000, 4000, 16_000])
    return drifting_arms(Trajectory(heights * np.exp(-age / lives)), noise=Gaussian(0.3))


def many_contexts() -> Environment:
    """A context of six features in each round, and a model for each of three arms."""
    return Environment(
        path=DrawnPath(function=lambda g: directions(g, 1, 18), dim=18),
        actions=Kronecker(contexts=ClippedCube(dim=6, count=1), arms=3),
        noise=Gaussian(0.3),
        horizon=HORIZON,
    )


def _place(title: str, environment: Environment, norm: float = 1.0) -> Place:
    return Place(title, environment, action_bound=norm, theta_bound=1.0)


ROOT = 2**0.5
EVERYDAY = (
    _place("five arms, the level stays", with_level(walk(0.0)), ROOT),
    _place("a level that swings by ±2 in 400 rounds", with_level(swing(2, 400)), ROOT),
    _place("by ±1 in 100 rounds", with_level(swing(1, 100)), ROOT),
    _place("by ±0.5 in 1000 rounds", with_level(swing(0.5, 1000)), ROOT),
    _place("by ±0.25 in 2000 rounds", with_level(swing(0.25, 2000)), ROOT),
    _place("a level on a random walk, steps of 0.2", with_level(walk(0.2)), ROOT),
    _place("steps of 0.05", with_level(walk(0.05)), ROOT),
    _place("steps of 0.01", with_level(walk(0.01)), ROOT),
    _place(
        "by ±0.25 in 2000, and the arms change", with_level(swing(0.25, 2000), change=True), ROOT
    ),
    _place("by ±2 in 400 rounds, no intercept", with_level(swing(2, 400), intercept=False)),
    _place("by ±1 in 300, and the arms change", with_level(swing(1, 300), change=True), ROOT),
    _place("five features in the same units", in_units(1, 1, 1, 1, 1)),
    _place("one feature in units of 1/300", in_units(300, 1, 1, 1, 1), 301.0),
    _place("a launch, the new arm is best", launch(0.5, 0.4, 0.3, 0.2, 0.6)),
    _place("a launch, the new arm is worst", launch(0.5, 0.4, 0.3, 0.2, 0.1)),
    _place("four arms that wear out", wearing_out()),
    _place("many contexts, three arms, no change", many_contexts()),
)
