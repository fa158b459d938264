"""What AdaptiveLinUCB and AdaptiveSampling share: options and properties."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...core.arrays import Array, non_negative, open_unit, positive, whole
from ...core.checks import LARGEST_REWARD
from ...core.clock import CLOCK
from ...core.entry_points import Kernels
from ...core.storage import StateFileError
from ...least_squares.combining import longer
from ..base import Policy
from ..inputs import action_rows, check_norms
from ..problem import Problem
from ..stateful import LARGEST_BOUND
from .choosing import choose, widths_entry
from .learning import Parameters, advance, amend, expect, fits, forget, learn
from .level import fixed_level, level_of
from .state import (
    ANCHORED,
    AWAITED,
    AWAITED_UNIT,
    CENTRED,
    CHOSEN,
    CLOSED,
    DELAYS,
    DETECTIONS,
    DISCOUNT,
    EVIDENCE,
    EXPERTS,
    FALL_FROM,
    LATEST,
    LEVELS,
    MOST_EXPERTS,
    MOVING,
    ORIGIN,
    PRIOR,
    REMEMBERED,
    REWARDS_AGED,
    ROWS,
    SINCE,
    TRACKED,
    TRACKED_REWARDS,
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

# A constant is 0, or lies between 1/LARGEST_CONSTANT and LARGEST_CONSTANT. Sensible values lie far
# inside this range, and overflow lies far outside.
LARGEST_CONSTANT = 1e12

# Pure numbers: their size does not depend on the units of rewards or features.
CONSTANTS = (
    "exploration",
    "share",
    "never",
    "ridge",
    "conviction",
    "doubt",
    "jump",
    "audit_every",
    "audit_radius",
    "curiosity",
    "false_alarms",
    "noise_memory",
    "tail_memory",
)

ADAPTIVE = Kernels(
    name="adaptive",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    expect=expect,
    fits=fits,
    amend=amend,
    forget=forget,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptivePolicy(Policy):
    """Two banks of experts that learn how fast to forget; subclasses choose the actions.

    Attributes:
        noise: Standard deviation σ of the rewards' noise; estimated unless given.
        provisional: Whether rewards are assumed at first and known later. An example is clicks:
            "no click" is assumed. A reward enters the sums at once, and `amend` changes it there.
            Memories, noise, and whether the level moves, are judged by it later, when `amend`
            settles it with old = new.
        exploration: The policy multiplies widths by this number and by σ̂. This is not a confidence
            radius: it is smaller than any radius with a proof. With a larger value, the policy more
            often retries actions that looked bad.
        coordinates: The number of coordinates that sets the memories: they are 2, 8, 32, … times
            this number. d unless given. `widened` keeps it, so that nothing learned is lost. If the
            number of coordinates will grow, give the final number: then the widened policy equals
            one that had all of them from the start.
        share: The expert in force is the first at which this share of the weight is reached,
            shorter memories first. The default is below one half, since under steady drift a
            memory that is too long costs more than one that is too short.
        never: π of the expert that never forgets: the prior probability that nothing changes.
        ridge: Before anything is learned, predicted rewards have variance ρ̂²/ridge. The default is
            small, so that a first trial of every direction pays.
        curiosity: β; it increases the widths of actions that are known much less than those
            usually played.
        conviction: Evidence, in nats, above which the policy assumes that the level moves. The
            default is not 0. If the anchored bank is wrong, the actions that it plays show this. If
            the centred bank is wrong, the actions that it plays may not show it.
        doubt: Odds that rewards fell faster than a level does, above which the anchored bank takes
            over and tries other actions. This costs a few trials. But if an action's fall is
            mistaken for a fall of the level, every round costs the gap. A jump downwards always
            counts as such a fall.
        jump: The level has jumped if all running means miss a reward by more than √jump predicted
            standard deviations, and the latest round misses it by less than √(jump/3). With less,
            fast swings and chance are taken for jumps. Provisional rewards show no jump.
        audit_every: One round in this many is an audit. Frequent audits find an arm that has become
            better sooner. An audit can only try what the auditor has forgotten.
        audit_radius: Widths in audits, relative to those in other rounds.
        false_alarms: α; a correct expert is overwritten about α log T times in T rounds.
        noise_memory: Memory of the noise level, in rewards. A shorter one follows a changing noise
            level sooner. A longer one judges the experts better.
        tail_memory: Memory of the noise's tails, in rewards. Fourth powers need a longer one.
    """

    detections_counter: ClassVar[int] = DETECTIONS
    late_rewards: ClassVar[str] = (
        "exact in the anchored bank's sums; judged and counted in the noise on arrival; centred by "
        "the rewards around its round that have arrived, up to 511 rounds behind the latest"
    )
    refusals: ClassVar[Mapping[str, str]] = {
        "merged": "the weights of its experts depend on the order of rewards",
    }

    action_bound: float = LARGEST_BOUND
    noise: float | None = None
    provisional: bool = False
    exploration: float = 1.0
    coordinates: int | None = None
    share: float = 0.4
    never: float = 0.6
    ridge: float = 0.1
    conviction: float = 1.0
    doubt: float = 100.0
    jump: float = 12.0
    audit_every: float = 10.0
    audit_radius: float = 0.4
    curiosity: float = 0.5
    false_alarms: float = 0.05
    noise_memory: float = 200.0
    tail_memory: float = 1000.0

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """A policy with the default options; only the dimension of ``problem`` is used."""
        return cls(dim=problem.dim)

    @property
    def provisional_rewards(self) -> bool:
        """Whether rewards are provisional until `amend` settles them, with old = new."""
        return self.provisional

    def with_provisional_rewards(self, provisional: bool) -> Self:
        """A policy with the same state and with ``provisional`` as given."""
        if provisional == self.provisional:
            return self
        other = type(self)(**{**self.config, "provisional": provisional})
        other.restore(self.state())
        return other

    @property
    def theta(self) -> Array:
        """The estimate θ_x of the expert in force, shape (d,)."""
        with self._alone():
            return self._theta()

    @property
    def radius(self) -> float:
        """``exploration`` · σ̂, which multiplies widths in scores; it is not a confidence radius."""
        return self.exploration * self.noise_estimate

    @property
    def noise_estimate(self) -> float:
        """The given noise level, or the estimate σ̂, which is 1 until two rewards have differed."""
        with self._alone():
            return math.sqrt(self._state.counters[VARIANCE])

    @property
    def level(self) -> float:
        """The reward of an action of zeros: the fixed level, or the recent one if it moves."""
        with self._alone():
            state = self._state
            origin = float(state.counters[ORIGIN])
            if self._bank == ANCHORED:
                return origin + fixed_level(state)
            count, rewards = state.trackers[int(state.counters[TRACKER]), :2]
            return float(origin + rewards / count - state.centres[1] @ self._theta())

    @property
    def level_moves(self) -> bool:
        """Whether the policy assumes that the level moves: the centred bank is in force."""
        return self._bank == CENTRED

    @property
    def weights(self) -> Array:
        """Weights of the experts of the bank in force, shape (J,), shorter memories first."""
        with self._alone():
            return self._weights()

    @property
    def memories(self) -> Array:
        """Memories 1/(1 − γ) of the experts in rounds, shape (J,); the last one is infinite."""
        return np.append([birth(self._c, j) for j in range(self._experts - 1)], np.inf)

    @property
    def memory(self) -> float:
        """Discounted number of rounds that the expert in force remembers; large without changes."""
        with self._alone():
            return float(self._state.facts[self._in_force, REMEMBERED])

    def scores(self, actions: Any) -> Array:
        """Scores of ``actions`` (K, d), shape (K,); the policy plays the largest.

        A score is aᵀθ_x + radius · width. In an audit, it may instead be the score by an expert of
        shorter memory.
        """
        self._check_offered("scores")
        return self._scores(actions)

    def widths(self, actions: Any) -> Array:
        """Widths of ``actions`` (K, d), shape (K,); the radius multiplies them in scores.

        A width is ‖a − ā‖ in V_x⁻¹ with the level's uncertainty. It is larger if an action is
        little known.
        """
        rows = action_rows(self.dim, actions, none=True)
        if len(rows):
            check_norms(self.action_bound, rows)
        columns, out = np.array(rows.T, order="C"), np.empty(len(rows))
        scratch = np.empty((self.dim + 2, max(1, len(rows))))
        with self._alone():
            parameters = Parameters(*map(float, self._make_parameters()))
            widths_entry(parameters, self._state, self._in_force, columns, scratch, out)
        return out

    def _theta(self) -> Array:
        state, x = self._state, self._in_force
        return np.asarray(state.thetas[x] - level_of(state, self._bank) * state.slopes[x])

    def _weights(self) -> Array:
        return np.array(self._state.facts[self._bank : 2 * self._experts : 2, WEIGHT])

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
        """Row of the expert x in force; computes the same as `in_force`."""
        j = int(np.searchsorted(np.cumsum(self._weights()[:-1]), self.share))
        return 2 * j + self._bank

    def _estimates(self) -> tuple[Any, ...]:
        # Impossible signs and sizes in a saved state show only when the policy learns something.
        trial, action = self.copy(), np.full((1, self.dim), min(1.0, self.action_bound) / self.dim)
        for _ in range(2):
            trial.update(action[0], self.level)
        return self.theta, self.radius, self.widths(action), trial.theta, *trial.state().values()

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
        for name in ("ridge", "doubt", "jump", "audit_every", "noise_memory", "tail_memory"):
            positive(name, getattr(self, name))
            if name != "ridge" and not getattr(self, name) > 1:
                raise ValueError(f"{name} must be more than 1, got {getattr(self, name)!r}")
        for name in CONSTANTS:
            value = getattr(self, name)
            if value and not 1 / LARGEST_CONSTANT <= value <= LARGEST_CONSTANT:
                raise ValueError(
                    f"{name} must lie between {1 / LARGEST_CONSTANT:g} and {LARGEST_CONSTANT:g}, "
                    f"got {value!r}"
                )
        if self.coordinates is not None:
            whole("coordinates", self.coordinates, least=1)

    def _make_parameters(self) -> Parameters:
        names = Parameters._fields[3:-1]
        chosen = {name: getattr(self, name) for name in names}
        known = float(self.noise is not None)
        provisional = float(self.provisional)
        return Parameters(
            coordinates=self._c, provisional=provisional, known=known, **chosen, temperature=0.0
        )

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

    def _growing(self) -> tuple[str, ...]:
        return (*ROWS, *super()._growing())

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        rows = {len(getattr(state, name)) for name in ROWS}
        sources = state.copies[..., 1]
        fitting = len(rows) == 1 and min(rows) <= 2 * MOST_EXPERTS
        if not fitting or not np.isin(sources, np.arange(min(rows))).all():
            raise StateFileError("the arrays of the experts do not fit each other")
        if (state.facts[:, [WEIGHT, EVIDENCE, UNIT, REMEMBERED, DISCOUNT, PRIOR]] < 0.0).any():
            raise StateFileError("array facts has entries below 0 where there cannot be any")
        if (state.counters[[DELAYS, REWARDS_AGED, AWAITED, AWAITED_UNIT]] < [0, 0, 0, 1]).any():
            raise StateFileError("array counters has entries below what is possible")
        counts, rewards = np.abs(state.trackers[:, [TRACKED, TRACKED_REWARDS]]).T
        if (rewards > 2.0 * LARGEST_REWARD * (1.0 + counts)).any():
            raise StateFileError("array trackers has entries beyond what is possible")
        return {
            EXPERTS: (1, min(rows) // 2),
            SINCE: (0, max(0, math.floor(state.counters[LATEST]))),
            TRACKER: (0, LEVELS - 1),
            FALL_FROM: (0, LEVELS - 1),
            MOVING: (0, 1),
            CHOSEN: (0, 1),
            CLOSED: (0, 1),
            **super()._counter_ranges(state),
        }
