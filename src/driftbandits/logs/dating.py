"""When payoffs changed: the time of the largest jump of the parameter.

Evidence for drift keeps growing long after a change, because never forgetting keeps making errors.
So the change is dated by the posterior of a parameter that is constant between jumps
(`driftbandits.logs.stretches`). Each drawn path has a largest jump, and the reported interval holds
90% of these jumps.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.randomness import stream
from .batch import Batch, embedded
from .posterior import fewest, whitening
from .reading import LogReader
from .stretches import Stretches

_BINS, _DRAWS, _SETTLING = 200, 100, 5


class _Bins:
    """Sums over the known rewards of each bin of rows."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._count = max(min(_BINS, Stretches.affordable(log.dim), log.rows // 5), 1)
        self.gram = np.zeros((self._count, log.dim, log.dim))
        self.moment = np.zeros((self._count, log.dim))
        self.squares, self.rows = 0.0, 0
        self._powers = np.zeros((2, log.dim))  # sums of the second and fourth powers of r·a
        self.first = np.full(self._count, np.inf)  # time of the first row of each bin
        self.last = -np.inf

    def take(self, batch: Batch) -> None:
        """Further rows."""
        place = (batch.row - 1) * self._count // self._log.rows
        np.minimum.at(self.first, place, batch.time)
        self.last = float(batch.time[-1])
        batch = batch.judged()
        known = batch.known
        played = batch.played[known]
        vectors = embedded(batch.vectors[played], batch.blocks[played], self._log.blocks)
        weighted = vectors * batch.count[known, None]
        reward = batch.reward[known]
        self.squares += float((batch.count[known] * reward**2).sum())
        self.rows += len(reward)
        scores = (weighted * reward[:, None]) ** 2
        self._powers += scores.sum(axis=0), (scores**2).sum(axis=0)
        for g in np.unique(place[known]):
            mine = place[known] == g
            self.gram[g] += weighted[mine].T @ vectors[mine]
            self.moment[g] += weighted[mine].T @ reward[mine]

    def merge(self) -> None:
        """Merge bins that are too small for their sums to be nearly normal."""
        least = fewest(self.rows, *self._powers)
        starts = np.arange(0, self._count, max(1, -(-least * self._count // self.rows)))
        self.gram, self.moment = (np.add.reduceat(x, starts) for x in (self.gram, self.moment))
        self.first = np.minimum.reduceat(self.first, starts)

    def whiten(self) -> None:
        """Coordinates with mean Gram matrix I; moments and squares of the residuals of one fit."""
        total, moment = self.gram.sum(axis=0), self.moment.sum(axis=0)
        whiten = whitening(total / self.rows)
        self.gram = whiten.T @ self.gram @ whiten
        self.moment = self.moment @ whiten
        centre = np.linalg.solve(self.gram.sum(axis=0) + np.eye(len(moment)), moment @ whiten)
        self.squares -= float(2.0 * centre @ self.moment.sum(axis=0))
        self.squares += float(centre @ self.gram.sum(axis=0) @ centre)
        self.moment -= self.gram @ centre

    def left(self, path: Array) -> float:
        """Sum of squared errors of a path (G, d)."""
        fit = 2.0 * (path * self.moment).sum() - np.einsum("gd,gde,ge->", path, self.gram, path)
        return float(max(self.squares - fit, 1e-12 * self.squares))


def largest_change(log: LogReader, *, seed: int = 0) -> tuple[float, float] | None:
    """Times in seconds between which the largest jump lies; None if most paths have no jump."""
    bins = _Bins(log)
    for batch in log.batches():
        bins.take(batch)
    if bins.rows == 0:
        return None
    bins.merge()
    bins.whiten()
    if not bins.squares > 0.0:  # one parameter explains everything
        return None
    generator, prior = stream(seed, "logs", "dating"), Stretches(bins.gram, bins.moment)
    variance = bins.squares / bins.rows
    for _ in range(_SETTLING):
        left = bins.left(prior.given(variance).path(generator))
        variance = left / float(generator.chisquare(bins.rows))
    given = prior.given(variance)
    steps = [np.linalg.norm(np.diff(given.path(generator), axis=0), axis=1) for _ in range(_DRAWS)]
    edges = sorted(int(np.argmax(step)) for step in steps if step.size and step.max() > 0.0)
    if len(edges) < 0.5 * _DRAWS:
        return None
    # A jump may lie anywhere in the two bins on both sides of its edge.
    spare = len(edges) // 20
    low, high = edges[spare], edges[-1 - spare]
    # A bin without good rows begins when the next bin does.
    begins = np.minimum.accumulate(np.append(bins.first, bins.last)[::-1])[::-1]
    return float(begins[low]), float(begins[min(high + 2, len(begins) - 1)])
