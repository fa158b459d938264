"""Noise on rewards.

``start(generator)`` returns a function of the actions (n or 1, d, K) and of their means (n, K). It
gives the noise of the next n rounds: (n, 1) if all actions of a round share it, (n, K) if it
depends on the action.
``level`` is the sub-Gaussian constant σ to give to policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array, float_array, non_negative, open_unit

Draw = Callable[[Array, Array], Array]


class Noise(Protocol):
    """The interface of noise."""

    @property
    def level(self) -> float:
        """Sub-Gaussian constant σ."""

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""


@dataclass(frozen=True)
class Gaussian:
    """Normal noise.

    Attributes:
        level: Standard deviation.
    """

    level: float

    def __post_init__(self) -> None:
        non_negative("level", self.level)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""
        return lambda actions, means: self.level * generator.standard_normal((len(means), 1))


@dataclass(frozen=True)
class Bounded:
    """Uniform noise on [−level, level], which is sub-Gaussian with constant ``level``.

    Attributes:
        level: Largest size of the noise.
    """

    level: float

    def __post_init__(self) -> None:
        non_negative("level", self.level)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""
        return lambda actions, means: generator.uniform(-self.level, self.level, (len(means), 1))


@dataclass(frozen=True)
class Bernoulli:
    """Clicks: noise that makes rewards 0 or 1, and 1 with probability ⟨a, θ⟩.

    Means must lie in [0, 1]. All actions of a round share one draw. So a visitor who clicks on one
    action would also click on every action with a larger mean.
    """

    @property
    def level(self) -> float:
        """Sub-Gaussian constant σ = ½, the largest of all means; a mean of ½ needs it."""
        return 0.5

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""

        def draw(actions: Array, means: Array) -> Array:
            if not ((means >= 0) & (means <= 1)).all():
                least, most = float(means.min()), float(means.max())
                raise ValueError(f"means must lie in [0, 1] for clicks, got {least:g} to {most:g}")
            return np.asarray((generator.random((len(means), 1)) < means) - means)

        return draw


@dataclass(frozen=True, kw_only=True)
class Sales:
    """Sales: noise that makes rewards 0 or, sometimes, log-normal, with mean ⟨a, θ⟩.

    Means must be 0 or above. All actions of a round share one draw: whether there is a sale, and
    its size divided by the mean. The standard deviation at mean m is m √(exp(spread²)/rate − 1).

    Attributes:
        rate: Share of the rounds with a sale.
        spread: Standard deviation of the logarithm of a sale.
    """

    rate: float
    spread: float

    def __post_init__(self) -> None:
        open_unit("rate", self.rate)
        non_negative("spread", self.spread)

    @property
    def level(self) -> float:
        """Standard deviation at mean 1; no sub-Gaussian constant exists."""
        return math.sqrt(math.exp(self.spread**2) / self.rate - 1.0)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""
        last_sold = NormalDist().inv_cdf(self.rate)

        def draw(actions: Array, means: Array) -> Array:
            if not (means >= 0).all():
                raise ValueError(f"means must be 0 or above for sales, got {float(means.min()):g}")
            # Draw both numbers of a round together, so that the cuts between blocks change nothing.
            sold, size = generator.standard_normal((len(means), 2)).T[:, :, None]
            sizes = np.exp(self.spread * size - self.spread**2 / 2.0) / self.rate
            return np.asarray(means * (np.where(sold < last_sold, sizes, 0.0) - 1.0))

        return draw


@dataclass(frozen=True)
class Heteroscedastic:
    """Normal noise whose standard deviation depends on the action.

    Attributes:
        scale: ``scale(actions)`` maps actions (n, d, K) to standard deviations (n, K).
        level: Upper bound of these standard deviations, to give to policies.
    """

    scale: Callable[[Array], Array]
    level: float

    def __post_init__(self) -> None:
        non_negative("level", self.level)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""

        def draw(actions: Array, means: Array) -> Array:
            scales = np.asarray(self.scale(actions), dtype=np.float64)
            if not ((scales >= 0) & (scales <= self.level)).all():
                raise ValueError(f"scale must lie between 0 and level = {self.level}")
            return np.ascontiguousarray(scales * generator.standard_normal((len(means), 1)))

        return draw


@dataclass(frozen=True)
class NoiseSequence:
    """Noise given as an array.

    Attributes:
        values: Shape (T,), or (T, K) if the noise depends on the action.
        level: Sub-Gaussian constant to give to policies.
    """

    values: Any
    level: float

    def __post_init__(self) -> None:
        non_negative("level", self.level)
        values = np.asarray(self.values)
        rows = values[:, None] if values.ndim == 1 else values
        object.__setattr__(self, "values", float_array("values", rows, ndim=2))

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the noise at the first round."""
        position = 0

        def draw(actions: Array, means: Array) -> Array:
            nonlocal position
            rounds = len(means)
            rows = self.values[position : position + rounds]
            if len(rows) < rounds:
                raise ValueError(f"noise values end after round {len(self.values)}")
            position += rounds
            return np.ascontiguousarray(rows)

        return draw
