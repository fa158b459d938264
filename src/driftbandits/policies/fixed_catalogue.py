"""Choosing from a large catalogue that does not change, without scoring all of it.

Between two decisions θ̂ and M = V⁻¹ Ṽ V⁻¹ move a little. From the scores of a snapshot (θ₀, M₀),

    aᵀθ̂ ≤ aᵀθ₀ + ‖a‖ ‖θ̂ − θ₀‖        aᵀMa ≤ aᵀM₀a + ‖a‖² max(λ_max(M − M₀), 0)

bound every upper confidence bound from above in O(1). Only items whose bound reaches the best exact
score can win; these are scored exactly. When too many are left, a new snapshot is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compile import entry_point
from ..arrays import Array, float_array
from .linear import LinearPolicy

# Share of the catalogue that may be scored exactly before a new snapshot is cheaper.
_SHORTLIST = 0.02

# Bounds are computed in another order than scores; this much more than rounding is let pass.
_SLACK = 1e-9


class FixedCatalogue:
    """A policy's choice from items that never change: the index that ``select`` would give.

    Attributes:
        policy: What chooses; it is updated as ever, through its own methods.
        items: Shape (N, d).

    Examples:
        >>> import numpy as np
        >>> from driftbandits import DLinUCB, FixedCatalogue
        >>> items = np.random.default_rng(0).uniform(-0.5, 0.5, (5000, 4))
        >>> policy = DLinUCB(dim=4, gamma=0.99, noise=0.1)
        >>> catalogue = FixedCatalogue(policy, items)
        >>> for _ in range(20):
        ...     chosen = catalogue.select()
        ...     policy.update(items[chosen], float(items[chosen] @ [1.0, 0.0, 0.0, 0.0]))
        >>> catalogue.select() == policy.select(items)
        True
    """

    def __init__(self, policy: LinearPolicy, items: Any) -> None:
        self.policy = policy
        self.items = float_array("items", items, ndim=2)
        policy.scores(self.items)  # refuses what the policy would refuse
        self._norms = np.linalg.norm(self.items, axis=1)
        self._take_snapshot()

    def select(self) -> int:
        """Index of the item to play: the first of those with the largest score."""
        shortlist = self._shortlist()
        if len(shortlist) > _SHORTLIST * len(self.items):
            self._take_snapshot()
            shortlist = self._shortlist()
        return int(shortlist[np.argmax(self.policy.scores(self.items[shortlist]))])

    def _take_snapshot(self) -> None:
        self._theta, self._shape = self.policy.theta, self._current_shape()
        self._means = self.items @ self._theta
        self._squares = np.einsum("nd,nd->n", self.items @ self._shape, self.items)

    def _shortlist(self) -> Any:
        """Items that can still have the largest score, in order."""
        moved = float(np.linalg.norm(self.policy.theta - self._theta))
        grown = max(float(np.linalg.eigvalsh(self._current_shape() - self._shape)[-1]), 0.0)
        slack = _SLACK * max(float(np.abs(self._shape).max()), 1e-300)
        bounds = np.empty(len(self.items))
        best = _bound_entry(
            self._means,
            self._squares,
            self._norms,
            moved,
            grown + slack,
            self.policy.radius,
            bounds,
        )
        reached = float(self.policy.scores(self.items[best : best + 1])[0])
        return np.flatnonzero(bounds >= reached - _SLACK * (1.0 + abs(reached)))

    def _current_shape(self) -> Array:
        """M, shape (d, d), from the widths of e_i and e_i + e_j."""
        dim = self.policy.dim
        rows, columns = np.tril_indices(dim, -1)
        eye = np.eye(dim)
        alone = self.policy.widths(eye) ** 2
        shape = np.diag(alone)
        if len(rows):
            together = self.policy.widths(eye[rows] + eye[columns]) ** 2
            shape[rows, columns] = (together - alone[rows] - alone[columns]) / 2.0
            shape[columns, rows] = shape[rows, columns]
        return shape


def _bound(
    means: Array,
    squares: Array,
    norms: Array,
    moved: float,
    grown: float,
    radius: float,
    bounds: Array,
) -> int:
    """Fill ``bounds`` (N,) with what each score can be at most; the index of the largest."""
    best = 0
    for n in range(bounds.size):
        square = max(squares[n] + norms[n] * norms[n] * grown, 0.0)
        bounds[n] = means[n] + norms[n] * moved + radius * np.sqrt(square)
    for n in range(1, bounds.size):
        if bounds[n] > bounds[best]:
            best = n
    return best


_bound_entry = entry_point(_bound, "catalogue")
