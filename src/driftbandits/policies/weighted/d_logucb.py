"""D-LogUCB: exponential forgetting for clicks; each is linearised once, when it is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...core.arrays import Array, open_unit, whole
from ...core.compiling import lean_kernel
from ...core.entry_points import Kernels, never_misses
from ...core.linalg import copy, inner, whiten
from ...core.tuples import extended
from ...least_squares.amending import amend_memory
from ...least_squares.forgetting import UNIT, remember
from ...theory import tuning as rules
from ...theory.tuning import Tuning
from ..inputs import action_rows
from ..problem import Problem
from ..registry import register
from . import family
from . import state as family_state
from .family import WeightedPolicy
from .state import DETERMINANT, State, initial_state

# Log odds are cut off here. The curvature of the loss is then at least 3e-7, and its inverse keeps
# its digits.
LIMIT = 15.0

STEPS = 200  # enough to halve a bracket of 1e50; Newton's method needs far fewer


# The parameters of the weighted family, and the log odds of an action of zeros.
Parameters = extended(family_state.Parameters, "offset", module=__name__)


@lean_kernel
def logistic(odds: float) -> float:
    """μ(z) = 1/(1 + e^{−z})."""
    return float(1.0 / (1.0 + np.exp(-odds)))


@lean_kernel
def curvature(odds: float) -> float:
    """μ′(z) = μ(z) μ(−z); this form keeps its digits for positive and negative z."""
    return float(logistic(odds) * logistic(-odds))


@lean_kernel
def fitted(prediction: float, spread: float, offset: float, reward: float) -> float:
    """The root x of x = prediction + spread (reward − μ(offset + x)); ``reward`` from 0 to 1.

    The right side decreases in x, so there is exactly one root. It lies within the range of the
    right side.
    """
    low, high = prediction + spread * (reward - 1.0), prediction + spread * reward
    x, last = prediction, high - low
    for _ in range(STEPS):
        excess = x - prediction - spread * (reward - logistic(offset + x))
        if excess > 0.0:
            high = x
        else:
            low = x
        step = -excess / (1.0 + spread * curvature(offset + x))
        # Newton steps can go in circles. If a step leaves the bracket, or is more than half as long
        # as the last, bisect instead.
        if not (low <= x + step <= high and abs(step) <= 0.5 * last):
            step = 0.5 * (low + high) - x
        last = abs(step)
        if x + step == x:
            break
        x += step
    return x


@lean_kernel
def clipped(reward: float) -> float:
    """The reward, cut to the range [0, 1] of the model."""
    return min(max(reward, 0.0), 1.0)


@lean_kernel
def learn(p: Any, s: Any, action: Array, reward: float, age: float) -> None:
    """Add μ′ a aᵀ to V and (μ′ x + r − μ) a to b, at the log odds x that result from the reward."""
    family.estimate(s)
    row = s.work[s.work.shape[0] - 1]
    copy(action, row)
    spread = whiten(s.factor, row) * s.counters[UNIT]
    if age != 0.0:
        spread *= p.gamma**age
    target = clipped(reward)
    x = fitted(inner(s.theta, action), spread, p.offset, target)
    x = min(max(x, -LIMIT - p.offset), LIMIT - p.offset)
    root = np.sqrt(curvature(p.offset + x))
    for i in range(action.size):
        row[i] = root * action[i]
    remember(p, s, row, root * x + (target - logistic(p.offset + x)) / root, age)


@lean_kernel
def amend(p: Any, s: Any, action: Array, old: float, new: float, age: float) -> bool:
    """Correct b for a reward that changes from ``old`` to ``new``; x stays the same."""
    return amend_memory(p, s, action, clipped(old), clipped(new), age)


@register(
    "D-LogUCB", "logistic, with exponential forgetting; for clicks that drift at a known pace"
)
@dataclass(frozen=True, kw_only=True, eq=False)
class DLogUCB(WeightedPolicy):
    """Discounted logistic UCB, with one proximal Newton step per reward.

    The model is P(click) = μ(o + aᵀθ), with μ(z) = 1/(1 + e^{−z}) and the log odds o of ``rate``.
    θ may drift. A reward r of action a with weight g = γ^age is learned by

        θ′ = argmin ½ ‖θ − θ̂‖²_V + g ℓ(θ)      ℓ(θ) = −r log μ − (1 − r) log(1 − μ)
        x = aᵀθ′      V ← V + g μ′(o + x) a aᵀ      b ← b + g (μ′(o + x) x + r − μ(o + x)) a

    To find θ′, one equation in one dimension is solved. Then V⁻¹b = θ′: the loss of each reward is
    replaced by its expansion at the estimate that has just learned it. As sums over the history, at
    round n,

        V = Σ γ^{n−s} μ′_s a_s a_sᵀ + λI      Ṽ = Σ γ^{2(n−s)} μ′_s a_s a_sᵀ + λI
        b = Σ γ^{n−s} (μ′_s x_s + r_s − μ_s) a_s      θ̂ = V⁻¹b
        β = √λ S + φ √(2 log(1/δ) + log det Ṽ − d log λ)
        play argmax aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a)

    Scores are log odds relative to ``rate``. μ is increasing, so scores rank the actions as
    optimistic click rates would. `probabilities` gives the click rates themselves. Where |o + x|
    exceeds 15, x is cut off there. Rewards are clicks, or shares from 0 to 1; values below 0 count
    as 0, values above 1 as 1.

    The step is from ECOLog (Faury, Abeille, Jun and Calauzènes, AISTATS 2022; with a quadratic
    expansion, Zhang and Sugiyama, NeurIPS 2023). The forgetting is from Russac, Cappé and Garivier
    (AISTATS 2020; 2021) and from Wang, Zhao and Zhou (AISTATS 2023). These last two forget in the
    likelihood and maximise it again each round, at a cost that grows with the number of rounds;
    here memory and time per round are constant. They also project θ̂ onto ‖θ‖ ≤ S, a step that
    Faury, Russac, Abeille and Calauzènes (2021) corrected; here only the ridge keeps θ̂ bounded.

    Guarantee: none. Without forgetting, the regret of such steps is bounded for much wider radii.
    With forgetting, the parts are proved one by one, but not together.

    A late reward counts with the weight of its round, and is linearised at the estimate when it
    arrives. An amendment changes b exactly; the point of linearisation stays.

    Attributes:
        gamma: Discount γ in (0, 1): each round multiplies all weights by γ. `tuned` takes it from
            `driftbandits.theory.tuning.discount`.
        rate: Click rate of an action of zeros, and of every action before anything is learned. A
            rough guess of the overall rate is enough; ½ is the model without an offset.
        noise: φ, standard deviation of rewards in units of √(μ(1 − μ)). Clicks have φ = 1; the
            radius is then what D-LinUCB's would be. The default explores less: in four replications
            it lost less on articles, and the same within the errors on features.
        restore_every: Rounds after which λ is restored; see `DLinUCB`.

    Examples:
        >>> from driftbandits import DLogUCB
        >>> policy = DLogUCB(dim=2, gamma=0.99, rate=0.1)
        >>> for visit in range(50):
        ...     policy.update([1.0, 0.0], float(visit % 4 == 0))   # a click rate of 25%
        ...     policy.update([0.0, 1.0], 0.0)
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(2)
        array([0.25, 0.01])
    """

    kernels: ClassVar[Kernels] = family.WEIGHTED._replace(
        name="d_logucb",
        Parameters=Parameters,
        learn=learn,
        amend=amend,
        misses=never_misses,
    )
    late_rewards: ClassVar[str] = "linearised at the estimate when it arrives"
    refusals: ClassVar[Mapping[str, str]] = {
        "merged": "its sums depend on the estimates, and so on the order of rewards",
    }

    gamma: float
    noise: float = 0.25
    rate: float = 0.5
    restore_every: int = 1

    @classmethod
    def tuned(cls, problem: Problem, *, tuning: Tuning = "paper", **options: Any) -> Self:
        """D-LinUCB's discount for the problem; its noise is not used. See `DLinUCB.tuned`."""
        own = {"gamma": rules.discount(**problem.drift(tuning)), "noise": cls.noise}
        return cls(**{**problem.common(tuning), **own, **options})

    def probabilities(self, actions: Any) -> Array:
        """Estimated click rates μ(o + aᵀθ̂) of ``actions`` (K, d), shape (K,)."""
        odds = action_rows(self.dim, actions, none=True) @ self.theta + self._offset
        return np.asarray(1.0 / (1.0 + np.exp(-odds)))

    @property
    def _offset(self) -> float:
        return math.log(self.rate / (1.0 - self.rate))

    def _validate(self) -> None:
        super()._validate()
        self._check_discount(self.gamma)
        open_unit("rate", self.rate)
        whole("restore_every", self.restore_every, least=1)

    def _make_parameters(self) -> Any:
        common = self._parameters_with(
            gamma=self.gamma, radius=DETERMINANT, restore=self.restore_every
        )
        return Parameters(*common, offset=self._offset)

    def _initial_state(self) -> State:
        return initial_state(dim=self.dim, ridge=self.ridge, discounted=True)
