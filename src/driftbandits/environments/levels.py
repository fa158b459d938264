"""A level that all rewards share: its paths, and the constant feature that represents it.

The level does not affect which action is best. Examples: time of day, a season, a promotion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array, finite, non_negative, positive
from . import actions as action_sets
from .actions import ActionSet
from .paths import Draw, ParameterPath, by_round


@dataclass(frozen=True, kw_only=True)
class Swing:
    """One number that swings like a sine: size · sin(2π((t − 1)/period + u)), u uniform on [0, 1).

    Attributes:
        size: Largest distance from zero.
        period: Number of rounds per swing.
    """

    size: float
    period: float
    dim: int = field(default=1, init=False)
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        finite("size", self.size)
        positive("period", self.period)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        start = generator.random()

        def at(rounds: Array) -> Array:
            phases = (rounds - 1) / self.period + start
            return np.asarray(self.size * np.sin(2.0 * np.pi * phases)[:, None])

        return by_round(at)


@dataclass(frozen=True, kw_only=True)
class Wander:
    """One number on a random walk from zero; it takes a step before each round.

    Attributes:
        step: Standard deviation of a step.
    """

    step: float
    dim: int = field(default=1, init=False)
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        non_negative("step", self.step)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        position = 0.0

        def draw(rounds: int) -> Array:
            nonlocal position
            steps = self.step * generator.standard_normal(rounds)
            steps[:1] += position
            walk = np.cumsum(steps)
            position = float(walk[-1]) if rounds else position
            return np.asarray(walk[:, None])

        return draw


@dataclass(frozen=True, kw_only=True)
class WithLevel:
    """A path with a level: (level, θ), for actions `WithIntercept`.

    Attributes:
        path: Path of θ, the rest of the parameter.
        level: Path of the level, with dim 1.
        intercept: Whether the first feature of the actions represents the level. If not, the
            level is added to every coordinate of θ, which is equivalent for basis actions.
    """

    path: ParameterPath
    level: ParameterPath
    intercept: bool = True

    def __post_init__(self) -> None:
        if self.level.dim != 1:
            raise ValueError(f"level must have dim 1, got {self.level.dim}")

    @property
    def dim(self) -> int:
        """Length d of the parameter."""
        return self.path.dim + self.intercept

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds that begin with a jump of θ or of the level."""
        return tuple(sorted({*self.path.change_points, *self.level.change_points}))

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        # Two streams: with one, the cuts between blocks would change which part draws which number.
        draw_path = self.path.start(generator.spawn(1)[0])
        draw_level = self.level.start(generator)

        def draw(rounds: int) -> Array:
            level, rest = draw_level(rounds), draw_path(rounds)
            return np.concatenate([level, rest], axis=1) if self.intercept else level + rest

        return draw


@dataclass(frozen=True, kw_only=True)
class WithIntercept:
    """scale · (1, a): a feature that is the same for all actions, before the features a.

    Attributes:
        actions: The action set that a is drawn from.
        scale: Factor for all features.
    """

    actions: ActionSet
    scale: float = 1.0

    def __post_init__(self) -> None:
        positive("scale", self.scale)

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return self.actions.dim + 1

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return self.actions.count

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        draw_actions = self.actions.start(generator)

        def draw(rounds: int) -> Array:
            columns = draw_actions(rounds)
            return self.scale * np.concatenate([np.ones_like(columns[:, :1]), columns], axis=1)

        return draw
