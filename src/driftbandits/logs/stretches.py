"""A parameter that stays for a stretch, jumps, and stays again: its posterior, exactly.

The log is cut into G bins with Gram matrices A_g and moments b_g. A stretch is a run of bins with
one parameter u ~ N(0, σ²/κ · I): its prior is worth κ rows. After each bin the parameter jumps with
probability h. With A and b summed over a stretch,

    log p(stretch) = ½ d log κ − ½ log|κI + A| + bᵀ(κI + A)⁻¹b/(2σ²) + what all paths share.

The sum over all ways to cut the log into stretches is a sum along the bins, and paths are drawn
from the posterior backwards (Barry and Hartigan, 1993; Fearnhead, 2006). κ and h have grids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from .sampling import log_sum, pick

_WORTH = 8.0 ** np.arange(-3.0, 7.0)
# Operations that may go into factoring all stretches.
_WORK = 2e9


class Stretches:
    """Paths of a parameter that stays and jumps, given bins (G, d, d) and (G, d)."""

    def __init__(self, gram: Array, moment: Array) -> None:
        self._gram, self._moment = _before(gram), _before(moment)
        self._volume, self._fit = _scores(self._gram, self._moment)
        expected = 2.0 ** np.arange(-2.0, max(np.log2(len(moment)), 0.0))
        hazard = np.minimum(expected / len(moment), 0.5)
        self._jump, self._stay = np.log(hazard), np.log1p(-hazard)

    @staticmethod
    def affordable(dim: int) -> int:
        """Bins whose stretches can be factored in passing: there are G²/2, for every κ."""
        return int(np.sqrt(2.0 * _WORK / (len(_WORTH) * dim**3)))

    def given(self, variance: float) -> Given:
        """The posterior where σ² is known."""
        scores = self._volume + self._fit / variance
        bins = scores.shape[1]
        # forward[κ, h, j]: log-evidence of the first j bins, where a stretch ends.
        forward = np.zeros((len(scores), len(self._jump), bins + 1))
        for end in range(1, bins + 1):
            forward[:, :, end] = log_sum(_by_start(scores, forward, self._jump, self._stay, end))
        return Given(self, variance, scores, forward)


class Given(NamedTuple):
    """The posterior of `Stretches` for one σ²."""

    prior: Stretches
    variance: float
    scores: Array  # (κ, G, G), log p of the stretch from bin i to bin j; −∞ where j < i
    forward: Array  # (κ, h, G + 1)

    @property
    def evidence(self) -> float:
        """Log-evidence, with all κ and h as likely."""
        last = self.forward[:, :, -1].ravel()
        return float(log_sum(last) - np.log(len(last)))

    @property
    def worth(self) -> float:
        """The κ that fits best: how far the parameter is from 0, in units of σ²/κ."""
        return float(_WORTH[np.argmax(self.forward[:, :, -1].max(axis=1))])

    def path(self, generator: np.random.Generator) -> Array:
        """A path u (G, d), drawn."""
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
    """What does not depend on σ² in log p of all stretches, and what is divided by it (κ, G, G)."""
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
    """Log-evidence (κ, h, end) of the bins before ``end``, by where their last stretch begins."""
    start = np.arange(end)
    steps = stay[:, None] * (end - 1 - start) + np.where(start > 0, jump[:, None], 0.0)
    return np.asarray(forward[:, :, :end] + scores[:, None, :end, end - 1] + steps)
