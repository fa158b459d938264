"""Parts of environments that the library does not have: a path, an action set, and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.measure import Array

from driftbandits.core.arrays import float_array
from driftbandits.environments import ActionSet, Trajectory, paths
from driftbandits.environments import actions as action_sets
from driftbandits.environments import noise as noises


@dataclass(frozen=True, kw_only=True)
class DrawnPath:
    """A path from any function, called once per replication.

    Attributes:
        function: ``function(generator)`` returns θ_1, θ_2, …, shape (n, d); the last row holds for
            all later rounds.
        dim: Length d of the parameter.
        norm: Largest norm that the parameter can have.
        change_points: Rounds that begin with a jump; empty if the path moves gradually.
    """

    function: Callable[[np.random.Generator], Array]
    dim: int
    norm: float = 1.0
    change_points: tuple[int, ...] = ()

    def start(self, generator: np.random.Generator) -> paths.Draw:
        """Open the path at its first round."""
        return Trajectory(self.function(generator)).start(generator)


@dataclass(frozen=True)
class Frozen:
    """A catalogue drawn anew in each replication: the first round of ``actions``."""

    actions: ActionSet

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return self.actions.dim

    @property
    def count(self) -> int:
        """Number K of actions."""
        return self.actions.count

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        columns = self.actions.start(generator)(1)
        return lambda rounds: columns


@dataclass(frozen=True, kw_only=True)
class StudentT:
    """Heavy-tailed noise: ``scale`` times Student's t. Policies get its standard deviation."""

    scale: float
    degrees: int

    @property
    def level(self) -> float:
        """Standard deviation; no sub-Gaussian constant exists."""
        return self.scale * float(np.sqrt(self.degrees / (self.degrees - 2)))

    def start(self, generator: np.random.Generator) -> noises.Draw:
        """Open the noise at the first round."""
        return lambda _, means: self.scale * generator.standard_t(self.degrees, (len(means), 1))


@dataclass(frozen=True)
class WanderingNoise:
    """Normal noise with a given level per round; policies get the largest level.

    Attributes:
        levels: Standard deviations, shape (T,).
    """

    levels: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", float_array("levels", self.levels, ndim=1))

    @property
    def level(self) -> float:
        """Sub-Gaussian constant σ."""
        return float(self.levels.max())

    def start(self, generator: np.random.Generator) -> noises.Draw:
        """Open the noise at the first round."""
        position = 0

        def draw(actions: Array, means: Array) -> Array:
            nonlocal position
            rounds = len(means)
            levels = self.levels[position : position + rounds, None]
            position += rounds
            return np.asarray(levels * generator.standard_normal((rounds, 1)))

        return draw


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """Normal noise of deviation ``usual``, or ``large`` in a ``share`` of the rounds."""

    usual: float
    large: float
    share: float

    @property
    def level(self) -> float:
        """Standard deviation over all rounds."""
        return float(np.hypot(self.usual * (1 - self.share) ** 0.5, self.large * self.share**0.5))

    def start(self, generator: np.random.Generator) -> noises.Draw:
        """Open the noise at the first round."""

        def draw(actions: Array, means: Array) -> Array:
            rounds = len(means)
            outlying = generator.random((rounds, 1)) < self.share
            scale = np.where(outlying, self.large, self.usual)
            return np.asarray(scale * generator.standard_normal((rounds, 1)))

        return draw


def directions(generator: np.random.Generator, *shape: int) -> Array:
    """Uniform on the unit sphere, along the last axis."""
    points = generator.standard_normal(shape)
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True))
