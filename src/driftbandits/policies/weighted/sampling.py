"""Exploration by chance over the discounted estimate: what D-RandLinUCB and D-LinTS share.

Both keep D-LinUCB's sums, and draw at random instead of being optimistic. The random source is
part of the state, so that a saved policy goes on with the draws that it would have made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.arrays import Array, one_of, positive
from ...core.compiling import kernel, lean_kernel
from ...core.randomness import stream_state, uniform
from ...least_squares.forgetting import RADIUS
from .discounted import Discounted
from .family import PER_ROUND, initial_state

# a = √14 β, the scale that the analysis of Kim and Tewari (2020) asks for.
THEORY = math.sqrt(14.0)


class Parameters(NamedTuple):
    """Those of the weighted family, and the scale a; all of them floats."""

    gamma: float
    window: float
    ridge: float
    mu: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    radius: float
    horizon: float
    restore: float
    follow: float
    period: float
    released: float
    scale: float  # a = scale σ, or where it is 0, a = √14 β


class State(NamedTuple):
    """That of the weighted family, and a source of randomness."""

    gram: Array
    gram_squared: Array
    moment: Array
    counters: Array
    history: Array
    restarts: Array
    factor: Array
    theta: Array
    work: Array
    belated: Array
    random: npt.NDArray[np.uint64]


@kernel
def normal(random: npt.NDArray[np.uint64]) -> float:
    """A standard normal draw from two uniform ones (Box and Muller, 1958)."""
    length = np.sqrt(-2.0 * np.log(1.0 - uniform(random)))
    return float(length * np.cos(2.0 * np.pi * uniform(random)))


@lean_kernel
def deviation(p: Parameters, s: State) -> float:
    """The standard deviation a of the draws; ``s`` must be prepared."""
    if p.scale > 0.0:
        return p.scale * p.noise
    return float(THEORY * s.counters[RADIUS])


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledPolicy(Discounted):
    """D-LinUCB's estimate, with choices drawn at random.

    Every call of ``select`` draws anew, also within a round. There are no ``scores``: no number is
    an action's before the draw.

    Attributes:
        gamma: Discount γ in (0, 1), what a weight keeps in a round.
        scale: Standard deviation a of the draws in units of the noise level σ, or "theory" for
            a = √14 β, the one that the regret analysis is for (with ``delta`` = 1/T or less).
    """

    scale: float | Literal["theory"] = 1.0

    def _validate(self) -> None:
        super()._validate()
        if isinstance(self.scale, str):
            one_of("scale", self.scale, ("theory",))
        else:
            positive("scale", self.scale)

    def _make_parameters(self) -> Parameters:
        family = self._parameters_with(gamma=self.gamma, radius=PER_ROUND)
        return Parameters(*family, scale=0.0 if self.scale == "theory" else float(self.scale))

    def _initial_state(self) -> State:
        family = initial_state(dim=self.dim, ridge=self.ridge, discounted=True)
        return State(*family, random=stream_state(self.seed, "policy", type(self).__name__))

    def _reseed(self, replication: int) -> None:
        name = type(self).__name__
        self._state.random[:] = stream_state(self.seed, "policy", name, replication)


@lean_kernel
def normal_cdf(value: float) -> float:
    """Φ; accurate in the lower tail."""
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
