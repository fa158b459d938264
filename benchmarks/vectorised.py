"""D-LinUCB in good NumPy code: one inverse or solve per round, updates in place."""

from __future__ import annotations

import math

import numpy as np

from .measure import Array

# Measured: below this d, the product with an explicit inverse is faster; from it on, one solve.
_SOLVE_FROM = 50


class NumpyDLinUCB:
    """Algorithm 1 over whole arrays; no input is checked."""

    def __init__(
        self, *, dim: int, gamma: float, ridge: float = 0.1, noise: float = 1.0, delta: float = 0.01
    ):
        self.gamma, self.ridge, self.noise = gamma, ridge, noise
        self.confidence = 2.0 * math.log(1.0 / delta)
        self.V = ridge * np.eye(dim)
        self.V_squared = ridge * np.eye(dim)
        self.restored = (1.0 - gamma) * ridge * np.eye(dim)
        self.restored_squared = (1.0 - gamma**2) * ridge * np.eye(dim)
        self.b = np.zeros(dim)
        self.weight_squares = 0.0

    def scores(self, actions: Array) -> Array:
        """Upper confidence bound of every row of ``actions`` (K, d)."""
        dim = self.b.size
        volume = dim * math.log(1.0 + self.weight_squares / (self.ridge * dim))
        beta = math.sqrt(self.ridge) + self.noise * math.sqrt(self.confidence + volume)
        if dim < _SOLVE_FROM:
            images = actions @ np.linalg.inv(self.V)
        else:
            images = np.linalg.solve(self.V, actions.T).T
        scores = np.vecdot(images @ self.V_squared, images)
        np.sqrt(scores, out=scores)
        scores *= beta
        scores += images @ self.b
        return np.asarray(scores)

    def select(self, actions: Array) -> int:
        """Index of the row of ``actions`` (K, d) to play."""
        return int(self.scores(actions).argmax())

    def update(self, action: Array, reward: float) -> None:
        """Learn the reward of an action (d,)."""
        squared = self.gamma**2
        outer = np.multiply.outer(action, action)
        self.V *= self.gamma
        self.V += outer
        self.V += self.restored
        self.V_squared *= squared
        self.V_squared += outer
        self.V_squared += self.restored_squared
        self.b *= self.gamma
        self.b += reward * action
        self.weight_squares = squared * self.weight_squares + 1.0
