"""Weighted least squares with an L2 penalty, on its own.

`WeightedLeastSquares` is for weights that no policy offers. The policies do not use it: they keep
the same sums in compiled state. They share its parts, `sums` and `radii`.

With positive predictable weights w_s, and deterministic λ and μ that may change from query to
query (Section 2 of Russac, Vernade and Cappé, NeurIPS 2019):

    V = Σ w_s a_s a_sᵀ + λ I      b = Σ w_s r_s a_s      θ̂ = V⁻¹ b
    Ṽ = Σ w_s² σ_s² a_s a_sᵀ + μ I                       width(a) = √(aᵀ V⁻¹ Ṽ V⁻¹ a)

Only the sums are stored (module ``sums``). λ and μ enter with each query. So no recursion has to
keep the penalty in place, and every factorisation starts from exact sums.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..core.arrays import Array, float_array, non_negative, one_of, open_unit, positive, whole
from ..core.compiling import entry_point
from ..core.linalg import cholesky, log_determinant, solve, symmetric
from .radii import anytime_delta, mixture_radius, trace_volume
from .sums import accumulate, shrink_entry, widths_entry

RadiusKind = Literal["per-round", "anytime", "determinant", "anytime-determinant"]
RADIUS_KINDS: tuple[RadiusKind, ...] = (
    "per-round",
    "anytime",
    "determinant",
    "anytime-determinant",
)

# Sums are stored in a unit that grows as weights are discounted. It returns to 1 before it exceeds
# this, or falls below the inverse.
_LARGEST_UNIT = 2.0**256


def _observe_all(
    gram: Array,
    gram_squared: Array,
    moment: Array,
    actions: Array,
    rewards: Array,
    weights: Array,
    squared_weights: Array,
) -> None:
    for n in range(rewards.size):
        weight, squared = weights[n], squared_weights[n]
        accumulate(gram, gram_squared, moment, actions[n], rewards[n], weight, squared, False)


def _fit(gram: Array, moment: Array, ridge: float, factor: Array, theta: Array) -> float:
    cholesky(gram[0], ridge, factor)
    solve(factor, moment[0], theta)
    return log_determinant(factor)


_observe_all_entry = entry_point(_observe_all, "estimator")
_fit_entry = entry_point(_fit, "estimator")


class WeightedLeastSquares:
    """The estimator on its own, for any weights, any λ_t and μ_t, and noise that varies.

    For exponential forgetting, call ``discount(gamma)`` before each observation. For a sliding
    window, ``withdraw`` the observations that leave it. To forget nothing, do neither.

    Examples:
        >>> from driftbandits import WeightedLeastSquares
        >>> estimator = WeightedLeastSquares(dim=2)
        >>> estimator.observe([[1.0, 0.0], [0.0, 1.0]], [1.0, 3.0], weights=[1.0, 2.0])
        >>> estimator.estimate(ridge=1.0)
        array([0.5, 2. ])
        >>> estimator.widths([[1.0, 0.0]], ridge=1.0, mu=1.0)
        array([0.70710678])
        >>> estimator.contains([1.0, 3.0], ridge=1.0, mu=1.0, delta=0.05, theta_bound=4.0)
        True
    """

    def __init__(self, *, dim: int) -> None:
        whole("dim", dim, least=1)
        self.dim = dim
        self._gram = np.zeros((2, dim, dim))
        self._gram_squared = np.zeros((2, dim, dim))
        self._moment = np.zeros((2, dim))
        self._weight_squares = 0.0
        # A weight w is stored as w · unit. To discount all weights by γ, divide the unit by γ.
        self._unit = 1.0

    def observe(self, actions: Any, rewards: Any, *, weights: Any = 1.0, noise: Any = 1.0) -> None:
        """Add observations: actions (n, d), rewards (n,), weights and noise levels (n,) or one."""
        self._add(1.0, actions, rewards, weights, noise)

    def withdraw(self, actions: Any, rewards: Any, *, weights: Any = 1.0, noise: Any = 1.0) -> None:
        """Take out observations that were added, with the weights that they have now."""
        self._add(-1.0, actions, rewards, weights, noise)

    def discount(self, factor: float) -> None:
        """Multiply the weight of everything seen so far by ``factor`` > 0."""
        positive("factor", factor)
        if 1.0 / _LARGEST_UNIT < self._unit / factor < _LARGEST_UNIT:
            self._unit /= factor
            return
        rescale = factor / self._unit
        shrink_entry(self._gram, self._gram_squared, self._moment, rescale)
        self._weight_squares *= rescale**2
        self._unit = 1.0

    @property
    def weight_square_sum(self) -> float:
        """Σ w²σ² over all observations."""
        return self._weight_squares / self._unit**2

    def estimate(self, *, ridge: float) -> Array:
        """θ̂ = V⁻¹ b, shape (d,)."""
        return self._fit(ridge)[1]

    def widths(self, directions: Any, *, ridge: float, mu: float) -> Array:
        """√(xᵀ V⁻¹ Ṽ V⁻¹ x) of every row x of ``directions`` (K, d), shape (K,)."""
        rows = float_array("directions", directions, ndim=2)
        if rows.shape[1] != self.dim:
            raise ValueError(f"directions must have shape (K, {self.dim}), got {rows.shape}")
        positive("mu", mu)
        out = np.empty(len(rows))
        columns = np.array(rows.T, order="C")
        factor = self._fit(ridge)[0]
        widths_entry(factor, self._gram_squared, mu * self._unit**2, columns, out)
        return out

    def radius(
        self,
        *,
        ridge: float,
        mu: float,
        delta: float,
        theta_bound: float,
        action_bound: float = 1.0,
        noise: float = 1.0,
        kind: RadiusKind = "per-round",
        step: int = 1,
    ) -> float:
        """Radius of the confidence ellipsoid.

        The anytime kinds hold at all queries together if ``step`` counts the queries. They also
        hold if ``step`` counts the changes of μ in units of the weights: then one step covers all
        observations in between (docs/explanation/mathematics.md, block-wise). Leave ``noise`` at 1
        if the observations had their own noise levels.
        """
        for name, value in (("ridge", ridge), ("mu", mu), ("action_bound", action_bound)):
            positive(name, value)
        for name, value in (("theta_bound", theta_bound), ("noise", noise)):
            non_negative(name, value)
        open_unit("delta", delta)
        whole("step", step, least=1)
        one_of("kind", kind, RADIUS_KINDS)
        if kind.startswith("anytime"):
            delta = anytime_delta(delta, float(step))
        if kind.endswith("determinant"):
            log_det = self._fit_squared(mu)[1]
            volume = max(log_det - self.dim * np.log(mu * self._unit**2), 0.0)
        else:
            volume = trace_volume(self.dim, mu, action_bound, self.weight_square_sum)
        return float(mixture_radius(ridge, mu, noise, delta, theta_bound, volume))

    def distance(self, theta: Any, *, ridge: float, mu: float) -> float:
        """‖θ̂ − θ‖ in the norm of V Ṽ⁻¹ V, which is the ellipsoid's norm."""
        candidate = float_array("theta", theta, ndim=1)
        if candidate.shape != (self.dim,):
            raise ValueError(f"theta must have shape ({self.dim},), got {candidate.shape}")
        difference = self.estimate(ridge=ridge) - candidate
        image = self._unit * self.design(ridge=ridge) @ difference
        squared_factor = np.triu(self._fit_squared(mu)[0]).T
        return float(np.linalg.norm(np.linalg.solve(squared_factor, image)))

    def contains(
        self,
        theta: Any,
        *,
        ridge: float,
        mu: float,
        delta: float,
        theta_bound: float,
        **radius: Any,
    ) -> bool:
        """Whether ``theta`` lies in the ellipsoid; takes all options of `radius`."""
        limit = self.radius(ridge=ridge, mu=mu, delta=delta, theta_bound=theta_bound, **radius)
        return self.distance(theta, ridge=ridge, mu=mu) <= limit

    def design(self, *, ridge: float) -> Array:
        """V, shape (d, d)."""
        positive("ridge", ridge)
        return symmetric(self._gram[0]) / self._unit + ridge * np.eye(self.dim)

    def squared_design(self, *, mu: float) -> Array:
        """Ṽ, shape (d, d)."""
        positive("mu", mu)
        return symmetric(self._gram_squared[0]) / self._unit**2 + mu * np.eye(self.dim)

    def _add(self, sign: float, actions: Any, rewards: Any, weights: Any, noise: Any) -> None:
        rows = float_array("actions", actions, ndim=2)
        if rows.shape[1] != self.dim:
            raise ValueError(f"actions must have shape (n, {self.dim}), got {rows.shape}")
        targets = self._per_row("rewards", rewards, rows, broadcast=False)
        factors = self._per_row("weights", weights, rows)
        levels = self._per_row("noise", noise, rows)
        if not (factors > 0).all():
            raise ValueError(f"weights must be above 0, got {factors.min()}")
        if not (levels >= 0).all():
            raise ValueError(f"noise must be 0 or above, got {levels.min()}")
        stored = factors * self._unit
        squared = (stored * levels) ** 2
        _observe_all_entry(
            self._gram,
            self._gram_squared,
            self._moment,
            rows,
            targets,
            sign * stored,
            sign * squared,
        )
        self._weight_squares = max(self._weight_squares + sign * float(squared.sum()), 0.0)

    @staticmethod
    def _per_row(name: str, values: Any, rows: Array, *, broadcast: bool = True) -> Array:
        if broadcast and np.ndim(values) == 0:
            values = np.full(len(rows), values)
        column = float_array(name, values, ndim=1)
        if column.shape != (len(rows),):
            raise ValueError(f"{name} must have shape ({len(rows)},), got {column.shape}")
        return column

    def _fit(self, ridge: float) -> tuple[Array, Array]:
        positive("ridge", ridge)
        factor, theta = np.zeros((self.dim, self.dim)), np.empty(self.dim)
        _fit_entry(self._gram, self._moment, ridge * self._unit, factor, theta)
        return factor, theta

    def _fit_squared(self, mu: float) -> tuple[Array, float]:
        positive("mu", mu)
        factor, unused = np.zeros((self.dim, self.dim)), np.empty(self.dim)
        unit = self._unit**2
        log_det = _fit_entry(self._gram_squared, self._moment, mu * unit, factor, unused)
        return factor, float(log_det)
