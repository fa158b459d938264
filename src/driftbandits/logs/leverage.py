"""Weights that limit the influence of single rows with extreme contexts."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array

# Weight of the initial scales, in rows, when later rows change them.
_PRIOR = 100.0


class Leverage:
    """Weights (L/l)² for rows whose leverage l is above L = 3w + 12, and 1 for all others.

    The leverage of a row is Σ_j a_j²/s_j, with s_j the mean square of coordinate j in the rows
    before it; it is w on average. If rewards are not quite linear, a row far outside is predicted
    badly and bends the fit from then on. Memories that forget the row then predict better, which
    looks like drift but is not. Weights depend on contexts alone, so they cause no bias. Gaussian
    contexts have a leverage above L about once in 10,000 rows.
    """

    def __init__(self, width: int) -> None:
        self._bound = 3.0 * width + 12.0
        self._sums, self._rows = np.zeros(width), 0

    def __call__(self, vectors: Array) -> Array:
        """Weights of the next rows (n, w), whose coordinates have a mean square of about 1."""
        squares = vectors**2
        seen = self._rows + np.arange(len(vectors))
        through = self._sums + np.cumsum(squares, axis=0)
        before = np.concatenate([self._sums[None], through[:-1]])
        scales = (_PRIOR + before) / (_PRIOR + seen)[:, None]
        self._sums, self._rows = through[-1], self._rows + len(vectors)
        size = (squares / scales).sum(axis=1)
        return np.asarray((self._bound / np.maximum(size, self._bound)) ** 2)
