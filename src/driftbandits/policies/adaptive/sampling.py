"""AdaptiveSampling: AdaptiveLinUCB with random choices and exact propensities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import Array, positive
from ...core.compiling import lean_kernel, row_kernel
from ...core.entry_points import Kernels
from ...core.linalg import argmax
from ...core.randomness import stream_state, uniform_at
from ..registry import register
from .choosing import optimistic, reward_curiosity, squares_from
from .learning import Parameters
from .policy import ADAPTIVE, AdaptivePolicy
from .state import COUNTERS, State

# Positions in ``counters``, after those of the banks: the random stream of choices.
STREAM_HIGH = COUNTERS  # the stream's key, in two words of 32 bits
STREAM_LOW = COUNTERS + 1
CHOICES = COUNTERS + 2  # draws made from the stream
WORD = 0xFFFF_FFFF


@lean_kernel
def weigh_actions(
    p: Parameters, s: State, x: int, radius: float, columns: Array, scratch: Array, scores: Array
) -> None:
    """Replace upper bounds U by −½ ((U* − U)/(τ σ̂ ‖a − a*‖))²; a* has the largest one, U*."""
    best, panel = argmax(scores), scratch.shape[1]
    largest = scores[best]
    for start in range(0, scores.size, panel):
        part = scores[start : start + panel]
        widths, some = scratch[0, : part.size], columns[:, start : start + part.size]
        # Both actions share the level, so its uncertainty does not matter.
        squares_from(p, s, x, columns[:, best], np.inf, some, scratch, widths)
        reward_curiosity(p, s, x, some, scratch, widths)  # as in the bound of each action
        for k in range(part.size):
            gap = largest - part[k]
            unit = p.temperature * radius * widths[k]
            part[k] = 0.0 if gap == 0.0 else -0.5 * (gap / unit) ** 2


# The order of these sums is fixed, so that a decision and its replay have the same bits.


@row_kernel
def drawn(scores: Array, u: float) -> int:
    """The first action at which the running sum of e^score exceeds ``u`` times the total."""
    total = 0.0
    for k in range(scores.size):
        total += np.exp(scores[k])
    left = u * total
    for k in range(scores.size):
        left -= np.exp(scores[k])
        if left < 0.0:
            return k
    return argmax(scores)


@row_kernel
def normalise(scores: Array, chances: Array) -> None:
    """chances ← e^score / Σ e^score."""
    total = 0.0
    for k in range(scores.size):
        chances[k] = np.exp(scores[k])
        total += chances[k]
    for k in range(scores.size):
        chances[k] /= total


@lean_kernel
def choose(p: Any, s: Any, columns: Array, scratch: Array, scores: Array) -> int:
    """Draw an action with a probability proportional to e^score."""
    x, radius = optimistic(p, s, columns, scratch, scores)
    weigh_actions(p, s, x, radius, columns, scratch, scores)
    c = s.counters
    u = uniform_at(int(c[STREAM_HIGH]), int(c[STREAM_LOW]), int(c[CHOICES]))
    c[CHOICES] += 1.0
    return drawn(scores, u)


@lean_kernel
def propensities(
    p: Any, s: Any, columns: Array, scratch: Array, scores: Array, rule: int, chances: Array
) -> None:
    """Write the probabilities with which `choose` draws: proportional to e^score."""
    normalise(scores, chances)


@register("AdaptiveSampling", "AdaptiveLinUCB with exact propensities; for any drift, and for logs")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveSampling(AdaptivePolicy):
    """AdaptiveLinUCB with choices drawn at random: every action has a known probability.

    Banks, level, noise and audits are those of AdaptiveLinUCB. Let U_a be its upper bounds, and a*
    the action with the largest one. AdaptiveSampling does not always play a*. It draws an action,
    as Maillard sampling does with estimates instead of upper bounds:

        p_a ∝ exp(−½ z_a²)      z_a = (U_a* − U_a) / (τ σ̂ ‖a − a*‖_{V_x⁻¹})

    It plays a share ε = ``floor`` of the choices at random. So the propensities are
    (1 − ε) p_a + ε/K: a closed form for any K, and never below ε/K. Log them with the choices:
    off-policy evaluation needs them. Actions that the policy can hardly tell apart share the
    choices. Only the floor plays the others.

    Attributes:
        floor: ε. It costs a share ε of the regret of random play. This is most of the regret that
            this policy adds to AdaptiveLinUCB's. Half of ε costs half as much, and doubles the
            largest weights 1/p. With 0, some propensities are zero, and a log cannot say what the
            actions that were never played would have brought.
        temperature: τ, how far choices spread around the largest upper bound, in standard errors.
            As τ goes to zero, the draws become the choices of AdaptiveLinUCB. Relative to
            AdaptiveLinUCB, the regret was 1.2 at τ = 0.1, 1.3 at τ = 0.3, and 1.3 with the floor
            alone.

    Examples:
        >>> import numpy as np
        >>> from driftbandits import AdaptiveSampling
        >>> policy, arms = AdaptiveSampling(dim=2), np.eye(2)
        >>> for t in range(100):
        ...     policy.update(arms[t % 2], t % 2 + 0.5 * (-1) ** (t // 2))
        >>> policy.propensities(arms).round(3)
        array([0.005, 0.995])
    """

    kernels: ClassVar[Kernels] = ADAPTIVE._replace(
        name="adaptive_sampling", choose=choose, propensities=propensities
    )

    refusals: ClassVar[Mapping[str, str]] = {
        **AdaptivePolicy.refusals,
        "scores": "an action has no score before the draw",
    }

    floor: float = 0.01
    temperature: float = 0.1

    def _validate(self) -> None:
        super()._validate()
        positive("temperature", self.temperature)

    def _make_parameters(self) -> Parameters:
        return super()._make_parameters()._replace(temperature=self.temperature)

    def _initial_state(self) -> State:
        banks = super()._initial_state()
        state = banks._replace(counters=np.append(banks.counters, np.zeros(3)))
        self._start_stream(state)
        return state

    def _reseed(self, replication: int) -> None:
        self._start_stream(self._state, replication)

    def _start_stream(self, state: State, *names: int) -> None:
        key = int(stream_state(self.seed, "policy", type(self).__name__, *names)[0])
        state.counters[[STREAM_HIGH, STREAM_LOW, CHOICES]] = key >> 32, key & WORD, 0

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        words = dict.fromkeys((STREAM_HIGH, STREAM_LOW), (0, WORD))
        return {**super()._counter_ranges(state), **words, CHOICES: (0, 2**53)}
