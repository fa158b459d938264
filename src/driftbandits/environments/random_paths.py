"""Parameter paths that jump at given rounds. Each replication draws its own values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, open_unit, positive, whole
from .paths import Draw, PiecewiseConstant


@dataclass(frozen=True, kw_only=True)
class RandomJumps:
    """θ starts uniform on a sphere, and jumps on it.

    Attributes:
        dim: Length d of the parameter, at least 2.
        change_points: First round of each next value, increasing.
        norm: Norm of the parameter.
        angle: Largest angle of a jump, in radians. A jump has an angle uniform on [0, angle] and a
            uniform direction. None: each jump is to a uniform point of the sphere.
    """

    dim: int
    change_points: tuple[int, ...]
    norm: float = 1.0
    angle: float | None = None

    def __post_init__(self) -> None:
        whole("dim", self.dim, least=2)
        positive("norm", self.norm)
        if self.angle is not None:
            positive("angle", self.angle)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        values = [_direction(generator, self.dim)]
        for _ in self.change_points:
            values.append(self._next(values[-1], generator))
        path = PiecewiseConstant(self.norm * np.array(values), self.change_points)
        return path.start(generator)

    def _next(self, last: Array, generator: np.random.Generator) -> Array:
        target = _direction(generator, self.dim)
        if self.angle is None:
            return target
        tangent = target - (target @ last) * last
        tangent /= np.linalg.norm(tangent)
        turned = generator.uniform(0.0, self.angle)
        return np.asarray(np.cos(turned) * last + np.sin(turned) * tangent)


@dataclass(frozen=True, kw_only=True)
class SignFlips:
    """θ starts uniform on a sphere; at a change, some of its coordinates change sign.

    Attributes:
        dim: Length d of the parameter.
        share: Share of the coordinates that change sign, drawn anew at each change.
        change_points: First round of each next value, increasing.
        norm: Norm of the parameter.
    """

    dim: int
    share: float
    change_points: tuple[int, ...]
    norm: float = 1.0

    def __post_init__(self) -> None:
        whole("dim", self.dim, least=1)
        open_unit("share", self.share)
        positive("norm", self.norm)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        values = [self.norm * _direction(generator, self.dim)]
        for _ in self.change_points:
            signs = np.ones(self.dim)
            signs[generator.permutation(self.dim)[: round(self.share * self.dim)]] = -1.0
            values.append(signs * values[-1])
        return PiecewiseConstant(np.array(values), self.change_points).start(generator)


@dataclass(frozen=True, kw_only=True)
class SwitchingArm:
    """One coordinate of θ is large, and each change moves it to another arm: for basis actions.

    Attributes:
        dim: Length d of the parameter, at least 2: the number of arms.
        change_points: First round of each next value, increasing.
        best: The large coordinate.
        others: The other coordinates are uniform on [0, others], drawn anew at each change.
    """

    dim: int
    change_points: tuple[int, ...]
    best: float = 0.75
    others: float = 0.3

    def __post_init__(self) -> None:
        whole("dim", self.dim, least=2)
        positive("others", self.others)
        if self.best <= self.others:
            raise ValueError(f"best must exceed others = {self.others}, got {self.best}")

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the path at its first round."""
        segments = len(self.change_points) + 1
        values = generator.uniform(0.0, self.others, (segments, self.dim))
        # A step of 1 to d − 1 around the circle of arms never ends at the same arm.
        steps = generator.integers(1, self.dim, size=segments)
        values[np.arange(segments), np.cumsum(steps) % self.dim] = self.best
        return PiecewiseConstant(values, self.change_points).start(generator)


def _direction(generator: np.random.Generator, dim: int) -> Array:
    draw = generator.standard_normal(dim)
    return np.asarray(draw / np.linalg.norm(draw))
