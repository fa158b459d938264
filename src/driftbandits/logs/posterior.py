"""Paths that the parameter may have taken, given a log: draws from the posterior.

Three kinds of path are equally likely a priori: the parameter is constant between jumps
(`driftbandits.logs.stretches`), or it is a random walk, or its velocity is a random walk
(`driftbandits.logs.walks`). The log tells how well each kind fits, and each draw picks one kind.

Coordinates are such that a random offered action has E[a aᵀ] = I. Deviations u are measured from a
parameter that gives the mean action the level of rewards and does not distinguish actions. How much
actions differ (κ) is learned along with the path. So if clicks are rare and actions are many, no
path has an action that is far better than all others just by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ..core.arrays import Array
from .sampling import pick
from .stretches import Stretches
from .walks import Walks

# Largest number of bins, and smallest number of rows per bin.
_BINS, _ROWS = 200, 20
# Draws of σ² before it is used; the first value is the residual variance of the level.
_SETTLING = 5


class Given(Protocol):
    """A kind of path, for known σ²."""

    @property
    def evidence(self) -> float:
        """Log-evidence."""

    def path(self, generator: np.random.Generator) -> Array:
        """A path u (G, d), drawn."""


class Posterior:
    """Posterior of the parameter's path, given offered actions, played actions and rewards.

    Args:
        offered: All actions that were offered, shape (N, d).
        played: The actions that were played, shape (n, d).
        rewards: Their rewards, shape (n,); NaN if not known.

    Attributes:
        telling: Whether there are enough rows for sums over all of them to be nearly normal. If
            not, the rewards are too rare for draws to mean anything.
    """

    def __init__(self, offered: Array, played: Array, rewards: Array) -> None:
        known = np.isfinite(rewards)
        rows, dim = played.shape
        self._whiten = whitening(offered.T @ offered / len(offered))
        vectors = np.where(known[:, None], played @ self._whiten, 0.0)
        value = np.where(known, rewards, 0.0)
        level = _level(vectors, value, offered.mean(axis=0) @ self._whiten)
        self._vectors, self._residuals = vectors, value - vectors @ level
        self._level, self._known = level, int(known.sum())
        scores = vectors * self._residuals[:, None]
        least = max(_ROWS, fewest(rows, (scores**2).sum(axis=0), (scores**4).sum(axis=0)))
        self.telling = least <= rows
        bins = max(min(_BINS, Stretches.affordable(dim), rows // least), 1)
        self._bin = np.arange(rows) * bins // rows
        self._gram, self._moment = np.empty((bins, dim, dim)), np.empty((bins, dim))
        for g in range(bins):
            mine = vectors[self._bin == g]
            self._gram[g], self._moment[g] = mine.T @ mine, mine.T @ self._residuals[self._bin == g]

    def draws(self, generator: np.random.Generator) -> Iterator[Array]:
        """An endless stream of paths θ (n, d)."""
        stays = Stretches(self._gram, self._moment)
        variance = self._variance(stays, generator)
        given = stays.given(variance)
        walks = (Walks(self._gram, self._moment, order=k, start=given.worth) for k in (1, 2))
        kinds: list[Given] = [given, *(walk.given(variance) for walk in walks)]
        evidence = np.array([kind.evidence for kind in kinds])
        while True:
            path = kinds[pick(evidence, generator)].path(generator)
            yield ((self._level + path) @ self._whiten.T)[self._bin]

    def _variance(self, stays: Stretches, generator: np.random.Generator) -> float:
        """σ², drawn in turns with paths that are constant between jumps (Gibbs)."""
        variance = float((self._residuals**2).sum() / self._known)
        for _ in range(_SETTLING):
            path = stays.given(variance).path(generator)[self._bin]
            errors = self._residuals - np.einsum("nd,nd->n", self._vectors, path)
            variance = float((errors**2).sum() / generator.chisquare(self._known))
        return variance


def _level(vectors: Array, rewards: Array, mean: Array) -> Array:
    """The regression along the mean action only, which does not distinguish actions."""
    size = np.linalg.norm(mean)
    if size == 0.0:
        return np.zeros_like(mean)
    along = vectors @ (mean / size)
    return np.asarray(mean / size * (along @ rewards) / max(float(along @ along), 1e-300))


def fewest(rows: int, squares: Array, fourths: Array) -> int:
    """Rows that a bin needs for its moments to be nearly normal, as the posterior assumes.

    ``squares`` and ``fourths`` (d,) are sums over the rows of these powers of the terms. A sum of m
    terms has about 1/m of the excess kurtosis of one term. With m equal to the kurtosis of the
    terms (here of all coordinates together), this is at most 1. Rare clicks on many actions need
    thousands of rows; with fewer, every click would look like a jump.
    """
    if not squares.any():
        return 1
    return max(1, int(rows * fourths.mean() / squares.mean() ** 2))


def whitening(second: Array) -> Array:
    """W (d, d) with Wᵀ E[a aᵀ] W = I, except in directions that do not occur."""
    sizes, axes = np.linalg.eigh(second)
    occurs = sizes > 1e-12 * sizes[-1]
    return np.asarray(axes * np.where(occurs, 1.0 / np.sqrt(np.where(occurs, sizes, 1.0)), 0.0))
