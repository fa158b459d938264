"""LinUCB-OR: LinUCB that is told the change points. A yardstick, not for real use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from ..problem import Problem
from ..registry import register
from .family import WeightedPolicy
from .state import PER_ROUND, Parameters, State, initial_state


@register("LinUCB-OR", "LinUCB told when to start afresh; a yardstick")
@dataclass(frozen=True, kw_only=True, eq=False)
class OracleRestartLinUCB(WeightedPolicy):
    """LinUCB that forgets everything at each round in which the parameter changes.

    The radius counts from the last restart. A late reward of a round before the last restart
    changes nothing.

    Attributes:
        change_points: First rounds with a new parameter, in increasing order.

    Examples:
        >>> from driftbandits import OracleRestartLinUCB
        >>> policy = OracleRestartLinUCB(dim=1, ridge=1.0, change_points=(3,))
        >>> for reward in (4.0, 4.0, 1.0):
        ...     policy.update([1.0], reward)
        >>> policy.theta
        array([0.5])
    """

    change_points: tuple[int, ...]

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """LinUCB-OR with the problem's change points."""
        return cls(change_points=problem.change_points, **problem.common())

    def _validate(self) -> None:
        super()._validate()
        try:
            points = tuple(float(point) for point in self.change_points)
        except (TypeError, ValueError):
            points = (math.nan,)
        if not all(point.is_integer() and point >= 1 for point in points):
            raise ValueError(f"change_points must be rounds from 1 on, got {self.change_points!r}")
        if any(later <= earlier for earlier, later in pairwise(points)):
            raise ValueError(f"change_points must be increasing, got {self.change_points!r}")
        object.__setattr__(self, "change_points", tuple(int(p) for p in points))

    def _make_parameters(self) -> Parameters:
        return self._parameters_with(radius=PER_ROUND)

    def _initial_state(self) -> State:
        # Before round 1 there is nothing to forget.
        restarts = [float(point) for point in self.change_points if point > 1]
        return initial_state(
            dim=self.dim, ridge=self.ridge, restarts=np.array(restarts, dtype=np.float64)
        )
