"""Choosing from a large catalogue that does not change, without scoring all of it.

θ̂ and M = V⁻¹ Ṽ V⁻¹ move a little from decision to decision. Each item a keeps its mean aᵀθ_e and
its squared width aᵀM_e a of some earlier decision e. Then

    aᵀθ̂ ≤ aᵀθ_e + ‖a‖ ‖θ̂ − θ_e‖        aᵀMa ≤ aᵀM_e a + ‖a‖² max(λ_max(M − M_e), 0)

bound its present upper confidence bound, in O(1). Only if this bound reaches the best score found
so far is the item computed again; its e is then the present decision. So items that nearly win are
computed often, the others hardly ever.

If V is ill-conditioned, M loses digits. So M only serves for bounds, which are widened by the
possible rounding error of M. The policy itself scores the items that may still win. If too many
digits are lost, these are all items.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import Array, float_array
from ..core.compiling import entry_point, lean_kernel
from ..core.linalg import clear, inner, subtract
from .base import Policy
from .linear import LinearPolicy

# How many decisions items can refer to. After so many, an item is computed again in any case.
_DECISIONS = 64

# Means are summed in another order than by the policy. This slack is far more than the rounding.
SLACK = 1e-9


class FixedCatalogue:
    """A policy's choice from items that never change: the index that ``select`` would give.

    Attributes:
        policy: The policy that chooses. Update it through its own methods.
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

    def __init__(self, policy: Policy, items: Any) -> None:
        if not isinstance(policy, LinearPolicy) or policy.refusal("scores"):
            raise TypeError(
                "policy must be one that always plays the largest upper confidence bound "
                f"aᵀθ̂ + β width(a), not {getattr(policy, 'label', policy)!r}"
            )
        if policy.floor > 0:
            raise ValueError(
                f"policy must have floor = 0, got {policy.floor!r}: a catalogue gives the rule's "
                "own choice"
            )
        self.policy = policy
        # A copy: the bounds of an item would be wrong if it changed.
        self.items = np.array(float_array("items", items, ndim=2))
        policy.scores(self.items)  # refuses what the policy would refuse
        self.items.setflags(write=False)
        count, dim = self.items.shape
        self._norms = np.linalg.norm(self.items, axis=1)
        self._means, self._squares = np.empty(count), np.empty(count)
        # Nothing is known yet. All items refer to place 0, which the first decision takes: it
        # computes all of them.
        self._seen = np.zeros(count, dtype=np.int64)
        self._thetas, self._shapes = np.zeros((_DECISIONS, dim)), np.zeros((_DECISIONS, dim, dim))
        self._errors = np.zeros(_DECISIONS)
        self._decision = 0
        self._last = 0

    def select(self) -> int:
        """Index of the item with the largest score; the first, if several have it."""
        now = self._decision % _DECISIONS
        self._decision += 1
        theta, shape = self.policy.theta, self._current_shape()
        self._thetas[now], self._shapes[now] = theta, shape
        self._errors[now] = self._rounding(shape)
        radius = self.policy.radius
        reached = _search_entry(
            self.items,
            self._norms,
            self._means,
            self._squares,
            self._seen,
            np.linalg.norm(self._thetas - theta, axis=1),
            self._growth(shape, now),
            theta,
            shape,
            self._errors[now],
            radius,
            now,
            self._last,
        )
        self._last = self._first_best(reached, radius, now)
        return self._last

    def _first_best(self, reached: float, radius: float, now: int) -> int:
        """The item that the policy would select: by its own arithmetic, also for ties."""
        looked_at = np.flatnonzero(self._seen == now)
        norms = self._norms[looked_at]
        squares = self._squares[looked_at] + norms**2 * self._errors[now]
        bounds = self._means[looked_at] + radius * np.sqrt(np.maximum(squares, 0.0))
        slack = SLACK * (abs(reached) + norms * np.linalg.norm(self._thetas[now]))
        nearly = looked_at[bounds >= reached - slack]
        return int(nearly[self.policy.select(self.items[nearly])])

    def _growth(self, shape: Array, now: int) -> Array:
        """A bound on max(λ_max(M − M_e), 0) for every decision e, (_DECISIONS,).

        λ_max(D) ≤ c + ‖D − cI‖ with c = tr(D)/d. This is tight for growth that is the same in all
        directions, as by forgetting.
        """
        dim = len(shape)
        grown = shape - self._shapes
        common = np.trace(grown, axis1=1, axis2=2) / dim
        squares = np.einsum("eij,eij->e", grown, grown) - dim * common**2
        most = np.maximum(common + np.sqrt(np.maximum(squares, 0.0)), 0.0)
        # The squared width kept from e has the error of e. M − M_e has the errors of e and of now.
        slack = SLACK * float(np.abs(shape).max())
        return np.asarray(most + 2.0 * self._errors + self._errors[now] + slack)

    def _rounding(self, shape: Array) -> float:
        """A bound on the norm of the rounding error of M.

        Solving Vx = a with a factor R gives x an error of ε κ(R)² ‖V⁻¹‖, which enters ‖Ṽ^{1/2}x‖.
        """
        with self.policy._alone():
            fit, dim = self.policy._fit(), len(shape)
            factor, squared = np.triu(fit.factor), np.triu(fit.gram_squared[0])
        inverse = np.linalg.inv(factor)
        condition = float(np.linalg.norm(factor) * np.linalg.norm(inverse))
        largest = float(np.abs(shape).max())
        unit = 8.0 * dim * np.finfo(np.float64).eps * condition
        if fit.gram_squared.shape[1] == 0:
            return dim * unit * largest
        weight = 2.0 * np.linalg.norm(squared) + fit.mu * np.sqrt(dim)
        lost = np.sqrt(weight) * unit * condition * np.linalg.norm(inverse) ** 2
        return float(dim * (2.0 * np.sqrt(largest) + lost) * lost)

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


@lean_kernel
def _square(item: Array, shape: Array, image: Array) -> float:
    """aᵀMa; ``image`` (d,) is overwritten."""
    clear(image)
    for i in range(item.size):
        subtract(image, -item[i], shape[i])
    return inner(item, image)


def _search(
    items: Array,
    norms: Array,
    means: Array,
    squares: Array,
    seen: Any,
    moved: Array,
    grown: Array,
    theta: Array,
    shape: Array,
    error: float,
    radius: float,
    now: int,
    last: int,
) -> float:
    """Compute every item that may have the largest score; return a score that is surely reached.

    Begins with item ``last``: the better the first score, the fewer items are computed. Items that
    still refer to place ``now``, which belonged to an old decision, are computed too.
    """
    image, size = np.empty(theta.size), np.sqrt(inner(theta, theta))
    square = _square(items[last], shape, image) - norms[last] ** 2 * error
    reached = inner(items[last], theta) + radius * np.sqrt(max(square, 0.0))
    for n in range(norms.size):
        norm, e = norms[n], seen[n]
        if e != now:
            # ‖θ_e‖ ≤ ‖θ̂‖ + ‖θ̂ − θ_e‖ bounds the rounding of the mean kept from e.
            slack = SLACK * (abs(reached) + norm * (size + moved[e]))
            ahead = reached - slack - means[n] - norm * moved[e]
            square = squares[n] + norm * norm * grown[e]
            if ahead > 0.0 and radius * radius * square < ahead * ahead:
                continue
        means[n], squares[n], seen[n] = inner(items[n], theta), _square(items[n], shape, image), now
        square = squares[n] - norm * norm * error
        reached = max(reached, means[n] + radius * np.sqrt(max(square, 0.0)))
    return float(reached)


_search_entry = entry_point(_search, "catalogue")
