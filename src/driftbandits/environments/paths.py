"""Parameter paths: the hidden parameter θ_t of each round.

A path is a frozen description. ``start(generator)`` opens it at round 1 and returns a function
that gives the parameters of the next n rounds, shape (n, d). So the whole horizon need not fit in
memory. Only random paths use the generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array, float_array, positive, whole
from ..core.compiling import entry_point

Draw = Callable[[int], Array]


class ParameterPath(Protocol):
    """The interface of a path."""

    @property
    def dim(self) -> int:
        """Length d of the parameter."""

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds, counted from 1, that begin with a jump; empty if the path moves gradually."""

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""


@dataclass(frozen=True)
class PiecewiseConstant:
    """θ = values[j] from the j-th change point on: abrupt changes.

    Attributes:
        values: Parameters, shape (changes + 1, d).
        change_points: First round of each next value, increasing.

    Examples:
        >>> path = PiecewiseConstant(values=[[1.0], [-1.0]], change_points=(3,))
        >>> path.start(np.random.default_rng())(4).ravel()
        array([ 1.,  1., -1., -1.])
    """

    values: Any
    change_points: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", float_array("values", self.values, ndim=2))
        for point in self.change_points:
            whole("change_points", point, least=2)
        points = tuple(int(point) for point in self.change_points)
        object.__setattr__(self, "change_points", points)
        if len(points) != len(self.values) - 1:
            raise ValueError(
                f"change_points must be one fewer than values, got {len(points)} "
                f"for {len(self.values)}"
            )
        if list(points) != sorted(set(points)):
            raise ValueError(f"change_points must increase, got {points}")

    @property
    def dim(self) -> int:
        """Length d of the parameter."""
        return int(self.values.shape[1])

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        points = np.array(self.change_points)
        return by_round(
            lambda rounds: self.values.take(points.searchsorted(rounds, side="right"), axis=0)
        )


@dataclass(frozen=True)
class Rotation:
    """θ turns in the plane of the first two axes by ``angle`` in ``rounds`` rounds, then stays.

    Attributes:
        angle: Angle of the whole turn, in radians.
        rounds: Number of rounds of the turn, at constant speed.
        dim: Length d of the parameter, at least 2.
        norm: Norm of the parameter.
    """

    angle: float
    rounds: int
    dim: int = 2
    norm: float = 1.0
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        whole("rounds", self.rounds, least=1)
        whole("dim", self.dim, least=2)
        positive("norm", self.norm)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        return by_round(self._at)

    def _at(self, rounds: Array) -> Array:
        turned = self.angle * np.minimum((rounds - 1) / self.rounds, 1.0)
        return _on_circle(turned, self.dim, self.norm)


@dataclass(frozen=True)
class Periodic:
    """θ turns in the plane of the first two axes, one full circle per ``period`` rounds, forever.

    Attributes:
        period: Number of rounds per circle.
        dim: Length d of the parameter, at least 2.
        norm: Norm of the parameter.
    """

    period: int
    dim: int = 2
    norm: float = 1.0
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        whole("period", self.period, least=2)
        whole("dim", self.dim, least=2)
        positive("norm", self.norm)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        return by_round(self._at)

    def _at(self, rounds: Array) -> Array:
        return _on_circle(2.0 * np.pi * (rounds - 1) / self.period, self.dim, self.norm)


@dataclass(frozen=True)
class RandomWalk:
    """θ walks on the sphere: θ' ∝ θ + step · N(0, I), from a random start.

    Attributes:
        step: Standard deviation of a step in each coordinate.
        dim: Length d of the parameter.
        norm: Norm of the parameter.
    """

    step: float
    dim: int = 2
    norm: float = 1.0
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        positive("step", self.step)
        whole("dim", self.dim, least=2)
        positive("norm", self.norm)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        position = generator.standard_normal(self.dim)
        position /= np.linalg.norm(position)

        def draw(count: int) -> Array:
            walk = generator.standard_normal((count, self.dim))
            _walk_entry(walk, position, self.step)
            return walk * self.norm

        return draw


@dataclass(frozen=True)
class Trajectory:
    """θ_t given as an array, for any path.

    Attributes:
        parameters: Shape (T, d); the last row holds for all later rounds.
    """

    parameters: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", float_array("parameters", self.parameters, ndim=2))
        whole("number of parameters", len(self.parameters), least=1)

    @property
    def dim(self) -> int:
        """Length d of the parameter."""
        return int(self.parameters.shape[1])

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds whose parameter differs from the parameter of the round before."""
        moved = np.any(np.diff(self.parameters, axis=0) != 0, axis=1)
        return tuple(int(i) + 2 for i in np.flatnonzero(moved))

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        return by_round(self._at)

    def _at(self, rounds: Array) -> Array:
        rows = np.minimum(rounds.astype(np.int64), len(self.parameters)) - 1
        return np.asarray(self.parameters[rows])


def by_round(at: Callable[[Array], Array]) -> Draw:
    """Draw blocks of a path that is a function of the round."""
    position = 1

    def draw(count: int) -> Array:
        nonlocal position
        rounds = np.arange(position, position + count, dtype=np.float64)
        position += count
        return at(rounds)

    return draw


def _on_circle(angles: Array, dim: int, norm: float) -> Array:
    parameters = np.zeros((len(angles), dim))
    parameters[:, 0] = norm * np.cos(angles)
    parameters[:, 1] = norm * np.sin(angles)
    return parameters


def _walk(walk: Array, position: Array, step: float) -> None:
    """Turn normal draws (n, d) into the walk that starts at ``position``; update ``position``."""
    for t in range(walk.shape[0]):
        total = 0.0
        for i in range(position.size):
            moved = position[i] + step * walk[t, i]
            walk[t, i] = position[i]
            position[i] = moved
            total += moved * moved
        for i in range(position.size):
            position[i] /= np.sqrt(total)


_walk_entry = entry_point(_walk, "path")
