"""Exploration by chance over the discounted estimate: what D-RandLinUCB and D-LinTS share.

Both keep D-LinUCB's sums, and draw at random instead of being optimistic. The random source is
part of the state, so that a saved policy goes on with the draws that it would have made.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...core.arrays import one_of, positive
from ...core.compiling import kernel, lean_kernel
from ...core.randomness import stream_state, uniform
from ...core.tuples import extended
from ...least_squares.forgetting import RADIUS
from . import family
from .family import WeightedPolicy, initial_state

# a = √14 β, the scale that the analysis of Kim and Tewari (2020) asks for.
THEORY = math.sqrt(14.0)


# Those of the weighted family, and the scale: a = scale σ, or where it is 0, a = √14 β.
Parameters = extended(family.Parameters, "scale", module=__name__)

# That of the weighted family, and a source of randomness.
State = extended(family.State, "random", module=__name__)


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


def check_scale(scale: float | Literal["theory"]) -> None:
    """Refuse a standard deviation of the draws that is none."""
    if isinstance(scale, str):
        one_of("scale", scale, ("theory",))
    else:
        positive("scale", scale)


def sampled_parameters(common: Any, scale: float | Literal["theory"]) -> Any:
    """The family's parameters ``common``, and the scale."""
    return Parameters(*common, scale=0.0 if scale == "theory" else float(scale))


def sampled_state(policy: WeightedPolicy) -> Any:
    """The state of D-LinUCB, and a stream of the policy's own."""
    common = initial_state(dim=policy.dim, ridge=policy.ridge, discounted=True)
    return State(*common, random=own_stream(policy))


def own_stream(policy: WeightedPolicy, *names: int) -> npt.NDArray[np.uint64]:
    """Where a policy's draws come from; another stream for each replication."""
    return stream_state(policy.seed, "policy", type(policy).__name__, *names)


@lean_kernel
def normal_cdf(value: float) -> float:
    """Φ; accurate in the lower tail."""
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
