"""Blocks: what environments draw and policies play, many rounds at a time."""

from __future__ import annotations

from typing import NamedTuple

from .arrays import Array


class BlockError(ValueError):
    """A policy cannot play these rounds: their dimension or the norm of an action does not fit."""


class Block(NamedTuple):
    """Consecutive rounds of an environment, for all policies to play."""

    first: int  # its first round, counted from 1
    actions: Array  # (n or 1, d, K), one column per action
    parameters: Array  # (n, d), θ_t
    means: Array  # (n, K), ⟨a, θ_t⟩
    best: Array  # (n,), their maxima
    noise: Array  # (n, K or 1)
    longest: float  # largest norm of an action

    @property
    def rounds(self) -> int:
        """Number n of rounds."""
        return len(self.best)

    @property
    def last(self) -> int:
        """Its last round."""
        return self.first + self.rounds - 1
