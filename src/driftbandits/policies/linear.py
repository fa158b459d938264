"""Policies that keep an estimate of the hidden parameter and a confidence ellipsoid around it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array, non_negative, open_unit, positive
from ..core.packing import BUSY, claim_entry
from ..least_squares.sums import widths_entry
from .base import Policy
from .inputs import action_rows

# Largest L²/λ. Rounding changes V by about 10⁻¹⁶ L²n after n rounds of one action. This must stay
# below λ, which is V in directions that were never played. At this ratio, three digits are left
# after 60 rounds of the worst case: docs/explanation/mathematics.md, how much rounding costs.
LARGEST_RATIO = 1e11


class Fit(NamedTuple):
    """The estimate in force, as views of the state."""

    factor: Array  # (d, d), R of V = RᵀR
    gram_squared: Array  # (2, d, d), Ṽ without its ridge; (2, 0, 0) if Ṽ = V
    mu: float  # the ridge of Ṽ
    theta: Array  # (d,), θ̂
    radius: float  # β
    scale: float = 1.0  # widths computed from these arrays are multiplied by this


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPolicy(Policy):
    """A policy with an estimate θ̂, widths and a radius.

    Most play the action with the largest upper confidence bound, its score. Policies that draw at
    random refuse ``scores``.

    Attributes:
        ridge: Penalty λ.
        noise: Sub-Gaussian noise level σ of the rewards.
        delta: Probability δ that the confidence set may miss.
        theta_bound: Bound S on the norm of the hidden parameter.
    """

    ridge: float = 0.1
    noise: float = 1.0
    delta: float = 0.01
    theta_bound: float = 1.0

    @abstractmethod
    def _fit(self) -> Fit:
        """The up-to-date estimate; within `_alone`."""

    def _theta(self) -> Array:
        """θ̂ alone, for the property `theta`."""
        return self._fit().theta

    @property
    def theta(self) -> Array:
        """The estimate θ̂, shape (d,)."""
        packed = self._packed
        claim_entry(packed)  # the same as `with self._alone()`, but faster
        try:
            return self._theta().copy()
        finally:
            packed[BUSY] = 0.0

    @property
    def radius(self) -> float:
        """The radius β of the confidence ellipsoid."""
        with self._alone():
            return self._fit().radius

    def widths(self, actions: Any) -> Array:
        """√(aᵀ V⁻¹ Ṽ V⁻¹ a) of every action of ``actions`` (K, d), shape (K,)."""
        rows = action_rows(self.dim, actions, none=True)
        out = np.empty(len(rows))
        columns = np.array(rows.T, order="C")
        with self._alone():
            fit = self._fit()
            widths_entry(fit.factor, fit.gram_squared, fit.mu, columns, out)
        return out * fit.scale

    def scores(self, actions: Any) -> Array:
        """Upper confidence bound of every action of ``actions`` (K, d), shape (K,)."""
        self._check_offered("scores")
        return self._scores(actions)

    def _estimates(self) -> tuple[Any, ...]:
        across = np.full((1, self.dim), self.action_bound / self.dim)
        return self.theta, self.radius, self.widths(across)

    def _validate(self) -> None:
        positive("ridge", self.ridge)
        non_negative("noise", self.noise)
        open_unit("delta", self.delta)
        non_negative("theta_bound", self.theta_bound)
        self._check_ratio("action_bound²/ridge", self.action_bound**2 / self.ridge)

    def _check_ratio(self, name: str, value: float) -> None:
        """Refuse a ridge that rounding would exceed; for a saved state, only warn."""
        if value <= LARGEST_RATIO:
            return
        message = (
            f"{name} must be at most {LARGEST_RATIO:g}, got {value:g}: rounding would exceed the "
            "ridge; use larger units for actions, or a larger ridge"
        )
        if not self._is_loaded:
            raise ValueError(message)
        warnings.warn(message, stacklevel=2)
