"""The exact posterior of a parameter that is a random walk, or whose velocity is a random walk.

The log is cut into G bins with Gram matrices A_g and moments b_g. From bin to bin the parameter u
takes a random step (order 1), or its velocity v does (order 2):

    u' = u + ε,  ε ~ N(0, q σ² I)         u' = u + v + …,  v' = v + ε,  ε ~ N(0, q σ² I).

The speed q is given by κ, which has a grid: over the whole log the walk moves by N(0, σ²/κ · I). It
starts at N(0, σ²/κ₀ · I). For order 2, the initial velocity is N(0, σ²/(κG²) · I): the mean speed
of the walk. A Kalman filter takes a bin as one observation. Covariances are in units of σ², so that

    log p(bin) = −½ log|I + P A| + (2bᵀm − mᵀAm + (b − Am)ᵀP'(b − Am))/(2σ²) + a constant

for the predicted N(m, σ²P) and the updated σ²P'. Paths are drawn backwards (Carter and Kohn, 1994).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .sampling import log_sum, pick

_WORTH = 10.0 ** np.arange(-7.0, 2.5, 0.5)


class _Law(NamedTuple):
    """The motion of the state from bin to bin and its start; covariances in units of σ²."""

    move: Array  # (D, D)
    steps: Array  # (D, D), covariance of a step
    start: Array  # (D, D), covariance in the first bin


class _Filtered(NamedTuple):
    """States after each bin, and the two parts of the log-evidence."""

    means: Array  # (G, D)
    spreads: Array  # (G, D, D), in units of σ²
    volume: float
    fit: float


class Walks:
    """Paths of a random walk, given bins (G, d, d) and (G, d); ``start`` is κ₀."""

    def __init__(self, gram: Array, moment: Array, *, order: int, start: float) -> None:
        self._gram, self._moment = gram, moment
        self._order, self._start = order, start
        parts = [self._filter(self._law(worth))[2:] for worth in _WORTH]
        self._volume, self._fit = np.array(parts).T

    def given(self, variance: float) -> Given:
        """The posterior for known σ²."""
        return Given(self, variance, self._volume + self._fit / variance)

    def _law(self, worth: float) -> _Law:
        bins, dim = self._moment.shape
        if self._order == 1:
            move, steps, start = np.eye(1), np.eye(1) / bins, np.eye(1) / self._start
        else:
            move = np.array([[1.0, 1.0], [0.0, 1.0]])
            steps = np.array([[1.0, 1.5], [1.5, 3.0]]) / bins**3
            start = np.diag([1.0 / self._start, 1.0 / (worth * bins**2)])
        each: Array = np.eye(dim)
        parts = (np.kron(part, each) for part in (move, steps / worth, start))
        return _Law(*parts)

    def _filter(self, law: _Law) -> _Filtered:
        bins, dim = self._moment.shape
        size = len(law.move)
        means, spreads = np.empty((bins, size)), np.empty((bins, size, size))
        mean, spread, volume, fit = np.zeros(size), law.start, 0.0, 0.0
        for g, (gram, moment) in enumerate(zip(self._gram, self._moment, strict=True)):
            if g > 0:
                mean, spread = law.move @ mean, law.move @ spread @ law.move.T + law.steps
            here, across = mean[:dim], spread[:, :dim]
            inner = np.eye(dim) + gram @ spread[:dim, :dim]
            spread = spread - across @ np.linalg.solve(inner, gram @ across.T)
            spread = 0.5 * (spread + spread.T)
            surprise = moment - gram @ here
            volume -= 0.5 * float(np.linalg.slogdet(inner)[1])
            quadratic = surprise @ spread[:dim, :dim] @ surprise
            fit += 0.5 * float(2.0 * moment @ here - here @ gram @ here + quadratic)
            mean = mean + spread[:, :dim] @ surprise
            means[g], spreads[g] = mean, spread
        return _Filtered(means, spreads, volume, fit)


class Given(NamedTuple):
    """The posterior of `Walks` for one σ²."""

    prior: Walks
    variance: float
    logs: Array  # (κ,), log-evidence of each speed

    @property
    def evidence(self) -> float:
        """Log-evidence, with all speeds equally likely."""
        return float(log_sum(self.logs) - np.log(len(self.logs)))

    def path(self, generator: np.random.Generator) -> Array:
        """A drawn path u (G, d)."""
        law = self.prior._law(_WORTH[pick(self.logs, generator)])
        means, spreads, *_ = self.prior._filter(law)
        out = np.empty_like(means)
        out[-1] = self._state(means[-1], spreads[-1], generator)
        for g in range(len(out) - 2, -1, -1):
            moved = law.move @ spreads[g]
            back = np.linalg.solve(moved @ law.move.T + law.steps, moved).T
            mean = means[g] + back @ (out[g + 1] - law.move @ means[g])
            out[g] = self._state(mean, spreads[g] - back @ moved, generator)
        return out[:, : self.prior._moment.shape[1]]

    def _state(self, mean: Array, spread: Array, generator: np.random.Generator) -> Array:
        """A draw from N(mean, σ² spread)."""
        sizes, axes = np.linalg.eigh(0.5 * (spread + spread.T))
        reach = np.sqrt(self.variance * np.maximum(sizes, 0.0))
        return np.asarray(mean + axes @ (reach * generator.standard_normal(len(mean))))
