"""The exact posterior of a parameter that is constant between jumps.

The log is cut into G bins with Gram matrices A_g and moments b_g. A stretch is a run of bins with
one parameter u ~ N(0, σ²/κ · I): its prior weighs as much as κ rows. After each bin the parameter
jumps with probability h. With A and b summed over a stretch,

    log p(stretch) = ½ d log κ − ½ log|κI + A| + bᵀ(κI + A)⁻¹b/(2σ²) + a constant.

A recursion along the bins sums over all ways to cut the log into stretches, and paths are drawn
from the posterior backwards (Barry and Hartigan, 1993; Fearnhead, 2006). κ and h have grids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .sampling import log_sum, pick

_WORTH = 8.0 ** np.arange(-3.0, 7.0)
# Largest number of operations to factor all stretches.
_WORK = 2e9


class Stretches:
    """Paths of a parameter that is constant between jumps, given bins (G, d, d) and (G, d)."""

    def __init__(self, gram: Array, moment: Array) -> None:
        self._gram, self._moment = _before(gram), _before(moment)
        self._volume, self._fit = _scores(self._gram, self._moment)
        expected = 2.0 ** np.arange(-2.0, max(np.log2(len(moment)), 0.0))
        hazard = np.minimum(expected / len(moment), 0.5)
        self._jump, self._stay = np.log(hazard), np.log1p(-hazard)

    @staticmethod
    def affordable(dim: int) -> int:
        """Largest G that is quick enough: G²/2 stretches are factored for every κ."""
        return int(np.sqrt(2.0 * _WORK / (len(_WORTH) * dim**3)))

    def given(self, variance: float) -> Given:
        """The posterior for known σ²."""
        scores = self._volume + self._fit / variance
        bins = scores.shape[1]
        # forward[κ, h, j]: log-evidence of the first j bins if a stretch ends there.
        forward = np.zeros((len(scores), len(self._jump), bins + 1))
        for end in range(1, bins + 1):
            forward[:, :, end] = log_sum(_by_start(scores, forward, self._jump, self._stay, end))
        return Given(self, variance, scores, forward)


class Given(NamedTuple):
    """The posterior of `Stretches` for one σ²."""

    prior: Stretches
    variance: float
    scores: Array  # (κ, G, G), log p of the stretch from bin i to bin j; −∞ if j < i
    forward: Array  # (κ, h, G + 1)

    @property
    def evidence(self) -> float:
        """Log-evidence, with all κ and h equally likely."""
        last = self.forward[:, :, -1].ravel()
        return float(log_sum(last) - np.log(len(last)))

    @property
    def worth(self) -> float:
        """The κ that fits best; σ²/κ is the squared distance of the parameter from 0."""
        return float(_WORTH[np.argmax(self.forward[:, :, -1].max(axis=1))])

    def path(self, generator: np.random.Generator) -> Array:
        """A drawn path u (G, d)."""
        shape = self.forward.shape[:2]
        k, h = np.unravel_index(pick(self.forward[:, :, -1].ravel(), generator), shape)
        one, prior = (slice(k, k + 1), slice(h, h + 1)), self.prior
        jump, stay = prior._jump[one[1]], prior._stay[one[1]]
        out, end = np.empty_like(prior._moment[1:]), len(prior._moment) - 1
        while end > 0:
            ways = _by_start(self.scores[one[0]], self.forward[one], jump, stay, end)
            start = pick(ways[0, 0], generator)
            out[start:end] = self._parameter(start, end, _WORTH[k], generator)
            end = start
        return out

    def _parameter(
        self, start: int, end: int, worth: float, generator: np.random.Generator
    ) -> Array:
        """The parameter of a stretch, drawn from N((κI + A)⁻¹b, σ²(κI + A)⁻¹)."""
        gram = self.prior._gram[end] - self.prior._gram[start]
        moment = self.prior._moment[end] - self.prior._moment[start]
        factor = np.linalg.cholesky(gram + worth * np.eye(len(moment)))
        half = np.linalg.solve(factor, moment)
        half += np.sqrt(self.variance) * generator.standard_normal(len(half))
        return np.asarray(np.linalg.solve(factor.T, half))


def _before(bins: Array) -> Array:
    """Sums over all bins before each edge (G + 1, ...)."""
    return np.concatenate([np.zeros((1, *bins.shape[1:])), np.cumsum(bins, axis=0)])


def _scores(gram: Array, moment: Array) -> tuple[Array, Array]:
    """The parts of log p of all stretches: one without σ², one to divide by it; both (κ, G, G)."""
    bins, dim = len(moment) - 1, moment.shape[1]
    volume = np.full((len(_WORTH), bins, bins), -np.inf)
    fit = np.zeros((len(_WORTH), bins, bins))
    for i in range(bins):
        inner, b = gram[i + 1 :] - gram[i], (moment[i + 1 :] - moment[i])[..., None]
        for k, worth in enumerate(_WORTH):
            factor = np.linalg.cholesky(inner + worth * np.eye(dim))
            diagonal = np.diagonal(factor, axis1=1, axis2=2)
            half = np.linalg.solve(factor, b)[..., 0]
            volume[k, i, i:] = 0.5 * dim * np.log(worth) - np.log(diagonal).sum(axis=1)
            fit[k, i, i:] = 0.5 * (half**2).sum(axis=1)
    return volume, fit


def _by_start(scores: Array, forward: Array, jump: Array, stay: Array, end: int) -> Array:
    """Log-evidence (κ, h, end) of the bins before ``end``, by the start of the last stretch."""
    start = np.arange(end)
    steps = stay[:, None] * (end - 1 - start) + np.where(start > 0, jump[:, None], 0.0)
    return np.asarray(forward[:, :, :end] + scores[:, None, :end, end - 1] + steps)
