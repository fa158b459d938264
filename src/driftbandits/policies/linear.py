"""Policies that keep an estimate of the hidden parameter and a confidence ellipsoid around it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array, non_negative, open_unit, positive
from ..least_squares.sums import widths_entry
from .base import Policy
from .inputs import action_rows

# Largest L²/λ. Rounding changes V by about 10⁻¹⁶ L²n after n rounds of one action. In directions
# that were never played V is λ, which that must not reach. At this ratio three digits are left of
# 60 rounds of the worst case: docs/explanation/mathematics.md, how much rounding costs.
LARGEST_RATIO = 1e11


class Fit(NamedTuple):
    """The estimate in force, as views of the state."""

    factor: Array  # (d, d), R of V = RᵀR
    gram_squared: Array  # (2, d, d), Ṽ without its ridge; (2, 0, 0) where Ṽ = V
    mu: float  # that ridge
    theta: Array  # (d,), θ̂
    radius: float  # β
    scale: float = 1.0  # what widths by these arrays are multiplied by


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearPolicy(Policy):
    """A policy with an estimate θ̂, widths and a radius.

    Most play the largest upper confidence bound, their ``scores``. Those that draw at random have
    no scores, and refuse to give them.

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
        """The estimate that the next decision rests on, up to date; within `_alone`."""

    @property
    def theta(self) -> Array:
        """The estimate θ̂, shape (d,)."""
        with self._alone():
            return np.array(self._fit().theta)

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
        """Refuse a ridge that rounding would exceed; warn where a state was saved with it."""
        if value <= LARGEST_RATIO:
            return
        message = (
            f"{name} must be at most {LARGEST_RATIO:g}, got {value:g}: rounding would exceed the "
            "ridge; use larger units for actions, or a larger ridge"
        )
        if not self._is_loaded:
            raise ValueError(message)
        warnings.warn(message, stacklevel=2)
