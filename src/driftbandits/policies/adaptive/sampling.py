"""AdaptiveSampling: AdaptiveLinUCB with choices that are drawn, and exact propensities."""

from __future__ import annotations

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

# Positions in ``counters``, after those of the banks: the stream of choices.
STREAM_HIGH = COUNTERS  # its key, in two words of 32 bits
STREAM_LOW = COUNTERS + 1
CHOICES = COUNTERS + 2  # draws made from it
WORD = 0xFFFF_FFFF


@lean_kernel
def weigh_actions(
    p: Parameters, s: State, x: int, radius: float, columns: Array, scratch: Array, scores: Array
) -> None:
    """Replace upper bounds U by −½ ((U* − U)/(τ c σ̂ ‖a − a*‖))², a* the action of the largest."""
    best, panel = argmax(scores), scratch.shape[1]
    largest = scores[best]
    for start in range(0, scores.size, panel):
        part = scores[start : start + panel]
        widths, some = scratch[0, : part.size], columns[:, start : start + part.size]
        # The level is common to both actions, so its uncertainty plays no part.
        squares_from(p, s, x, columns[:, best], np.inf, some, scratch, widths)
        reward_curiosity(p, s, x, some, scratch, widths)
        for k in range(part.size):
            gap = largest - part[k]
            unit = p.temperature * radius * widths[k]
            part[k] = 0.0 if gap == 0.0 else -0.5 * (gap / unit) ** 2


# The order of these sums is fixed: a decision and its replay have the same bits.


@row_kernel
def drawn(scores: Array, u: float) -> int:
    """The action at which a share ``u`` of the sum of e^score is reached."""
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
    """chances ← e^score, in units of their sum."""
    total = 0.0
    for k in range(scores.size):
        chances[k] = np.exp(scores[k])
        total += chances[k]
    for k in range(scores.size):
        chances[k] /= total


@lean_kernel
def choose(p: Any, s: Any, columns: Array, scratch: Array, scores: Array) -> int:
    """Draw an action in proportion to e^score."""
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
    """In proportion to e^score."""
    normalise(scores, chances)


@register("AdaptiveSampling", "AdaptiveLinUCB with exact propensities; for any drift, and for logs")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveSampling(AdaptivePolicy):
    """AdaptiveLinUCB with choices drawn at random: every action has a known probability.

    Banks, level, noise and audits are those of AdaptiveLinUCB. Of its upper bounds U_a, it does not
    play the largest, that of a*, but draws (as Maillard sampling does from estimates)

        p_a ∝ exp(−½ z_a²)      z_a = (U_a* − U_a) / (τ c σ̂ ‖a − a*‖_{V_x⁻¹})

    and plays a share ε = ``floor`` of the choices at random: (1 − ε) p_a + ε/K. These are the
    propensities, in closed form for any K, and never below ε/K. Logged with the choices, they are
    what off-policy evaluation needs. Actions that are hardly told apart share the choices; the
    others are left to the floor.

    Attributes:
        floor: ε. Its price is that share of the regret of random play, most of what this policy
            loses to AdaptiveLinUCB; half of it has half the price, and twice the weights 1/p.
        temperature: τ, how far choices spread around the largest upper bound, in standard errors.
            As it goes to zero, they become those of AdaptiveLinUCB. The regret was 1.2 times
            AdaptiveLinUCB's at 0.1 and 1.3 times at 0.3, 1.3 times with the floor alone.

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
