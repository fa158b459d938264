"""Paths that the parameter may have taken, given a log: draws from their posterior.

Three kinds of path are possible, each as likely as the others before the log is seen: the parameter
stays and jumps (`driftbandits.logs.stretches`), or it walks, or its velocity does
(`driftbandits.logs.walks`). The log says which fits, and a draw is of one kind.

Deviations u are from the regression on the whole log, in coordinates in which a random action that
was offered has E[a aᵀ] = I. The noise variance σ² is drawn given the path (Gibbs).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.arrays import Array
from .sampling import pick
from .stretches import Stretches
from .walks import Walks

# Most bins, and fewest rows of one.
_BINS, _ROWS = 200, 20
# Draws of σ² before it is kept: it starts from the regression on the whole log.
_SETTLING = 5


class Posterior:
    """Of the parameter's path, given what was offered, what was played, and the rewards.

    Args:
        offered: All actions that were offered, shape (N, d).
        played: Those that were played, shape (n, d).
        rewards: What they brought, shape (n,); nan where that is not known.
    """

    def __init__(self, offered: Array, played: Array, rewards: Array) -> None:
        known = np.isfinite(rewards)
        rows, dim = played.shape
        self._whiten = whitening(offered.T @ offered / len(offered))
        vectors = np.where(known[:, None], played @ self._whiten, 0.0)
        value = np.where(known, rewards, 0.0)
        centre = np.linalg.solve(vectors.T @ vectors + np.eye(dim), vectors.T @ value)
        self._vectors, self._residuals = vectors, value - vectors @ centre
        self._centre, self._known = self._whiten @ centre, int(known.sum())
        bins = max(min(_BINS, Stretches.affordable(dim), rows // _ROWS), 1)
        self._bin = np.arange(rows) * bins // rows
        gram, moment = np.empty((bins, dim, dim)), np.empty((bins, dim))
        for g in range(bins):
            mine = vectors[self._bin == g]
            gram[g], moment[g] = mine.T @ mine, mine.T @ self._residuals[self._bin == g]
        self._kinds = (
            Stretches(gram, moment),
            Walks(gram, moment, order=1),
            Walks(gram, moment, order=2),
        )

    def draws(self, generator: np.random.Generator) -> Iterator[Array]:
        """Paths θ (n, d), one after the other, without end."""
        variance = float((self._residuals**2).sum() / self._known)
        for _ in range(_SETTLING):
            path = next(self._paths(variance, generator))[self._bin]
            errors = self._residuals - np.einsum("nd,nd->n", self._vectors, path)
            variance = float((errors**2).sum() / generator.chisquare(self._known))
        for path in self._paths(variance, generator):
            yield (self._centre + path @ self._whiten.T)[self._bin]

    def _paths(self, variance: float, generator: np.random.Generator) -> Iterator[Array]:
        """Deviations u (G, d), drawn for one σ²."""
        kinds = [kind.given(variance) for kind in self._kinds]
        evidence = np.array([kind.evidence for kind in kinds])
        while True:
            yield kinds[pick(evidence, generator)].path(generator)


def whitening(second: Array) -> Array:
    """W (d, d) with Wᵀ E[a aᵀ] W the identity, but for directions that do not occur."""
    sizes, axes = np.linalg.eigh(second)
    occurs = sizes > 1e-12 * sizes[-1]
    return np.asarray(axes * np.where(occurs, 1.0 / np.sqrt(np.where(occurs, sizes, 1.0)), 0.0))
