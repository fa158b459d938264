"""What AdaptiveLinUCB and AdaptiveSampling share: configuration, and what can be read off."""

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
from ..inputs import action_rows
from ..problem import Problem
from ..stateful import LARGEST_BOUND
from .bank import features_per_action, prior_variance
from .choosing import choose, excess_factor, level_precision, spread_out_entry, widen_entry
from .learning import Parameters, advance, amend, fits, forget, learn
from .level import fixed_level, level_of
from .state import (
    ANCHORED,
    CENTRED,
    DETECTIONS,
    DISCOUNT,
    EVIDENCE,
    EXPERTS,
    FALL_FROM,
    LEVELS,
    MOST_EXPERTS,
    MOVING,
    ORIGIN,
    PRIOR,
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

LARGEST_CONSTANT = 1e12  # nor less than its inverse: far from what is sensible, and from overflow

# Pure numbers, which have no units that could make them large or small.
CONSTANTS = (
    "exploration",
    "share",
    "never",
    "ridge",
    "conviction",
    "doubt",
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
    fits=fits,
    amend=amend,
    forget=forget,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptivePolicy(Policy):
    """Two banks of experts that learn how fast to forget, however actions are chosen by them.

    Attributes:
        noise: Standard deviation σ of the rewards' noise; estimated unless given.
        provisional: Rewards are assumed when they are learned. The sums hold them at once, and
            `amend` changes them; memories, level and noise are judged by a reward when `amend`
            settles it, with old = new. For rewards such as clicks, of which the absence is assumed.
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
        doubt: Odds that rewards fell faster than a level does, at which the anchored bank takes
            over to have a look. A look costs a few trials; a fall that is taken for the level costs
            the gap in every round.
        audit_every: Rounds of which one is an audit. More often finds an arm that has become better
            sooner; what an audit may try is limited by what the auditor has forgotten.
        audit_radius: Widths in audits, in units of those in other rounds.
        false_alarms: α; a correct expert is overwritten about α log T times in T rounds.
        noise_memory: Rewards over which the noise level is taken. Fewer follow a noise level that
            changes sooner; more judge the experts better.
        tail_memory: Rewards over which its tails are taken: fourth powers need more of them.
    """

    detections_counter: ClassVar[int] = DETECTIONS
    late_rewards: ClassVar[str] = (
        "exact in the anchored bank's sums; centred, judged and counted in the noise on arrival"
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
    audit_every: float = 10.0
    audit_radius: float = 0.4
    curiosity: float = 0.5
    false_alarms: float = 0.05
    noise_memory: float = 200.0
    tail_memory: float = 1000.0

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The defaults: of the problem only the dimension is used."""
        return cls(dim=problem.dim)

    @property
    def provisional_rewards(self) -> bool:
        """Whether rewards are provisional until `amend` settles them, with old = new."""
        return self.provisional

    def with_provisional_rewards(self, provisional: bool) -> Self:
        """The same knowledge in a policy whose rewards are, or are not, provisional."""
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
        """c σ̂, what widths are multiplied by; no confidence set goes with it."""
        return self.exploration * self.noise_estimate

    @property
    def noise_estimate(self) -> float:
        """σ̂, or the noise level that was given; 1 before two rewards that differ."""
        with self._alone():
            return math.sqrt(self._state.counters[VARIANCE])

    @property
    def level(self) -> float:
        """The reward of an action of zeros: the fixed level, or that of late where it moves."""
        with self._alone():
            state = self._state
            origin = float(state.counters[ORIGIN])
            if self._bank == ANCHORED:
                return origin + fixed_level(state)
            count, rewards = state.trackers[int(state.counters[TRACKER]), :2]
            return float(origin + rewards / count - state.centres[1] @ self._theta())

    @property
    def level_moves(self) -> bool:
        """Whether the level is taken to move: the centred bank is in force."""
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
        """Rounds, discounted, that the expert in force remembers: many while nothing changes."""
        with self._alone():
            return float(self._state.facts[self._in_force, REMEMBERED])

    def widths(self, actions: Any) -> Array:
        """What the radius multiplies in scores, for ``actions`` (K, d), shape (K,).

        ‖a − ā‖ in V_x⁻¹ with the level's uncertainty, and more where an action is little known.
        """
        rows = action_rows(self.dim, actions, none=True)
        columns, out = np.array(rows.T, order="C"), np.empty(len(rows))
        scratch = np.empty((self.dim + 2, max(1, len(rows))))
        with self._alone():
            state, x, bank = self._state, self._in_force, self._bank
            spread_out_entry(
                state.inverses[x],
                state.facts[x, UNIT],
                state.features[1],
                state.centres[bank],
                state.slopes[x],
                float(level_precision(state, bank)),
                prior_variance(state, float(self.ridge)),
                columns,
                scratch,
                out,
            )
            widen_entry(
                state.features,
                features_per_action(state),
                excess_factor(state, x, float(self._c)),
                float(self.curiosity),
                columns,
                scratch,
                out,
            )
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
        """Row of x, as `in_force` finds it."""
        j = int(np.searchsorted(np.cumsum(self._weights()[:-1]), self.share))
        return 2 * j + self._bank

    def _estimates(self) -> tuple[Any, ...]:
        # Signs and sizes that cannot be show when something is learned.
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
        for name in ("ridge", "doubt", "audit_every", "noise_memory", "tail_memory"):
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
        return {
            EXPERTS: (1, min(rows) // 2),
            TRACKER: (0, LEVELS - 1),
            FALL_FROM: (0, LEVELS - 1),
            MOVING: (0, 1),
            **super()._counter_ranges(state),
        }
