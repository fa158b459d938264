"""The level over time: mean rewards that differences between actions do not explain.

The level of a stretch u of units is y_u = r̄_u − m_uᵀθ̂, with its mean reward r̄_u, its mean vector
m_u and θ̂ from differences. An adaptive logger moves m_u, so the error of θ̂ moves the level even if
nothing drifts. Each simulated log therefore fits its own θ̂_k. With random signs s_uk,

    y_uk = ȳ + s_uk e_u − m_uᵀ(θ̂_k − θ̂),     θ̂_k = (G + λI)⁻¹ (G θ̂ + Σ_u s_uk g_u),

where e_u is the deviation of y_u from its neighbours, G is the Gram matrix of the differences ã_i,
and g_u = Σ_i n_i ã_i (r̃_i − ã_iᵀθ̂) for counts n_i. The same sign multiplies a stretch's deviation
and its part of θ̂_k: a wild bootstrap.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .batch import Ints
from .passes import Stretch
from .series import Moved, random_signs, series
from .stationary import Fit, unit_sums

# Largest number of stretches in the series, and of numbers in their vectors.
_STRETCHES, _NUMBERS = 20_000, 1 << 21


class Levels:
    """Sums over stretches of units: at most 40,000 stretches, however long the log is.

    Args:
        width: Length w of a vector within its block.
        pool: For each block of the log, its block in the differences, shape (B,).
    """

    def __init__(self, *, width: int, pool: Ints) -> None:
        self._pool, self._shape = pool, (int(pool.max()) + 1, width)
        self._units, self._seen, self._stride = 0, 0, 1
        self._time, self._arrival, self._clock = np.zeros((3, 0))
        self._count, self._reward = np.zeros((2, 0))
        self._vectors, self._scores = np.zeros((2, 0, 0))

    def expect(self, units: int) -> None:
        """Announce further units; call this for all units before the first `take`."""
        self._units += units

    def _allot(self) -> None:
        """Allocate the stretches for all announced units."""
        length = self._shape[0] * self._shape[1]
        most = max(1, min(_STRETCHES, _NUMBERS // length))
        self._stride = max(1, self._units // most)
        stretches = -(-self._units // self._stride)
        self._time, self._clock, self._count, self._reward = np.zeros((4, stretches))
        self._arrival = np.full(stretches, -np.inf)
        self._vectors, self._scores = np.zeros((2, stretches, length))

    def take(self, rows: Stretch, differences: Stretch, ends: Ints, fit: Fit) -> None:
        """Further whole units, as logged and as differences; ``fit`` belongs to the differences."""
        if self._seen == 0:
            self._allot()
        unit = self._seen + np.arange(len(ends) - 1)
        self._seen += len(unit)
        where, starts = unit // self._stride, ends[:-1]
        self._place(rows, ends, where, unit % self._stride == 0)
        weight = np.where(rows.known, rows.count, 0.0)
        reward, apart = (
            np.where(rows.known, values, 0.0)
            for values in (rows.reward[:, 0], differences.reward[:, 0] - fit.means(differences))
        )
        full = np.zeros((len(starts), *self._shape))
        mine = np.repeat(np.arange(len(starts)), np.diff(ends)), self._pool[rows.blocks]
        np.add.at(full, mine, rows.vectors * weight[:, None])
        # `add.at` adds one unit after the other: batch sizes change no digit.
        np.add.at(self._count, where, unit_sums(weight, ends))
        np.add.at(self._reward, where, unit_sums(weight * reward, ends))
        np.add.at(self._vectors, where, full.reshape(len(full), -1))
        scores = differences.vectors * (weight * apart)[:, None]
        np.add.at(self._scores, where, unit_sums(scores, ends))

    def _place(self, rows: Stretch, ends: Ints, where: Ints, first: Array) -> None:
        """Set the time, the clock and the last arrival of the stretches."""
        starts = ends[:-1]
        self._time[where[first]] = rows.time[starts[first]]
        self._clock[where] = rows.clock[starts]
        arrival = np.maximum.reduceat(np.where(rows.known, rows.arrival, -np.inf), starts)
        np.maximum.at(self._arrival, where, np.maximum(arrival, rows.time[ends[1:] - 1]))

    def series(self, fit: Fit) -> Stretch:
        """One row per stretch with a reward: its level."""
        known = self._count > 0.0
        count = self._count[known, None]
        level = (self._reward[known, None] - self._vectors[known] @ fit.theta.T) / count
        return series(self._time[known], self._arrival[known], self._clock[known], level)

    def moved(self, fit: Fit, generator: np.random.Generator, count: int) -> Moved:
        """Effect of the fits of ``count`` simulated logs on their levels: −m_uᵀ(θ̂_k − θ̂)."""
        known = self._count > 0.0
        vectors, scores = self._vectors[known] / self._count[known, None], self._scores[known]
        signed = np.zeros((scores.shape[1], count))
        for part, signs in random_signs(generator, len(scores), count):
            signed += scores[part].T @ signs
        errors = fit.refitted(signed) - fit.theta.T
        return lambda part: -(vectors[part] @ errors)
