"""D-RandLinUCB: D-LinUCB with a random number instead of the radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import Array
from ...core.compiling import kernel
from ...core.entry_points import Kernels
from ...core.linalg import argmax, clear, column_products
from ...least_squares.forgetting import MU
from ...least_squares.sums import column_widths
from ..registry import register
from . import family as family
from .optimism import optimistic
from .sampling import (
    Parameters,
    SampledPolicy,
    State,
    deviation,
    normal,
    normal_cdf,
)


@kernel
def choose(p: Any, s: Any, columns: Array, scratch: Array, scores: Array) -> int:
    """The largest aᵀθ̂ + Z width(a), with one Z for all actions."""
    z = deviation(p, s) * normal(s.random)
    mu = s.counters[MU]
    optimistic(s.factor, s.gram_squared, mu, s.theta, z, columns, scratch, scores)
    return argmax(scores)


@kernel
def highest_lines(intercepts: Array, slopes: Array, chances: Array) -> None:
    """Probability of each line that its intercept + slope·Z is the largest, for one Z ~ N(0, 1).

    Follows the upper envelope from left to right: O(K) for each line on it. If lines coincide, the
    first counts, as in `choose`.
    """
    clear(chances)
    line = 0
    for j in range(1, slopes.size):
        steeper = slopes[j] - slopes[line]
        if steeper < 0.0 or (steeper == 0.0 and intercepts[j] > intercepts[line]):
            line = j
    low = -np.inf
    while True:
        following, high = line, np.inf
        for j in range(slopes.size):
            rise = slopes[j] - slopes[line]
            if rise > 0.0:
                # Where both lines meet. If several meet there, the steepest is highest after it.
                level = max(low, (intercepts[line] - intercepts[j]) / rise)
                if level < high or (level == high and slopes[j] > slopes[following]):
                    following, high = j, level
        chances[line] = normal_measure(low, high)
        if following == line:
            return
        line, low = following, high


@kernel
def normal_measure(low: float, high: float) -> float:
    """Φ(high) − Φ(low), computed in the tail where the interval lies, to keep its digits."""
    if low > 0.0:
        return normal_cdf(-low) - normal_cdf(-high)
    return normal_cdf(high) - normal_cdf(low)


@kernel
def propensities(
    p: Any, s: Any, columns: Array, scratch: Array, scores: Array, rule: int, chances: Array
) -> None:
    """For each action, the probability of a draw Z that gives it the largest score."""
    means, slopes, room = np.empty(scores.size), np.empty(scores.size), columns.copy()
    column_products(s.theta, columns, means)
    column_widths(s.factor, s.gram_squared, s.counters[MU], room, slopes)
    scale = deviation(p, s)
    for k in range(slopes.size):
        slopes[k] *= scale
    highest_lines(means, slopes, chances)


@register("D-RandLinUCB", "D-LinUCB with a random radius; for drift at a known pace, and for logs")
@dataclass(frozen=True, kw_only=True, eq=False)
class DRandLinUCB(SampledPolicy):
    """Discounted randomised LinUCB (Kim and Tewari, UAI 2020).

        V, Ṽ, b, θ̂ as in D-LinUCB      Z ~ N(0, a²), one draw for all actions
        play argmax aᵀθ̂ + Z √(aᵀ V⁻¹ Ṽ V⁻¹ a)

    A random choice has propensities: how likely each action was. Log them with the choices, for
    off-policy evaluation. They are exact: aᵀθ̂ + z width(a) is a line in z, and an action is played
    on the interval where its line is the highest. Its propensity is the normal measure of this
    interval. Without a floor, it is zero for an action whose line is nowhere the highest.

    Guarantee: none for the defaults. The corrected version of the paper (arXiv 1912.05695) states
    an expected dynamic regret of Õ(d^{7/8} B^{1/4} T^{3/4}) for a = √14 β with 2 log T under β's
    root. That is ``scale="theory"`` with ``delta`` = 1/T, and the paper's choice of γ and λ. The
    proof uses the ellipsoid of D-LinUCB at all rounds, so erratum 1 of
    docs/explanation/mathematics.md applies: the proof needs ``delta`` = 1/T². The rate
    d^{2/3} B^{1/3} T^{2/3} of the UAI version had the gap of erratum 2.

    Every call of ``select`` draws anew, even within a round. There are no ``scores``: an action has
    no score before the draw.

    Attributes:
        gamma: Discount γ in (0, 1): each round multiplies all weights by γ. `tuned` takes it from
            `driftbandits.theory.tuning.discount`.
        scale: Standard deviation a of the draws in units of the noise level σ. "theory" means
            a = √14 β, the scale of the regret analysis (with ``delta`` = 1/T or less).

    Examples:
        >>> import numpy as np
        >>> from driftbandits.policies.weighted.d_rand_linucb import DRandLinUCB
        >>> policy = DRandLinUCB(dim=2, gamma=0.9, ridge=1.0)
        >>> for _ in range(5):
        ...     policy.update([1.0, 0.0], 1.0)
        >>> policy.propensities(np.eye(2)).round(3)
        array([0.915, 0.085])
    """

    kernels: ClassVar[Kernels] = family.WEIGHTED._replace(
        name="d_rand_linucb",
        Parameters=Parameters,
        State=State,
        choose=choose,
        propensities=propensities,
    )
