"""AdaptiveLinUCB: learns how fast to forget, from how well each memory predicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ...core.arrays import Array, non_negative, open_unit, positive, whole
from ...core.checks import LARGEST_REWARD
from ...core.clock import CLOCK
from ...core.compiling import entry_point, lean_kernel
from ...core.entry_points import Kernels
from ...core.linalg import argmax, clear
from ...core.storage import StateFileError
from ...least_squares.combining import longer
from ..base import LARGEST_BOUND, Policy
from ..inputs import action_rows
from ..problem import Problem
from ..registry import register
from .amending import change_noise, change_reward, forget_along
from .audits import audit_place, auditor
from .bank import (
    absorb,
    memory_of,
    notice,
    pass_rounds,
    predict,
    prior_variance,
    restore,
    seen_by,
    weight_of,
)
from .level import (
    apply_level,
    centre,
    fixed_level,
    learn_level,
    loosen,
    track,
    weigh_banks,
    weigh_trackers,
)
from .migration import is_earlier, migrated
from .noise import any_variation, measure_noise, measure_ratio
from .state import (
    ANCHORED,
    CENTRED,
    DETECTIONS,
    EXPERTS,
    INFLATION,
    LEAN,
    LEVELS,
    MOST_EXPERTS,
    MOVING,
    OBSERVATIONS,
    ORIGIN,
    PRECISION,
    REMEMBERED,
    ROWS,
    TRACKER,
    UNIT,
    VARIANCE,
    WEIGHT,
    State,
    birth,
    experts_at,
    initial_state,
    widened,
)
from .weights import any_refuted, bank_in_force, in_force, judge, replace_refuted, residual_of

UNUSUAL = 4.0  # squared widths, in units of what is usual, from which an action is little known
LEAST_PRECISION = 1e-3  # of the level in widths: before two rewards it is not known at all


class Parameters(NamedTuple):
    """What the kernels need to know of a configuration; all of them floats."""

    coordinates: float
    known: float  # 1 where the noise level is given, 0 where it is estimated
    exploration: float
    share: float
    never: float
    ridge: float
    conviction: float
    audit_every: float
    audit_radius: float
    curiosity: float
    false_alarms: float
    noise_memory: float
    tail_memory: float


@lean_kernel
def level_precision(s: State, bank: int) -> float:
    """κ as widths need it; the centred bank knows no level, and needs none."""
    return max(LEAST_PRECISION, s.counters[PRECISION]) if bank == ANCHORED else np.inf


@lean_kernel
def level_of(s: State, bank: int) -> float:
    """What an expert of ``bank`` takes for the level in its estimate."""
    return fixed_level(s) if bank == ANCHORED else 0.0


@lean_kernel
def spread_out(
    inverse: Array,
    unit: float,
    present: Array,
    centre: Array,
    slope: Array,
    precision: float,
    new: float,
    columns: Array,
    scratch: Array,
    out: Array,
) -> None:
    """‖a − ā‖ in V⁻¹ = ``unit · inverse``, with the level's uncertainty, for all columns (d, K).

    √( (a − ā)ᵀV⁻¹(a − ā) + u²/κ ), u = 1 − aᵀV⁻¹Σwx. A coordinate that no action has had so far
    adds ``new``.
    """
    dim, width = columns.shape[0], scratch.shape[1]
    for start in range(0, out.size, width):
        count = min(width, out.size - start)
        squares, leverage = out[start : start + count], scratch[1, :count]
        clear(squares)
        for k in range(count):
            leverage[k] = 1.0
        for i in range(dim):
            row, column = scratch[2 + i, :count], columns[i, start : start + count]
            for k in range(count):
                row[k] = column[k] - centre[i]
            if present[i] == 0.0:
                for k in range(count):
                    squares[k] += 0.0 if row[k] == 0.0 else new / unit
                continue
            for k in range(count):
                leverage[k] -= slope[i] * column[k]
            for j in range(i + 1):
                weight, other = inverse[i, j] * (1.0 if i == j else 2.0), scratch[2 + j, :count]
                for k in range(count):
                    squares[k] += weight * row[k] * other[k]
        for k in range(count):
            level = leverage[k] * leverage[k] / precision
            squares[k] = np.sqrt(max(squares[k], 0.0) * unit + level)


@lean_kernel
def reward_curiosity(s: State, x: int, p: Parameters, widths: Array) -> None:
    """Widen what is known much less than what is played: w ← w √(1 + β log(n w²/(4c))).

    Over n rounds, the mean of w² over the actions that were played is about c/n. Where actions are
    fresh, hardly any is four times as wide, so that this costs nothing. An arm that was dropped
    early gets wider as n grows, and so does one that is new (as in MOSS; Audibert, Bubeck, 2009).
    """
    rounds = s.facts[x, REMEMBERED] / (UNUSUAL * p.coordinates)
    for k in range(widths.size):
        excess = rounds * widths[k] * widths[k]
        if excess > 1.0:
            widths[k] *= np.sqrt(1.0 + p.curiosity * np.log(excess))


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action of the largest aᵀθ_x + c σ̂ w(a); in audits x is shorter and c smaller."""
    bank = bank_in_force(s)
    x, radius = in_force(s, bank, p.share), p.exploration * np.sqrt(s.counters[VARIANCE])
    place = audit_place(s, p.audit_every)
    if place < 1.0:
        x = min(x, auditor(s, p.coordinates, bank, place))
        radius *= p.audit_radius
    spread_out(
        s.inverses[x],
        s.facts[x, UNIT],
        s.features[1],
        s.centres[bank],
        s.slopes[x],
        level_precision(s, bank),
        prior_variance(s, p.ridge),
        columns,
        scratch,
        scores,
    )
    reward_curiosity(s, x, p, scores)
    for k in range(scores.size):
        scores[k] *= radius
    level = level_of(s, bank)
    for i in range(columns.shape[0]):
        theta = s.thetas[x, i] - level * s.slopes[x, i]
        for k in range(scores.size):
            scores[k] += theta * columns[i, k]
    return argmax(scores)


@lean_kernel
def predict_all(s: State, banks: int, reward: float) -> float:
    """Let every expert predict; returns the squared error in units of its predicted variance."""
    for bank in range(banks):
        y = seen_by(s, bank, reward)
        for j in range(int(s.counters[EXPERTS])):
            predict(s, 2 * j + bank, s.rows[bank], y, 1.0 - bank)
            apply_level(s, 2 * j + bank, bank)
    residual = residual_of(s, ANCHORED)
    if banks == 2:
        share = 1.0 / (1.0 + np.exp(-s.counters[LEAN]))
        residual += share * (residual_of(s, CENTRED) - residual)
    return residual


@lean_kernel
def judge_all(p: Parameters, s: State, banks: int, action: Array, reward: float) -> None:
    """Weigh experts, running means and banks by what they predicted."""
    anchored = judge(s, ANCHORED)
    if banks == 2:
        weigh_trackers(s, action, reward)
        centred = judge(s, CENTRED) - 0.5 * np.log(s.counters[INFLATION])
        weigh_banks(s, centred - anchored, p.conviction)


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Judge the experts by what they predicted, then let all of them learn the reward."""
    if s.counters[OBSERVATIONS] == 0.0:
        s.counters[ORIGIN] = reward
    notice(s, action)
    restore(s, p.coordinates, p.ridge)
    banks = 2 if centre(s, action, age) else 1
    residual = predict_all(s, banks, reward)
    if any_variation(s):
        judge_all(p, s, banks, action, reward)
    measure_noise(s, p.coordinates, reward, residual, p.noise_memory, p.tail_memory, p.known > 0.0)
    bank = bank_in_force(s)
    measure_ratio(s, in_force(s, bank, p.share), level_of(s, bank))
    learn_level(s, in_force(s, ANCHORED, p.share))
    loosen(s)
    for bank in range(banks):
        y = seen_by(s, bank, reward)
        for j in range(int(s.counters[EXPERTS])):
            e = 2 * j + bank
            weight = 1.0 if age == 0.0 else weight_of(s, p.coordinates, e, age)
            absorb(s, e, s.rows[bank], y, weight, 1.0 - bank)
    track(s, action, reward, age)


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Close rounds: forget, and as the open one closes let refuted experts start again."""
    clock = s.counters[CLOCK]
    end, closing = clock + rounds, np.floor(clock) + 1.0
    odds = closing / p.false_alarms
    if closing <= end and any_refuted(s, odds):
        pass_rounds(s, p.coordinates, p.never, closing)
        replace_refuted(s, odds)
    pass_rounds(s, p.coordinates, p.never, end)
    restore(s, p.coordinates, p.ridge)


@lean_kernel
def fits(p: Parameters, s: State, rounds: float) -> bool:
    """Whether there is room for the experts born in ``rounds`` rounds, and for a detection."""
    count, clock = s.facts.shape[0] // 2, s.counters[CLOCK] + rounds
    born = count < MOST_EXPERTS and clock >= memory_of(p.coordinates, count - 1)
    return bool(not born and s.counters[DETECTIONS] < s.detections.size)


@lean_kernel
def amend(p: Parameters, s: State, action: Array, old: float, new: float, age: float) -> bool:
    """Change all sums, and judge by the new reward in the place of the old one."""
    x = in_force(s, ANCHORED, p.share)
    gained = change_reward(s, p.coordinates, x, action, old, new, age)
    change_noise(
        s,
        p.coordinates,
        old,
        new,
        gained,
        age,
        p.noise_memory,
        p.tail_memory,
        p.known > 0.0,
    )
    return True


@lean_kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Clear what is known along the coordinates of ``mask``."""
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
class AdaptiveLinUCB(Policy):
    """Learns how fast to forget, a level that moves, and the noise, from the rewards alone.

    Two banks of discounted estimators with memories 2c, 8c, 32c, … and "for ever" see every reward.
    The anchored bank takes the level of all rewards to be fixed. The centred bank looks at
    distances from running means, so that a level that moves cancels. Weights say how well each
    expert has predicted of late. An expert that shorter ones have refuted starts again from the
    best of them.

        play argmax aᵀθ_x + c σ̂ ‖a − ā‖_{V_x⁻¹}

    x is the expert of the bank in force at which 40% of the weight is reached, shorter memories
    first. ā is zero in the anchored bank, and the mean of recent actions in the centred one. One
    round in 25 is an audit, played by an expert of shorter memory, so that what has not been played
    for long is tried again.

    Choices do not depend on the scale of rewards, a constant added to all of them, or the scale of
    any feature, and actions may have any norm. Nothing is drawn at random.
    ``detections`` are rounds after which "nothing has changed since the last of these" was refuted.
    There is no regret bound: docs/explanation/adaptive.md says what is proved, measured, and weak.

    Attributes:
        noise: Standard deviation σ of the rewards' noise; estimated unless given.
        exploration: c, widths in units of σ̂. Not a confidence radius: smaller than any that is
            proved. Larger values try again more often what looked bad.
        coordinates: The number of coordinates that memories are reckoned by: d unless given.
        share: Of the weight, where the expert in force is. Below one half, since too long a memory
            costs more than too short a one.
        never: π of the expert that never forgets: how likely it is that nothing changes.
        ridge: Inverse of the variance, in units of ρ̂², that rewards are thought to have before
            anything is learned. Small, so that a first trial of every direction is worth it.
        curiosity: β, for actions that are known much less than those usually played.
        conviction: Evidence in nats at which the level is taken to move. Not at once: the anchored
            bank, if it is wrong, plays what shows this; the centred bank may not.
        audit_every: Rounds of which one is an audit. Where arms stay, trying again takes a few
            rounds per memory; where actions are fresh, every audit is a loss.
        audit_radius: Widths in audits, in units of those in other rounds.
        false_alarms: α; a correct expert is overwritten about α log T times in T rounds.
        noise_memory: Rewards over which the noise level is taken, since it may change too.
        tail_memory: Rewards over which its kurtosis is taken: fourth powers need more of them.

    Examples:
        >>> from driftbandits import AdaptiveLinUCB
        >>> policy = AdaptiveLinUCB(dim=1)
        >>> for t in range(400):
        ...     x = (-1) ** (t // 2)
        ...     policy.update([x], x * (1.0 if t < 300 else -1.0) + 0.1 * (-1) ** t)
        >>> policy.detections
        (301,)
        >>> policy.theta.round(1)
        array([-1.])
    """

    kernels: ClassVar[Kernels] = ADAPTIVE
    detections_counter: ClassVar[int] = DETECTIONS
    late_rewards: ClassVar[str] = (
        "exact in the anchored bank's sums; centred, judged and counted in the noise on arrival"
    )
    refusals: ClassVar[Mapping[str, str]] = {
        "merged": "the weights of its experts depend on the order of rewards",
    }

    action_bound: float = LARGEST_BOUND
    noise: float | None = None
    exploration: float = 1.0
    coordinates: int | None = None
    share: float = 0.4
    never: float = 0.6
    ridge: float = 0.1
    conviction: float = 8.0
    audit_every: float = 25.0
    audit_radius: float = 0.4
    curiosity: float = 0.5
    false_alarms: float = 0.05
    noise_memory: float = 100.0
    tail_memory: float = 1000.0

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The defaults: of the problem only the dimension is used."""
        return cls(dim=problem.dim)

    @property
    def theta(self) -> Array:
        """The estimate θ_x of the expert in force, shape (d,)."""
        state, x = self._state, self._in_force
        return np.asarray(state.thetas[x] - level_of(state, self._bank) * state.slopes[x])

    @property
    def radius(self) -> float:
        """c σ̂, what widths are multiplied by; no confidence set goes with it."""
        return self.exploration * self.noise_estimate

    @property
    def noise_estimate(self) -> float:
        """σ̂, or the noise level that was given; 1 before two rewards that differ."""
        return math.sqrt(self._state.counters[VARIANCE])

    @property
    def level(self) -> float:
        """The reward of an action of zeros: the fixed level, or that of late where it moves."""
        state = self._state
        origin = float(state.counters[ORIGIN])
        if self._bank == ANCHORED:
            return origin + fixed_level(state)
        count, rewards = state.trackers[int(state.counters[TRACKER]), :2]
        return float(origin + rewards / count - state.centres[1] @ self.theta)

    @property
    def level_moves(self) -> bool:
        """Whether the level is taken to move: the centred bank is in force."""
        return self._bank == CENTRED

    @property
    def weights(self) -> Array:
        """Weights of the experts of the bank in force, shape (J,), shorter memories first."""
        rows = slice(self._bank, 2 * self._experts, 2)
        return np.array(self._state.facts[rows, WEIGHT])

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
        """‖a − ā‖ in V_x⁻¹, with the level's uncertainty, for ``actions`` (K, d), shape (K,)."""
        rows = action_rows(self.dim, actions, none=True)
        out, state, x, bank = np.empty(len(rows)), self._state, self._in_force, self._bank
        _spread_out_entry(
            state.inverses[x],
            state.facts[x, UNIT],
            state.features[1],
            state.centres[bank],
            state.slopes[x],
            float(level_precision(state, bank)),
            prior_variance(state, self.ridge),
            np.array(rows.T, order="C"),
            np.empty((self.dim + 2, max(1, len(rows)))),
            out,
        )
        return out

    @property
    def _c(self) -> int:
        return self.dim if self.coordinates is None else self.coordinates

    @property
    def _experts(self) -> int:
        return int(self._state.counters[EXPERTS])

    @property
    def _bank(self) -> int:
        return int(self._state.counters[MOVING])

    @property
    def _in_force(self) -> int:
        """Row of x, as `in_force` finds it."""
        j = int(np.searchsorted(np.cumsum(self.weights[:-1]), self.share))
        return 2 * j + self._bank

    def _validate(self) -> None:
        if self.noise is not None:
            positive("noise", self.noise)
            if not 1 / LARGEST_REWARD <= self.noise <= LARGEST_REWARD:
                raise ValueError(
                    f"noise must lie between {1 / LARGEST_REWARD:g} and {LARGEST_REWARD:g}, "
                    f"got {self.noise!r}"
                )
        for name in ("exploration", "conviction", "audit_radius", "curiosity"):
            non_negative(name, getattr(self, name))
        for name in ("share", "never", "false_alarms"):
            open_unit(name, getattr(self, name))
        positive("ridge", self.ridge)
        for name in ("audit_every", "noise_memory", "tail_memory"):
            if not 1.0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be more than 1, got {getattr(self, name)!r}")
        if self.coordinates is not None:
            whole("coordinates", self.coordinates, least=1)

    def _make_parameters(self) -> Parameters:
        names = Parameters._fields[2:]
        chosen = {name: getattr(self, name) for name in names}
        return Parameters(coordinates=self._c, known=float(self.noise is not None), **chosen)

    def _initial_state(self) -> State:
        state = initial_state(dim=self.dim)
        state.counters[VARIANCE] = 1.0 if self.noise is None else self.noise**2
        return state

    def _grown(self, state: State, rounds: float) -> State:
        rows = 2 * experts_at(self._c, state.counters[CLOCK] + rounds)
        grown: dict[str, Array] = {}
        if rows > len(state.facts):
            grown = {name: longer(getattr(state, name), rows) for name in ROWS}
        if state.counters[DETECTIONS] == len(state.detections):
            grown["detections"] = longer(state.detections, 2 * len(state.detections) + 2)
        return state._replace(**grown)

    def _widened_config(self, dim: int) -> dict[str, Any]:
        return {**self.config, "dim": dim, "coordinates": self._c}

    def _widened_state(self, wider: Self) -> State:
        return widened(self._state, wider.dim)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> Any:
        """A state of release 0.1.0 becomes one of today."""
        today = migrated(arrays, self.dim) if is_earlier(arrays) else arrays
        return super()._checked(today, initial)

    def _growing(self) -> tuple[str, ...]:
        return (*ROWS, *super()._growing())

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        rows = {len(getattr(state, name)) for name in ROWS}
        sources = state.copies[..., 1]
        if len(rows) > 1 or not np.isin(sources, np.arange(min(rows))).all():
            raise StateFileError("the arrays of the experts do not fit each other")
        return {
            EXPERTS: (1, min(rows) // 2),
            TRACKER: (0, LEVELS - 1),
            MOVING: (0, 1),
            **super()._counter_ranges(state),
        }
