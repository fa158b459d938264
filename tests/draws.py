"""Random numbers from the definition of their stream, and random actions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits import Policy
from oracles import Floats

MASK = 2**64 - 1


class Stream:
    """SplitMix64 with Python's integers, starting at the current state of a policy's stream."""

    def __init__(self, policy: Policy) -> None:
        self.state = int(policy._state.random[0])

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    def normal(self) -> float:
        length = math.sqrt(-2 * math.log(1 - self.uniform()))
        return length * math.cos(2 * math.pi * self.uniform())


def some_actions(count: int, dim: int = 3) -> Floats:
    """Unit vectors, shape (count, dim); the same vectors for the same count."""
    rows = np.random.default_rng(count).standard_normal((count, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


class Rows:
    """Two actions per round from any function, in an array that is not contiguous."""

    dim, count = 2, 2

    def __init__(self, function: Any) -> None:
        self.function = function

    def start(self, generator: np.random.Generator) -> Any:
        position = 0

        def draw(rounds: int) -> Any:
            nonlocal position
            span = range(position + 1, position + rounds + 1)
            position += rounds
            rows = np.array([self.function(t, generator) for t in span])
            return rows.transpose(0, 2, 1)

        return draw
