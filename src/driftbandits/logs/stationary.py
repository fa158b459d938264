"""The stationary fit, and rewards simulated from it at the logged actions."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from ..core.arrays import Array
from .batch import Ints
from .passes import RIDGE, Stretch
from .reading import LogReader

# Largest length of vectors of differences.
_LONGEST = 128


class Fit:
    """Ridge regression over the whole log without forgetting, one parameter per block."""

    def __init__(self, blocks: int, width: int) -> None:
        self._gram = np.zeros((blocks, width, width))
        self._moment = np.zeros((blocks, width))
        self.rows, self.binary = 0, True
        self.theta: Array = np.zeros((blocks, width))

    def take(self, rows: Stretch) -> None:
        """Further rows."""
        rows = rows.part(rows.known)
        reward, weighted = rows.reward[:, 0], rows.vectors * rows.count[:, None]
        self.rows += len(rows)
        self.binary = self.binary and bool(((reward == 0) | (reward == 1)).all())
        self.binary = self.binary and bool((rows.count <= 1.0).all())
        for block in np.unique(rows.blocks):
            mine = rows.blocks == block
            self._gram[block] += weighted[mine].T @ rows.vectors[mine]
            self._moment[block] += weighted[mine].T @ reward[mine]

    def finish(self) -> None:
        """Solve for the parameters."""
        solved = np.linalg.solve(self._ridged, self._moment[..., None])[..., 0]
        self.theta = np.asarray(solved, dtype=np.float64)

    @property
    def _ridged(self) -> Array:
        return np.asarray(self._gram + RIDGE * np.eye(self._gram.shape[1]))

    def refitted(self, noise: Array) -> Array:
        """Fits (w, S) of one block to S series of rewards aᵀθ̂ + ε, given Σ a ε of each series."""
        means = self._gram[0] @ self.theta[0]
        return np.asarray(np.linalg.solve(self._ridged[0], means[:, None] + noise))

    def means(self, rows: Stretch) -> Array:
        """Expected rewards of rows under the fit, shape (n,)."""
        return np.asarray(np.einsum("ij,ij->i", rows.vectors, self.theta[rows.blocks]))


def simulated(
    rows: Stretch, ends: Ints, fit: Fit, count: int, generator: np.random.Generator
) -> Stretch:
    """The rows with ``count`` further series of rewards, drawn from the stationary fit.

    Rewards of 0 and 1 are drawn as 0 and 1. Others are the fitted mean plus the row's own residual
    times a random sign per unit (a wild bootstrap). This keeps different spreads of rows, heavy
    tails, and correlation within a unit.
    """
    mean = fit.means(rows)
    if fit.binary:
        draws = generator.random((len(rows), count))
        series = (draws < np.clip(mean, 0.0, 1.0)[:, None]).astype(np.float64)
    else:
        signs = generator.integers(0, 2, (len(ends) - 1, count)) * 2.0 - 1.0
        residual = rows.reward[:, 0] - mean
        series = mean[:, None] + residual[:, None] * np.repeat(signs, np.diff(ends), axis=0)
    series[~rows.known] = np.nan
    reward = np.concatenate([rows.reward[:, :1], series], axis=1)
    return Stretch(**{**vars(rows), "reward": reward})


class Level:
    """The level of each unit, for differences relative to it.

    If rows are aggregated, it is the unit's own mean; otherwise the mean over about ``memory``
    units up to this one. ``possible`` becomes False if a reward is below 0: then relative
    differences have no scale.
    """

    def __init__(self, *, own: bool, memory: float = 50.0) -> None:
        self._kept = 0.0 if own else 1.0 - 1.0 / memory
        self._sums = np.zeros(2)
        self.possible = True

    def __call__(self, rows: Stretch, ends: Ints) -> Array:
        """Levels of further units, shape (U,); 1 if no level above 0 is known yet."""
        reward = np.where(rows.known, rows.reward[:, 0], 0.0)
        self.possible = self.possible and bool((reward >= 0.0).all())
        weight = np.where(rows.known, rows.count, 0.0)
        sums = np.stack([unit_sums(reward * weight, ends), unit_sums(weight, ends)])
        faded = np.array([self._faded(*both) for both in zip(self._sums, sums, strict=True)])
        self._sums = faded[:, -1]
        level = faded[0] / np.where(faded[1] > 0.0, faded[1], 1.0)
        return np.where(level > 0.0, level, 1.0)

    def _faded(self, before: float, values: Array) -> list[float]:
        """Running sums y_i = x_i + kept·y_{i−1}, starting from ``before``."""
        kept = self._kept
        return list(accumulate(values.tolist(), lambda y, x: kept * y + x, initial=before))[1:]


def pooled(log: LogReader) -> Ints:
    """The block of each arm in vectors of differences, shape (B,).

    Long vectors of differences take too long to factor. So the arms that are played most keep their
    own block, and the others share the last one. This does not depend on rewards.
    """
    most = max(2, _LONGEST // log.width)
    if log.blocks <= most:
        return np.arange(log.blocks, dtype=np.int64)
    plays = np.zeros(log.blocks)
    for batch in log.batches():
        plays += np.bincount(batch.blocks[batch.played], batch.count, minlength=log.blocks)
    group = np.full(log.blocks, most - 1, dtype=np.int64)
    group[np.argsort(-plays, kind="stable")[: most - 1]] = np.arange(most - 1)
    return group


def centred(rows: Stretch, ends: Ints, blocks: int, scale: Array | None = None) -> Stretch:
    """Rows as differences from the means of their unit, which removes the level.

    The unit's mean over rows with a known reward, weighted by count, is subtracted from vectors and
    rewards. Differences have no block structure, so vectors are full. ``scale`` (U,) divides the
    rewards.
    """
    full = rows.vectors
    if blocks > 1:
        full = np.zeros((len(rows), blocks, rows.vectors.shape[1]))
        full[np.arange(len(rows)), rows.blocks] = rows.vectors
        full = full.reshape(len(rows), -1)
    weight = np.where(rows.known, rows.count, 0.0)
    total = unit_sums(weight, ends)
    share = 1.0 / np.where(total > 0.0, total, 1.0)
    mean = unit_sums(full * weight[:, None], ends) * share[:, None]
    level = unit_sums(np.where(rows.known, rows.reward[:, 0], 0.0) * weight, ends) * share
    size = np.diff(ends)
    by = np.ones(len(size)) if scale is None else scale
    # A difference is known only after all rewards of its unit have come.
    arrival = np.where(rows.known, rows.arrival, -np.inf)
    latest = np.repeat(np.maximum.reduceat(arrival, ends[:-1]), size)
    return Stretch(
        time=rows.time,
        arrival=np.where(rows.known, latest, np.inf),
        clock=rows.clock,
        vectors=full - np.repeat(mean, size, axis=0),
        blocks=np.zeros(len(rows), dtype=np.int64),
        count=rows.count,
        reward=((rows.reward[:, 0] - np.repeat(level, size)) / np.repeat(by, size))[:, None],
    )


def unit_sums(values: Array, ends: Ints) -> Array:
    """Sums over the rows of each unit."""
    return np.add.reduceat(values, ends[:-1], axis=0)
