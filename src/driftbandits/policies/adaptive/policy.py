"""AdaptiveLinUCB: learns how fast to forget, from how well each memory predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ...core.arrays import Array, non_negative, positive, whole
from ...core.checks import LARGEST_REWARD
from ...core.clock import CLOCK
from ...core.compiling import entry_point, lean_kernel
from ...core.entry_points import Kernels
from ...core.linalg import argmax, clear
from ...core.storage import StateFileError
from ..detecting import Detecting, longer
from ..inputs import action_rows
from ..problem import Problem
from ..registry import register
from .amending import judge_again
from .bank import (
    DETECTIONS,
    ERROR,
    EXPERTS,
    MOST_EXPERTS,
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
    correct,
    experts_at,
    forget_along,
    initial_state,
    memory_of,
    pass_rounds,
    predict,
    restore,
    weight_of,
    widened,
)
from .weights import (
    AUDIT_RADIUS,
    FALSE_ALARMS,
    RIDGE_SHARE,
    SHARE_IN_FORCE,
    any_refuted,
    audit_place,
    auditor,
    expert_in_force,
    judge,
    measure_noise,
    replace_refuted,
    take_unit,
)


class Parameters(NamedTuple):
    """What the kernels need to know of a configuration; all of them floats."""

    coordinates: float  # c, what memories are reckoned by
    exploration: float
    known: float  # 1 where the noise level is given, 0 where it is estimated


@lean_kernel
def radius_of(p: Parameters, s: State) -> float:
    """c σ̂."""
    return float(p.exploration * np.sqrt(s.counters[VARIANCE]))


@lean_kernel
def spread_out(inverse: Array, unit: float, columns: Array, out: Array) -> None:
    """√(aᵀV⁻¹a) for every column a of ``columns`` (d, K), where V⁻¹ is ``unit · inverse``."""
    clear(out)
    for i in range(columns.shape[0]):
        for j in range(i + 1):
            weight = inverse[i, j] * (1.0 if i == j else 2.0)
            for k in range(out.size):
                out[k] += weight * columns[i, k] * columns[j, k]
    for k in range(out.size):
        out[k] = np.sqrt(max(out[k], 0.0) * unit)


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action of the largest aᵀθ_x + c σ̂ √(aᵀV_x⁻¹a); in audits x is shorter and c larger."""
    x, radius = expert_in_force(s), radius_of(p, s)
    place = audit_place(s)
    if place < 1.0:
        x = min(x, auditor(s, p.coordinates, place))
        radius *= AUDIT_RADIUS
    spread_out(s.inverses[x], s.facts[x, UNIT], columns, scores)
    for k in range(scores.size):
        scores[k] *= radius
    for i in range(columns.shape[0]):
        for k in range(scores.size):
            scores[k] += s.thetas[x, i] * columns[i, k]
    return argmax(scores)


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Judge the experts by what they predicted, then let all of them learn the reward."""
    count = int(s.counters[EXPERTS])
    if s.counters[OBSERVATIONS] == 0.0:
        take_unit(s, action)
    restore(s, p.coordinates)
    residual = 0.0
    for j in range(count):
        predict(s, j, action, reward)
        residual += s.facts[j, WEIGHT] * s.facts[j, ERROR] ** 2 / (1.0 + s.facts[j, SPREAD])
    if count > 1 and s.counters[REWARD_SQUARES] > 0.0:
        judge(s)
    measure_noise(s, p.coordinates, action, reward, residual, p.known > 0.0)
    for j in range(count):
        weight = 1.0 if age == 0.0 else weight_of(s, p.coordinates, j, age)
        absorb(s, j, action, reward, weight)


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Close rounds: forget, and as the open one closes let refuted experts start again."""
    clock = s.counters[CLOCK]
    end, closing = clock + rounds, np.floor(clock) + 1.0
    limit = np.log(closing / FALSE_ALARMS)
    if closing <= end and any_refuted(s, limit):
        pass_rounds(s, p.coordinates, closing)
        replace_refuted(s, limit)
    pass_rounds(s, p.coordinates, end)
    restore(s, p.coordinates)


@lean_kernel
def fits(p: Parameters, s: State, rounds: float) -> bool:
    """Whether there is room for the experts born in ``rounds`` rounds, and for a detection."""
    rows, clock = s.facts.shape[0], s.counters[CLOCK] + rounds
    born = rows < MOST_EXPERTS and clock >= memory_of(p.coordinates, rows - 1)
    return bool(not born and s.counters[DETECTIONS] < s.detections.size)


@lean_kernel
def amend(p: Parameters, s: State, action: Array, old: float, new: float, age: float) -> bool:
    """Change every expert's sums, and judge by the new reward in the place of the old one."""
    for j in range(int(s.counters[EXPERTS])):
        predict(s, j, action, old)
    judge_again(s, p.coordinates, action, old, new, age, p.known > 0.0)
    for j in range(int(s.counters[EXPERTS])):
        correct(s, j, action, new - old, weight_of(s, p.coordinates, j, age))
    return True


@lean_kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Clear what every expert knows along the coordinates of ``mask``."""
    forget_along(s, mask)


ADAPTIVE = Kernels(
    name="adaptive",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    fits=fits,
    amend=amend,
    forget=forget,
)

_spread_out_entry = entry_point(spread_out, "adaptive")


@register("AdaptiveLinUCB", "learns how fast to forget; for any drift, told nothing of it")
@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptiveLinUCB(Detecting):
    """Learns how fast to forget, and the noise's level and tails, from the rewards alone.

    A bank of discounted estimators with memories 2c, 4c, 8c, … and "for ever" sees every reward.
    Weights say how well each of them has predicted of late. An expert that shorter ones have
    refuted starts again from the best of them.

        play argmax aᵀθ_x + c σ̂ √(aᵀ V_x⁻¹ a)

    x is the expert at which 40% of the weight is reached, shorter memories first. One round in 25
    is an audit, played by an expert of shorter memory, so that what has not been played for long
    is tried again. Choices do not depend on the scale of rewards or of actions, and nothing is
    drawn at random.
    ``detections`` are rounds after which "nothing has changed since the last of these" was refuted.
    There is no regret bound: docs/adaptive.md says what is proved, measured, and weak.

    A late reward enters every expert's sums at the weight that it would have by now, exactly. It is
    judged, and counts towards σ̂, when it arrives. `amend` changes those sums exactly, too, and
    judges the experts once more by the new reward, as they would predict it now had they not seen
    it: close to what the new reward would have done on time, and not the same. Two policies cannot
    be merged: which expert was overwritten depends on the order of rewards.

    Attributes:
        noise: Standard deviation σ of the rewards' noise; estimated unless given.
        exploration: c, widths in units of σ̂; half as much again in audits. Not a confidence
            radius: smaller than any that is proved. Larger values try again more often what
            looked bad.
        coordinates: c, the number of coordinates that memories are reckoned by: d unless given.
            `widened` keeps it, so that the wider policy equals one with this c that saw zeros in
            the new coordinates from the start. A new policy of that dimension has longer memories.

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
    late_rewards: ClassVar[str] = "exact in the sums; judged, and counted in the noise, on arrival"
    refusals: ClassVar[Mapping[str, str]] = {
        "merged": "the weights of its experts depend on the order of rewards",
    }

    noise: float | None = None
    exploration: float = 1.0
    coordinates: int | None = None

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The defaults: of the problem only the dimension and the bound on actions are used."""
        return cls(dim=problem.dim, action_bound=problem.action_bound)

    @property
    def theta(self) -> Array:
        """The estimate θ_x of the expert in force, shape (d,)."""
        return np.array(self._state.thetas[self._in_force])

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
        """Weights of the experts, shape (J,), shorter memories first."""
        return np.array(self._state.facts[: self._experts, WEIGHT])

    @property
    def memories(self) -> Array:
        """Memories 1/(1 − γ) of the experts in rounds, shape (J,); the last one is infinite."""
        return np.append([birth(self._c, j) for j in range(self._experts - 1)], np.inf)

    @property
    def memory(self) -> float:
        """Rounds, discounted, that the expert in force remembers: many while nothing changes."""
        return float(self._state.facts[self._in_force, REMEMBERED])

    def scores(self, actions: Any) -> Array:
        """What is maximised, for every action of ``actions`` (K, d), shape (K,).

        In an audit that is the score by a shorter memory, and not aᵀθ_x + radius · width.
        """
        return self._scores(actions)

    def widths(self, actions: Any) -> Array:
        """√(aᵀ V_x⁻¹ a) of every action of ``actions`` (K, d), shape (K,)."""
        rows = action_rows(self.dim, actions, none=True)
        out, state, x = np.empty(len(rows)), self._state, self._in_force
        unit = state.facts[x, UNIT]
        _spread_out_entry(state.inverses[x], unit, np.array(rows.T, order="C"), out)
        return out

    @property
    def _c(self) -> int:
        return self.dim if self.coordinates is None else self.coordinates

    @property
    def _experts(self) -> int:
        return int(self._state.counters[EXPERTS])

    @property
    def _in_force(self) -> int:
        """x, as `expert_in_force` finds it."""
        return int(np.searchsorted(np.cumsum(self.weights[:-1]), SHARE_IN_FORCE))

    def _validate(self) -> None:
        if self.noise is not None:
            positive("noise", self.noise)
            if not 1 / LARGEST_REWARD <= self.noise <= LARGEST_REWARD:
                raise ValueError(
                    f"noise must lie between {1 / LARGEST_REWARD:g} and {LARGEST_REWARD:g}, "
                    f"got {self.noise!r}"
                )
        non_negative("exploration", self.exploration)
        if self.coordinates is not None:
            whole("coordinates", self.coordinates, least=1)

    def _make_parameters(self) -> Parameters:
        return Parameters(
            coordinates=self._c,
            exploration=self.exploration,
            known=float(self.noise is not None),
        )

    def _initial_state(self) -> State:
        state = initial_state(dim=self.dim, ridge=RIDGE_SHARE * self.action_bound**2)
        state.counters[VARIANCE] = 1.0 if self.noise is None else self.noise**2
        return state

    def _grown(self, state: State, rounds: float) -> State:
        experts = max(experts_at(self._c, state.counters[CLOCK] + rounds), len(state.facts))
        grown: dict[str, Array] = {}
        if experts > len(state.facts):
            grown = {name: longer(getattr(state, name), experts) for name in ROWS}
        if state.counters[DETECTIONS] == len(state.detections):
            grown["detections"] = longer(state.detections, 2 * len(state.detections) + 2)
        return state._replace(**grown)

    def _widened_config(self, dim: int) -> dict[str, Any]:
        return {**self.config, "dim": dim, "coordinates": self._c}

    def _widened_state(self, wider: Self) -> State:
        return widened(self._state, wider.dim)

    def _growing(self) -> tuple[str, ...]:
        return (*ROWS, *super()._growing())

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        rows = {len(getattr(state, name)) for name in ROWS}
        sources = state.copies[..., 1]
        if len(rows) > 1 or not np.isin(sources, np.arange(min(rows))).all():
            raise StateFileError("the arrays of the experts do not fit each other")
        return {EXPERTS: (1, min(rows)), **super()._counter_ranges(state)}
