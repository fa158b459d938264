"""Optimism over the weighted estimator: the kernels that LinUCB, D-LinUCB and SW-LinUCB share.

    score(a) = aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a)

The members of the family differ in what they forget (`driftbandits.least_squares.forgetting`) and
in the radius β: in parameters, not in code. The D-LinUCB variant behind the published figures is
one of them (``released``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...core.arrays import Array, open_unit
from ...core.compiling import lean_kernel
from ...core.entry_points import Kernels
from ...core.linalg import (
    argmax,
    cholesky,
    clear,
    log_determinant,
    solve,
    symmetric,
    whiten,
)
from ...core.storage import StateFileError
from ...least_squares.amending import amend_memory, forget_coordinates
from ...least_squares.combining import padded
from ...least_squares.forgetting import (
    FACTOR_AGE,
    FIRST,
    LARGEST_UNIT,
    MU,
    RADIUS,
    RESTARTS_DONE,
    RESTORED,
    RIDGE,
    STEPS,
    STORED,
    UNIT,
    WEIGHT_SQUARES,
    block_length,
    has_room,
    is_remembered,
    longer_history,
    other_age,
    pass_time,
    remember,
    serves,
)
from ...least_squares.radii import (
    anytime_delta,
    mixture_radius,
    published_window_radius,
    trace_volume,
)
from ...least_squares.sums import image_of_error, square_as_released
from ..linear import Fit, LinearPolicy
from ..stateful import FLOOR_STREAM
from .combining import merged, widened
from .optimism import optimistic
from .state import (
    ANYTIME,
    ANYTIME_DETERMINANT,
    BLOCKWISE,
    BLOCKWISE_DETERMINANT,
    DETERMINANT,
    PUBLISHED_WINDOW,
    UNION,
    Parameters,
    State,
)

# From this dimension on, rank-one changes of the factor are faster than a fresh factor (measured).
FOLLOW_FROM = 16


@lean_kernel
def current_radius(p: Parameters, s: State) -> float:
    """β for the present sums; for a determinant radius, ``factor`` must be up to date."""
    dim = s.theta.size
    ridge, mu = s.counters[RIDGE], s.counters[MU]
    if p.radius == PUBLISHED_WINDOW:
        return published_window_radius(
            dim, p.ridge, p.noise, p.delta, p.theta_bound, p.action_bound, p.window
        )
    delta, mixing = p.delta, mu
    if p.radius == UNION:
        delta = p.delta / p.horizon
    elif p.radius == ANYTIME or p.radius == ANYTIME_DETERMINANT:
        delta = anytime_delta(p.delta, s.counters[STEPS])
    elif p.radius == BLOCKWISE or p.radius == BLOCKWISE_DETERMINANT:
        # The law N(0, I/mixing) is fixed at the block's start. In growing units it does not change.
        length = block_length(dim, p.gamma, p.restore)
        block = np.floor(s.counters[RESTORED] / length)
        mixing *= p.gamma ** (2.0 * (s.counters[RESTORED] - block * length))
        delta = anytime_delta(p.delta, block + 1.0)
    if p.radius >= DETERMINANT:
        volume = max(_log_determinant_squared(s, mixing) - dim * np.log(mixing), 0.0)
    else:
        squares = max(s.counters[WEIGHT_SQUARES], 0.0)
        volume = trace_volume(dim, mixing, p.action_bound, squares)
    return mixture_radius(ridge, mu, p.noise, delta, p.theta_bound, volume)


@lean_kernel
def _log_determinant_squared(s: State, mu: float) -> float:
    """log det (Σ w² a aᵀ + μI); for the μ in force, this is log det Ṽ."""
    if s.gram_squared.shape[1] == 0:
        return log_determinant(s.factor)
    cholesky(s.gram_squared[0], mu, s.work)
    # Nothing reads the numbers below the diagonal. But they would depend on which properties were
    # read, and a state should depend only on what was learned.
    for i in range(1, s.theta.size):
        clear(s.work[i, :i])
    return log_determinant(s.work)


@lean_kernel
def estimate(s: State) -> None:
    """Bring the factor of V and θ̂ up to date with the sums."""
    if not serves(s.counters[FACTOR_AGE], s.theta.size):
        cholesky(s.gram[0], s.counters[RIDGE], s.factor)
        s.counters[FACTOR_AGE] = 0.0
    solve(s.factor, s.moment[0], s.theta)


@lean_kernel
def prepare(p: Parameters, s: State) -> None:
    """Bring the factor of V, θ̂ and β up to date with the sums."""
    estimate(s)
    s.counters[RADIUS] = current_radius(p, s)


@lean_kernel
def begin_look(p: Parameters, s: State) -> float:
    """If decisions have no usable factor, let `prepare` use that of the last reading.

    Returns 1 in this case. A factor that follows the sums is rounded differently from a new one.
    So decisions use only their own factor.
    """
    age = s.counters[FACTOR_AGE]
    if serves(age, s.theta.size):
        return 0.0
    s.counters[FACTOR_AGE] = other_age(age)
    return 1.0


@lean_kernel
def end_look(p: Parameters, s: State, begun: float) -> None:
    """Mark the factor as computed for a property if `begin_look` returned 1."""
    if begun > 0.0:
        s.counters[FACTOR_AGE] = other_age(s.counters[FACTOR_AGE])


def width_scale(s: State) -> float:
    """√unit if widths come from V alone, stored as V · unit; 1 if Ṽ is stored too."""
    return float(np.sqrt(s.counters[UNIT])) if s.gram_squared.shape[1] == 0 else 1.0


_width_scale = lean_kernel(width_scale)


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action with the largest upper confidence bound."""
    radius, mu = s.counters[RADIUS] * _width_scale(s), s.counters[MU]
    optimistic(s.factor, s.gram_squared, mu, s.theta, radius, columns, scratch, scores)
    return argmax(scores)


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Add an observation to the sums."""
    remember(p, s, action, reward, age)
    if p.released > 0.0:
        square_as_released(p.gamma, s.counters[UNIT], s.gram, action, s.gram_squared)


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Close ``rounds`` rounds, and forget as they pass."""
    pass_time(p, s, rounds)


@lean_kernel
def late(p: Parameters, s: State, age: float) -> None:
    """Count a change without a closing round: an anytime bound has to cover it too."""
    if is_remembered(p, s, age):
        s.counters[STEPS] += 1.0


@lean_kernel
def misses(p: Parameters, s: State, theta: Array) -> bool:
    """Whether ‖θ̂ − θ‖_{V Ṽ⁻¹ V} = ‖Ṽ^{−1/2} V (θ̂ − θ)‖ exceeds β; ``s`` must be prepared."""
    image = s.work[s.work.shape[0] - 1]
    image_of_error(s.gram[0], s.counters[RIDGE], s.theta, theta, image)
    limit = s.counters[RADIUS] ** 2
    if s.gram_squared.shape[1] == 0:
        return bool(whiten(s.factor, image) > limit * s.counters[UNIT])
    cholesky(s.gram_squared[0], s.counters[MU], s.work)
    return bool(whiten(s.work, image) > limit)


@lean_kernel
def fits(p: Parameters, s: State, rounds: float) -> bool:
    """Whether the window has room for another observation, in order or late."""
    return bool(p.window == 0.0 or has_room(s))


@lean_kernel
def amend(p: Parameters, s: State, action: Array, old: float, new: float, age: float) -> bool:
    """Correct b for an observation whose reward changes from ``old`` to ``new``."""
    return amend_memory(p, s, action, old, new, age)


@lean_kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Clear the sums along the coordinates of ``mask``."""
    forget_coordinates(s, mask)


WEIGHTED = Kernels(
    name="weighted",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    prepare=prepare,
    misses=misses,
    late=late,
    fits=fits,
    amend=amend,
    forget=forget,
    begin_look=begin_look,
    end_look=end_look,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedPolicy(LinearPolicy):
    """A policy of the weighted family: a configuration of the kernels above."""

    kernels: ClassVar[Kernels] = WEIGHTED

    @property
    def design(self) -> Array:
        """V, shape (d, d), in units in which an observation made now has weight one."""
        with self._alone():
            unit = self._state.counters[UNIT]
            ridge = self._state.counters[RIDGE] * np.eye(self.dim)
            return np.asarray((symmetric(self._state.gram[0]) + ridge) / unit)

    @property
    def squared_design(self) -> Array:
        """Ṽ, shape (d, d), in the units of `design`."""
        if self._state.gram_squared.shape[1] == 0:
            return self.design
        with self._alone():
            unit = self._state.counters[UNIT]
            mu = self._state.counters[MU] * np.eye(self.dim)
            return np.asarray((symmetric(self._state.gram_squared[0]) + mu) / unit**2)

    @property
    def moment(self) -> Array:
        """b, shape (d,), in the units of `design`."""
        with self._alone():
            return np.asarray(self._state.moment[0] / self._state.counters[UNIT])

    def _check_discount(self, gamma: float) -> None:
        """Refuse a discount outside (0, 1), or with which rounding would exceed the ridge."""
        open_unit("gamma", gamma)
        # Until the open round closes, its rewards have weight 1/γ, and 1/γ² in Ṽ.
        ratio = self.action_bound**2 / (self.ridge * gamma**2)
        self._check_ratio("action_bound²/(ridge gamma²)", ratio)

    def _parameters_with(
        self,
        *,
        radius: int,
        gamma: float = 1.0,
        window: float = 0.0,
        horizon: float = 1.0,
        restore: int = 1,
        period: float = 0.0,
    ) -> Parameters:
        # Under discounting, each restoration of λ changes V by more than a rank-one matrix.
        rank_one = gamma == 1.0 or restore > 1
        return Parameters(
            gamma=gamma,
            window=window,
            ridge=self.ridge,
            mu=self.ridge,
            noise=self.noise,
            delta=self.delta,
            theta_bound=self.theta_bound,
            action_bound=self.action_bound,
            radius=radius,
            horizon=horizon,
            restore=restore,
            follow=float(rank_one and self.dim >= FOLLOW_FROM),
            period=period,
            released=0.0,
        )

    def _theta(self) -> Array:
        self._prepare()
        theta: Array = self._state.theta
        return theta

    def _fit(self) -> Fit:
        self._prepare()
        state = self._state
        mu, radius = float(state.counters[MU]), float(state.counters[RADIUS])
        scale = width_scale(state)
        return Fit(state.factor, state.gram_squared, mu, state.theta, radius, scale)

    def _widened_state(self, wider: Self) -> Any:
        return widened(self._state, self.dim, wider.dim)

    def _share_schedule(self, ahead: Self) -> None:
        """λ is restored at certain rounds: those of the policy that lived through them count."""
        mine, theirs = self._state.counters, ahead._state.counters
        scale = mine[UNIT] / theirs[UNIT]
        mine[RIDGE], mine[MU] = scale * theirs[RIDGE], scale**2 * theirs[MU]
        mine[RESTORED] = theirs[RESTORED]

    def _merged_state(self, other: Self) -> Any:
        return merged(self._state, other._state)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> tuple[Any, Any]:
        if FLOOR_STREAM not in arrays:  # release 0.1.0 kept late rows in ``history``
            arrays = {"belated": initial.belated, **arrays}
        return super()._checked(arrays, initial)

    def _window(self) -> int:
        """Length of the window whose observations are stored; 0 if there is no window."""
        return 0

    def _growing(self) -> tuple[str, ...]:
        return ("history", "belated") if self._window() else ()

    def _grown(self, state: Any, rounds: float) -> Any:
        if state.counters[STORED] == len(state.history):
            counters, history = longer_history(state.counters, state.history)
            state = state._replace(counters=counters, history=history)
        if state.belated[0, 0] + 1 == len(state.belated):
            longer = padded(state.belated, 2 * len(state.belated), state.belated.shape[1])
            state = state._replace(belated=longer)
        return state

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        if len(state.belated) > 0 and state.belated[0, 0] not in range(len(state.belated)):
            raise StateFileError(
                f"array belated has a row count of {state.belated[0, 0]}, "
                f"not an integer from 0 to {len(state.belated) - 1}"
            )
        if not 1.0 <= state.counters[UNIT] <= LARGEST_UNIT:
            raise StateFileError(f"array counters has a unit of {state.counters[UNIT]}")
        capacity = len(state.history)
        return {
            FIRST: (0, max(capacity - 1, 0)),
            STORED: (0, capacity),
            RESTARTS_DONE: (0, len(state.restarts)),
        }
