"""The same features in other units, such as an income in euros beside a ratio.

If actions and path have the same units, ⟨a, θ⟩ and the rewards do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import float_array
from . import actions as action_sets
from . import paths
from .actions import ActionSet
from .paths import ParameterPath


@dataclass(frozen=True, kw_only=True)
class ActionsInUnits:
    """Actions whose feature i is ``units[i]`` times feature i of ``actions``.

    Attributes:
        actions: The original actions.
        units: Shape (d,); above 0.
    """

    actions: ActionSet
    units: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", _checked(self.units, self.actions.dim))

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return self.actions.dim

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return self.actions.count

    def start(self, generator: np.random.Generator) -> action_sets.Draw:
        """Open the set at its first round."""
        draw, factors = self.actions.start(generator), self.units[:, None]
        return lambda rounds: np.ascontiguousarray(draw(rounds) * factors)


@dataclass(frozen=True, kw_only=True)
class PathInUnits:
    """A parameter whose coordinate i is coordinate i of ``path``, divided by ``units[i]``.

    Attributes:
        path: The original path.
        units: Shape (d,); above 0.
    """

    path: ParameterPath
    units: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", _checked(self.units, self.path.dim))

    @property
    def dim(self) -> int:
        """Length d of the parameter."""
        return self.path.dim

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds that begin with a jump."""
        return self.path.change_points

    def start(self, generator: np.random.Generator) -> paths.Draw:
        """Open the path at its first round."""
        draw = self.path.start(generator)
        return lambda rounds: np.ascontiguousarray(draw(rounds) / self.units)


def _checked(units: Any, dim: int) -> Any:
    checked = float_array("units", units, ndim=1)
    if len(checked) != dim:
        raise ValueError(f"units must have one number for each of {dim} features, got {units}")
    if not (checked > 0).all():
        raise ValueError(f"units must be above 0, got {units}")
    return checked
