"""D-LinTS: Thompson sampling over the discounted estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import Array, whole
from ...core.compiling import kernel, lean_kernel
from ...core.entry_points import Kernels
from ...core.linalg import argmax, cholesky, clear, column_products, solve, subtract
from ...core.randomness import stream
from ...least_squares.forgetting import MU
from ...least_squares.sums import column_widths
from ..inputs import action_rows, check_norms
from ..registry import register
from . import family as family
from .sampling import (
    THEORY,
    Parameters,
    SampledPolicy,
    State,
    deviation,
    normal,
    normal_cdf,
)

_CHUNK = 1024  # draws at a time, so that large action sets need little memory


@kernel
def choose(p: Any, s: Any, columns: Array, scratch: Array, scores: Array) -> int:
    """The largest aᵀθ̃ for θ̃ = θ̂ + V⁻¹ Cᵀ Z, where Cᵀ C = Ṽ."""
    dim = s.theta.size
    drawn = s.work[dim]
    cholesky(s.gram_squared[0], s.counters[MU], s.work)
    scale = deviation(p, s)
    clear(drawn)
    for j in range(dim):
        z = scale * normal(s.random)
        subtract(drawn[j:], -z, s.work[j, j:])
    solve(s.factor, drawn, drawn)
    for i in range(dim):
        drawn[i] += s.theta[i]
    column_products(drawn, columns, scores)
    return argmax(scores)


@kernel
def propensities(
    p: Any, s: Any, columns: Array, scratch: Array, scores: Array, rule: int, chances: Array
) -> None:
    """Exact for two actions, and NaN for more: an orthant probability has no closed form."""
    for k in range(chances.size):
        chances[k] = np.nan if chances.size > 2 else 1.0
    if chances.size != 2:
        return
    difference, width = np.empty((s.theta.size, 1)), np.empty(1)
    lead = 0.0
    for i in range(s.theta.size):
        difference[i, 0] = columns[i, 0] - columns[i, 1]
        lead += difference[i, 0] * s.theta[i]
    column_widths(s.factor, s.gram_squared, s.counters[MU], difference, width)
    for k in range(2):
        chances[k] = share_of_two(lead, deviation(p, s) * width[0], k)


@lean_kernel
def share_of_two(lead: float, spread: float, chosen: int) -> float:
    """Probability of action ``chosen``, 0 or 1, if 0 leads by N(lead, spread²); ties go to 0."""
    if spread == 0.0:
        return 1.0 if (lead >= 0.0) == (chosen == 0) else 0.0
    return normal_cdf((lead if chosen == 0 else -lead) / spread)


@register("D-LinTS", "discounted Thompson sampling; for drift at a known pace")
@dataclass(frozen=True, kw_only=True, eq=False)
class DLinTS(SampledPolicy):
    """Discounted linear Thompson sampling (Kim and Tewari, UAI 2020).

        V, Ṽ, b, θ̂ as in D-LinUCB      Z ~ N(0, a² I)
        θ̃ = θ̂ + V⁻¹ Ṽ^{1/2} Z      play argmax aᵀθ̃

    Propensities are exact for one or two actions. For more there is no closed form: they are NaN,
    or with a floor, conditional on the draw (`propensities`). `estimated_propensities` estimates
    them by simulation.

    Any root of Ṽ gives the same law; the Cholesky factor is used. The score of an action is one
    inner product. So a large set costs less than with upper confidence bounds, and any oracle that
    maximises a linear function can choose.

    Guarantee: none for the defaults. For ``scale="theory"``, and under the conditions that
    `DRandLinUCB` states, the corrected version of the paper (arXiv 1912.05695) has D-RandLinUCB's
    rate times a power of log K. This factor is the price of a perturbation that the K actions do
    not share.

    Every call of ``select`` draws anew, even within a round. There are no ``scores``: an action has
    no score before the draw.

    Attributes:
        gamma: Discount γ in (0, 1): each round multiplies all weights by γ. `tuned` takes it from
            `driftbandits.theory.tuning.discount`.
        scale: Standard deviation a of the draws in units of the noise level σ. "theory" means
            a = √14 β, the scale of the regret analysis (with ``delta`` = 1/T or less).

    Examples:
        >>> import numpy as np
        >>> from driftbandits.policies.weighted.d_lints import DLinTS
        >>> policy = DLinTS(dim=2, gamma=0.9, ridge=1.0)
        >>> for _ in range(5):
        ...     policy.update([1.0, 0.0], 1.0)
        >>> policy.propensities(np.eye(2)).round(3)
        array([0.771, 0.229])
    """

    kernels: ClassVar[Kernels] = family.WEIGHTED._replace(
        name="d_lints", Parameters=Parameters, State=State, choose=choose, propensities=propensities
    )

    def estimated_propensities(self, actions: Any, *, draws: int = 10_000) -> Array:
        """Shares of the actions (K, d) in ``draws`` draws of θ̃, shape (K,), without the floor.

        The draws come from their own stream, the same at every call. A share has the standard error
        √(p(1 − p)/draws), at most 0.005 for the default. It can be 0 for an action that is rarely
        played. So do not divide by shares: log the propensities of a policy with a floor.
        """
        whole("draws", draws, least=1)
        rows = action_rows(self.dim, actions)
        check_norms(self.action_bound, rows)
        now = self.copy()
        theta, radius = now.theta, now.radius
        scale = THEORY * radius if self.scale == "theory" else self.scale * self.noise
        root = np.linalg.solve(now.design, np.linalg.cholesky(now.squared_design))
        generator = stream(self.seed, "propensities", type(self).__name__)
        wins = np.zeros(len(rows))
        for start in range(0, draws, _CHUNK):
            z = generator.standard_normal((min(_CHUNK, draws - start), self.dim))
            best = np.argmax((theta + scale * z @ root.T) @ rows.T, axis=1)
            wins += np.bincount(best, minlength=len(rows))
        return np.asarray(wins / draws)
