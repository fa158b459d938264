"""Arms that wear out, and arms that are launched later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Array, float_array, whole
from . import actions as action_sets
from . import paths


@dataclass(frozen=True, kw_only=True)
class Rotting:
    """Means that wear out: coordinate i is heights[i] · exp(−(t − 1)/lives[i]).

    Attributes:
        heights: Means in round 1, shape (d,).
        lives: Number of rounds in which each mean falls by a factor e, shape (d,); above 0.
    """

    heights: Any
    lives: Any
    change_points: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        for name in ("heights", "lives"):
            object.__setattr__(self, name, float_array(name, getattr(self, name), ndim=1))
        if len(self.heights) != len(self.lives):
            raise ValueError(
                f"lives must be as many as heights, got {len(self.lives)} for {len(self.heights)}"
            )
        if not (self.lives > 0).all():
            raise ValueError(f"lives must be above 0, got {self.lives}")

    @property
    def dim(self) -> int:
        """Length d of the parameter."""
        return len(self.heights)

    def start(self, generator: np.random.Generator) -> paths.Draw:
        """Open the path at its first round."""
        return paths.by_round(
            lambda rounds: self.heights * np.exp(-(rounds[:, None] - 1.0) / self.lives)
        )


@dataclass(frozen=True, kw_only=True)
class Launches:
    """Arms e_1, …, e_d; the last of them are launched later.

    Until its launch, an arm is replaced by a copy of arm 1, so the number of actions is constant.

    Attributes:
        dim: Number d of arms.
        rounds: First round of each late arm, in the order of the arms. At least one arm must be
            there from the start.
    """

    dim: int
    rounds: Any

    def __post_init__(self) -> None:
        whole("dim", self.dim, least=2)
        rounds = tuple(self.rounds)
        for first in rounds:
            whole("rounds", first, least=1)
        if len(rounds) >= self.dim:
            raise ValueError(f"rounds must be fewer than the {self.dim} arms, got {len(rounds)}")
        object.__setattr__(self, "rounds", rounds)

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return self.dim

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        first = np.ones(self.dim, dtype=np.int64)
        first[self.dim - len(self.rounds) :] = self.rounds
        arms, position = np.eye(self.dim), 1

        def draw(rounds: int) -> Array:
            nonlocal position
            now = np.arange(position, position + rounds)
            position += rounds
            there = now[:, None, None] >= first
            return np.ascontiguousarray(np.where(there, arms, arms[:, :1]))

        return draw
