"""AdaptiveLinUCB: learns how fast to forget, from how well each memory predicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .._compile import entry_point, lean_kernel
from ..arrays import Array, non_negative, positive
from ..linalg import argmax, clear
from ..memory import CLOCK
from ..storage import StateFileError
from .detecting import Detecting, longer
from .expert_bank import (
    DETECTIONS,
    ERROR,
    EXPERTS,
    OBSERVATIONS,
    REMEMBERED,
    REWARD_SQUARES,
    ROWS,
    SPREAD,
    UNIT,
    VARIANCE,
    WEIGHT,
    State,
    absorb,
    birth,
    experts_at,
    initial_state,
    pass_rounds,
    predict,
    restore,
    weight_of,
)
from .expert_weights import (
    AUDIT_RADIUS,
    FALSE_ALARMS,
    RIDGE_SHARE,
    any_refuted,
    audit_place,
    auditor,
    judge,
    measure_noise,
    median_expert,
    replace_refuted,
    take_unit,
)
from .kernels import Kernels
from .problem import Problem
from .registry import register


class Parameters(NamedTuple):
    """What the kernels need to know of a configuration; all of them floats."""

    exploration: float
    known: float  # 1 where the noise level is given, 0 where it is estimated


@lean_kernel
def radius_of(p: Parameters, s: State) -> float:
    """c σ̂."""
    return float(p.exploration * np.sqrt(s.counters[VARIANCE]))


@lean_kernel
def prepare(p: Parameters, s: State) -> None:
    """θ̄ = Σ w_j θ_j, written to ``theta``."""
    clear(s.theta)
    for j in range(int(s.counters[EXPERTS])):
        weight = s.facts[j, WEIGHT]
        for i in range(s.theta.size):
            s.theta[i] += weight * s.thetas[j, i]


@lean_kernel
def spread_out(s: State, x: int, columns: Array, out: Array) -> None:
    """√(aᵀV_x⁻¹a) for every column a of ``columns`` (d, K)."""
    clear(out)
    for i in range(s.theta.size):
        for j in range(i + 1):
            weight = s.inverses[x, i, j] * (1.0 if i == j else 2.0)
            for k in range(out.size):
                out[k] += weight * columns[i, k] * columns[j, k]
    for k in range(out.size):
        out[k] = np.sqrt(max(out[k], 0.0) * s.facts[x, UNIT])


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action of the largest aᵀθ̄ + c σ̂ √(aᵀV_x⁻¹a); in audits that of one expert alone."""
    x, estimate, radius = median_expert(s), s.theta, radius_of(p, s)
    place = audit_place(s)
    if place < 1.0:
        x = min(x, auditor(s, place))
        estimate, radius = s.thetas[x], AUDIT_RADIUS * radius
    spread_out(s, x, columns, scores)
    for k in range(scores.size):
        scores[k] *= radius
    for i in range(estimate.size):
        for k in range(scores.size):
            scores[k] += estimate[i] * columns[i, k]
    return argmax(scores)


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Judge the experts by what they predicted, then let all of them learn the reward."""
    count = int(s.counters[EXPERTS])
    if s.counters[OBSERVATIONS] == 0.0:
        take_unit(s, action)
    restore(s)
    residual = 0.0
    for j in range(count):
        predict(s, j, action, reward)
        residual += s.facts[j, WEIGHT] * s.facts[j, ERROR] ** 2 / (1.0 + s.facts[j, SPREAD])
    if count > 1 and s.counters[REWARD_SQUARES] > 0.0:
        judge(s)
    measure_noise(s, action, reward, residual, p.known > 0.0)
    for j in range(count):
        absorb(s, j, action, reward, 1.0 if age == 0.0 else weight_of(s, j, age))


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Close rounds: forget, and as the open one closes let refuted experts start again."""
    clock = s.counters[CLOCK]
    end, closing = clock + rounds, np.floor(clock) + 1.0
    limit = np.log(closing / FALSE_ALARMS)
    if closing <= end and any_refuted(s, limit):
        pass_rounds(s, closing)
        replace_refuted(s, limit)
    pass_rounds(s, end)
    restore(s)


ADAPTIVE = Kernels(
    name="adaptive",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    prepare=prepare,
)


def _widths(columns: Array, out: Array, *state: Array) -> None:
    s = State(*state)
    spread_out(s, median_expert(s), columns, out)


_widths_entry = entry_point(_widths, "adaptive")


@register("AdaptiveLinUCB", "learns how fast to forget; for any drift, told nothing of it")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveLinUCB(Detecting):
    """Learns how fast to forget, and the noise level, from the rewards alone.

    A bank of discounted estimators with memories 2d, 4d, 8d, … and "for ever" sees every reward.
    Their estimates are averaged, with weights by how well each has predicted of late. An expert
    that shorter ones have refuted starts again from the best of them.

        play argmax aᵀθ̄ + c σ̂ √(aᵀ V_x⁻¹ a),      θ̄ = Σ w_j θ_j

    x is the expert at the median of the weights. One round in 25 is an audit, played by a single
    expert of shorter memory, so that what has not been played for long is tried again. Choices do
    not depend on the scale of rewards or of actions, and nothing is drawn at random.
    ``detections`` are rounds after which "nothing has changed since the last of these" was refuted.
    There is no regret bound: docs/adaptive.md says what is proved, measured, and weak.

    Attributes:
        noise: Standard deviation σ of the rewards' noise; estimated unless given.
        exploration: c, widths in units of σ̂; half as much again in audits. Not a confidence
            radius: smaller than any that is proved. Larger values try again more often what
            looked bad.

    Examples:
        >>> from driftbandits import AdaptiveLinUCB
        >>> policy = AdaptiveLinUCB(dim=1)
        >>> for t in range(400):
        ...     policy.update([1.0], (1.0 if t < 300 else -1.0) + 0.1 * (-1) ** t)
        >>> policy.detections
        (301,)
        >>> policy.theta.round(1)
        array([-1.])
    """

    kernels: ClassVar[Kernels] = ADAPTIVE
    detections_counter: ClassVar[int] = DETECTIONS

    noise: float | None = None
    exploration: float = 1.0

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The defaults: of the problem only the dimension and the bound on actions are used."""
        return cls(dim=problem.dim, action_bound=problem.action_bound)

    @property
    def theta(self) -> Array:
        """The averaged estimate θ̄, shape (d,)."""
        self._prepare()
        return np.array(self._state.theta)

    @property
    def radius(self) -> float:
        """c σ̂, what widths are multiplied by; no confidence set goes with it."""
        return self.exploration * self.noise_estimate

    @property
    def noise_estimate(self) -> float:
        """σ̂, or the noise level that was given; 1 before the first reward that is not zero."""
        return math.sqrt(self._state.counters[VARIANCE])

    @property
    def weights(self) -> Array:
        """Weights of the experts in the average, shape (J,), shorter memories first."""
        return np.array(self._state.facts[: self._experts, WEIGHT])

    @property
    def memories(self) -> Array:
        """Memories 1/(1 − γ) of the experts in rounds, shape (J,); the last one is infinite."""
        return np.append([birth(self.dim, j) for j in range(self._experts - 1)], np.inf)

    @property
    def memory(self) -> float:
        """Rounds, discounted, that the median expert remembers: many while nothing changes."""
        facts = self._state.facts[: self._experts]
        median = np.searchsorted(np.cumsum(facts[:-1, WEIGHT]), 0.5)
        return float(facts[median, REMEMBERED])

    def scores(self, actions: Any) -> Array:
        """What is maximised, for every action of ``actions`` (K, d), shape (K,).

        In an audit that is the score by a single expert, and not aᵀθ̄ + radius · width.
        """
        return self._scores(actions)

    def widths(self, actions: Any) -> Array:
        """√(aᵀ V_x⁻¹ a) of every action of ``actions`` (K, d), shape (K,)."""
        rows = self._rows(actions, none=True)
        out = np.empty(len(rows))
        _widths_entry(np.array(rows.T, order="C"), out, *self._state)
        return out

    def advance(self, *, rounds: float = 1) -> None:
        """Close rounds without their rewards; a fraction moves the clock by that much."""
        positive("rounds", rounds)
        self._make_room_for_experts(rounds)
        super()._make_room(1)  # however many rounds are closed, at most one is a detection
        super().advance(rounds=rounds)

    @property
    def _experts(self) -> int:
        return int(self._state.counters[EXPERTS])

    def _validate(self) -> None:
        if self.noise is not None:
            positive("noise", self.noise)
        non_negative("exploration", self.exploration)

    def _make_parameters(self) -> Parameters:
        return Parameters(exploration=self.exploration, known=float(self.noise is not None))

    def _initial_state(self) -> State:
        state = initial_state(dim=self.dim, ridge=RIDGE_SHARE * self.action_bound**2)
        state.counters[VARIANCE] = 1.0 if self.noise is None else self.noise**2
        return state

    def _make_room(self, more: int) -> None:
        self._make_room_for_experts(more)
        super()._make_room(more)

    def _make_room_for_experts(self, rounds: float) -> None:
        """Rows for the experts that are born in ``rounds`` rounds."""
        state = self._state
        clock = state.counters[CLOCK] + rounds
        if clock >= birth(self.dim, len(state.facts) - 1):
            experts = experts_at(self.dim, clock)
            grown = {name: longer(getattr(state, name), experts) for name in ROWS}
            self._adopt(state._replace(**grown))

    def _growing(self) -> tuple[str, ...]:
        return (*ROWS, *super()._growing())

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        rows = {len(getattr(state, name)) for name in ROWS}
        sources = state.copies[..., 1]
        if len(rows) > 1 or not np.isin(sources, np.arange(min(rows))).all():
            raise StateFileError("the arrays of the experts do not fit each other")
        return {EXPERTS: (1, min(rows)), **super()._counter_ranges(state)}
