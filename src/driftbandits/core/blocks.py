"""Blocks: what environments draw and policies play, many rounds at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Array

# Among the steps of a block: the next round is played. Others are rows of `Waiting`.
PLAY = -1
# Where a reward is kept that does not wait.
AT_ONCE, NEVER = -1, -2


class BlockError(ValueError):
    """A policy cannot play these rounds: their dimension or the norm of an action does not fit."""


class Arrivals(NamedTuple):
    """In which order rounds are played and rewards are heard of; the same for all who play."""

    kept: npt.NDArray[np.int64]  # (n,), row of `Waiting` for a round's reward, AT_ONCE or NEVER
    steps: npt.NDArray[np.int64]  # PLAY n times, and the row of a reward where it comes
    rows: int  # that `Waiting` needs

    @classmethod
    def on_time(cls, rounds: int) -> Arrivals:
        """Every reward is heard of at once."""
        kept, steps = (np.full(rounds, value, dtype=np.int64) for value in (AT_ONCE, PLAY))
        return cls(kept, steps, 0)

    def fit(self, rounds: int) -> bool:
        """Whether they can be those of so many rounds: compiled code reads by them."""
        played = np.count_nonzero(self.steps == PLAY)
        named = np.concatenate([self.kept, self.steps])
        within = ((named >= NEVER) & (named < self.rows)).all() and (self.steps >= PLAY).all()
        return bool(self.kept.shape == (rounds,) and played == rounds and within)


class Waiting:
    """What one player has played and not heard of yet: rows of an action, its reward, its round."""

    def __init__(self, dim: int) -> None:
        self.rows: Array = np.empty((0, dim + 2))

    def reserve(self, count: int) -> None:
        """Have ``count`` rows or more; those in use stay."""
        missing = count - len(self.rows)
        if missing > 0:
            self.rows = np.concatenate([self.rows, np.zeros((missing, self.rows.shape[1]))])


class Block(NamedTuple):
    """Consecutive rounds of an environment, for all policies to play."""

    first: int  # its first round, counted from 1
    actions: Array  # (n or 1, d, K), one column per action
    parameters: Array  # (n, d), θ_t
    means: Array  # (n, K), ⟨a, θ_t⟩
    best: Array  # (n,), their maxima
    noise: Array  # (n, K or 1)
    longest: float  # largest norm of an action
    arrivals: Arrivals | None = None  # when rewards are heard of; None: at once

    @property
    def rounds(self) -> int:
        """Number n of rounds."""
        return len(self.best)

    @property
    def last(self) -> int:
        """Its last round."""
        return self.first + self.rounds - 1
