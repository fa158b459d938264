"""Blocks of rounds: environments draw them, and policies play them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Array

# A step of a block: PLAY plays the next round; any other is the row of `Waiting` to learn.
PLAY = -1
# Values of `Arrivals.kept` for rewards that do not wait: learned in their round, or never.
AT_ONCE, NEVER = -1, -2


class BlockError(ValueError):
    """A policy cannot play these rounds: their dimension or the norm of an action does not fit."""


class Arrivals(NamedTuple):
    """The order in which rounds are played and rewards arrive; the same for every policy."""

    kept: npt.NDArray[np.int64]  # (n,), row of `Waiting` for a round's reward, AT_ONCE or NEVER
    steps: npt.NDArray[np.int64]  # PLAY n times; in between, rows of rewards that arrive
    rows: int  # how many `Waiting` needs

    @classmethod
    def on_time(cls, rounds: int) -> Arrivals:
        """Arrivals where every reward comes in its own round."""
        kept, steps = (np.full(rounds, value, dtype=np.int64) for value in (AT_ONCE, PLAY))
        return cls(kept, steps, 0)

    def fit(self, rounds: int) -> bool:
        """Whether they fit ``rounds`` rounds: compiled code uses them as indices, unchecked."""
        played = np.count_nonzero(self.steps == PLAY)
        named = np.concatenate([self.kept, self.steps])
        within = ((named >= NEVER) & (named < self.rows)).all() and (self.steps >= PLAY).all()
        return bool(self.kept.shape == (rounds,) and played == rounds and within)


class Waiting:
    """Rounds that a player has played, but whose reward is not in: rows [action, reward, round]."""

    def __init__(self, dim: int) -> None:
        self.rows: Array = np.empty((0, dim + 2))

    def reserve(self, count: int) -> None:
        """Make room for ``count`` rows or more; rows in use stay."""
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
    arrivals: Arrivals | None = None  # when rewards arrive; None: each in its own round

    @property
    def rounds(self) -> int:
        """Number n of rounds."""
        return len(self.best)

    @property
    def last(self) -> int:
        """Its last round."""
        return self.first + self.rounds - 1
