"""Random exploration around the discounted estimate, shared by D-RandLinUCB and D-LinTS.

Both keep D-LinUCB's sums, and draw at random instead of being optimistic. The random source is
part of the state, so a policy that was saved and loaded makes the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ...core.arrays import one_of, positive
from ...core.compiling import kernel, lean_kernel
from ...core.randomness import stream_state, uniform
from ...core.tuples import extended
from ...least_squares.forgetting import RADIUS
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..problem import Problem
from . import state as family_state
from .family import WeightedPolicy
from .state import PER_ROUND, initial_state

# a = √14 β, the scale that the analysis of Kim and Tewari (2020) needs.
THEORY = math.sqrt(14.0)


# The parameters of the weighted family, and the scale: a = scale σ, or if it is 0, a = √14 β.
Parameters = extended(family_state.Parameters, "scale", module=__name__)

# The state of the weighted family, and a source of randomness.
State = extended(family_state.State, "random", module=__name__)


@kernel
def normal(random: npt.NDArray[np.uint64]) -> float:
    """A standard normal draw from two uniform ones (Box and Muller, 1958)."""
    length = np.sqrt(-2.0 * np.log(1.0 - uniform(random)))
    return float(length * np.cos(2.0 * np.pi * uniform(random)))


@lean_kernel
def deviation(p: Any, s: Any) -> float:
    """The standard deviation a of the draws; ``s`` must be prepared."""
    if p.scale > 0.0:
        return float(p.scale * p.noise)
    return float(THEORY * s.counters[RADIUS])


@lean_kernel
def normal_cdf(value: float) -> float:
    """Φ(value); accurate in the lower tail."""
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledPolicy(WeightedPolicy):
    """D-LinUCB's sums, with a source of randomness; the kernels decide what to draw."""

    refusals: ClassVar[Mapping[str, str]] = {"scores": "an action has no score before the draw"}

    gamma: float
    scale: float | Literal["theory"] = 1.0

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "paper", **options: Any) -> Self:
        """The discount of D-LinUCB for the problem's budget and horizon; see `DLinUCB.tuned`."""
        gamma = rules.discount(**problem.drift(tuning))
        return cls(**{**problem.common(tuning), "gamma": gamma, **options})

    def _validate(self) -> None:
        super()._validate()
        self._check_discount(self.gamma)
        if isinstance(self.scale, str):
            one_of("scale", self.scale, ("theory",))
        else:
            positive("scale", self.scale)

    def _make_parameters(self) -> Any:
        common = self._parameters_with(gamma=self.gamma, radius=PER_ROUND)
        return Parameters(*common, scale=0.0 if self.scale == "theory" else float(self.scale))

    def _initial_state(self) -> Any:
        common = initial_state(dim=self.dim, ridge=self.ridge, discounted=True)
        return State(*common, random=self._stream())

    def _reseed(self, replication: int) -> None:
        self._state.random[:] = self._stream(replication)

    def _stream(self, *names: int) -> npt.NDArray[np.uint64]:
        """The stream of the draws; a different one for each replication."""
        return stream_state(self.seed, "policy", type(self).__name__, *names)
