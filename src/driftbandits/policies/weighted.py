"""Optimism over the weighted estimator: the kernels that LinUCB, D-LinUCB and SW-LinUCB share.

    score(a) = aᵀθ̂ + β √(aᵀ V⁻¹ Ṽ V⁻¹ a)

The members of the family differ in what they forget (`driftbandits.memory`) and in the radius β:
in parameters, not in code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._compile import entry_point, kernel
from ..arrays import Array
from ..confidence import anytime_delta, mixture_radius, per_round_radius, published_window_radius
from ..estimator import RadiusKind, widths
from ..linalg import (
    cholesky,
    column_norms_squared,
    column_products,
    copy_matrix,
    log_determinant,
    solve,
    solve_lower,
)
from ..memory import (
    COUNTERS,
    FIRST,
    RADIUS,
    RESTARTS_DONE,
    STALE,
    STEPS,
    STORED,
    WEIGHT_SQUARES,
    make_room,
    pass_time,
    remember,
)
from .kernels import Kernels, argmax
from .linear import Fit, LinearPolicy

# Codes for ``Parameters.radius``.
PER_ROUND, ANYTIME, DETERMINANT, PUBLISHED_WINDOW, UNION = range(5)
RADIUS_CODES: dict[RadiusKind, int] = {
    "per-round": PER_ROUND,
    "anytime": ANYTIME,
    "determinant": DETERMINANT,
}


class Parameters(NamedTuple):
    """What the kernels need to know of a configuration; all of them floats."""

    gamma: float  # 1 where nothing is discounted
    window: float  # 0 where there is none
    ridge: float
    mu: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    radius: float
    horizon: float  # for the union bound over rounds


class State(NamedTuple):
    """Sums, clock and history, and what was last computed from them."""

    gram: Array  # (d, d), Σ w a aᵀ
    gram_squared: Array  # (d, d), Σ w² a aᵀ; empty where all weights are one
    moment: Array  # (d,), b
    counters: Array  # see driftbandits.memory
    history: Array  # (capacity, d + 2), the window's rows [action, reward, round]
    restarts: Array  # rounds at which all is forgotten
    factor: Array  # (d, d), lower Cholesky factor of V
    theta: Array  # (d,), θ̂


def initial_state(
    *, dim: int, discounted: bool = False, window: int = 0, restarts: Array | None = None
) -> State:
    """A state that has seen nothing."""
    counters = np.zeros(COUNTERS)
    counters[STALE] = 1.0
    return State(
        gram=np.zeros((dim, dim)),
        gram_squared=np.zeros((dim, dim) if discounted else (0, 0)),
        moment=np.zeros(dim),
        counters=counters,
        history=np.zeros((min(window, 64), dim + 2)),
        restarts=np.zeros(0) if restarts is None else restarts,
        factor=np.zeros((dim, dim)),
        theta=np.zeros(dim),
    )


@kernel
def current_radius(p: Parameters, s: State) -> float:
    """β for what is remembered now; for the determinant radius ``factor`` must be that of V."""
    dim = s.moment.size
    if p.radius == PUBLISHED_WINDOW:
        return published_window_radius(
            dim, p.ridge, p.noise, p.delta, p.theta_bound, p.action_bound, p.window
        )
    delta = p.delta
    if p.radius == ANYTIME:
        delta = anytime_delta(p.delta, s.counters[STEPS])
    elif p.radius == UNION:
        delta = p.delta / p.horizon
    elif p.radius == DETERMINANT:
        volume = max(_log_determinant_squared(p, s) - dim * np.log(p.mu), 0.0)
        return mixture_radius(p.ridge, p.mu, p.noise, p.delta, p.theta_bound, volume)
    return per_round_radius(
        dim,
        p.ridge,
        p.mu,
        p.noise,
        delta,
        p.theta_bound,
        p.action_bound,
        max(s.counters[WEIGHT_SQUARES], 0.0),
    )


@kernel
def _log_determinant_squared(p: Parameters, s: State) -> float:
    """log det Ṽ."""
    if s.gram_squared.shape[0] == 0:
        return log_determinant(s.factor)
    factor = np.empty(s.gram_squared.shape)
    cholesky(s.gram_squared, p.mu, factor)
    return log_determinant(factor)


@kernel
def prepare(p: Parameters, s: State) -> None:
    """Bring the factor of V, θ̂ and β up to date with the sums."""
    if s.counters[STALE] == 0.0:
        return
    cholesky(s.gram, p.ridge, s.factor)
    solve(s.factor, s.moment, s.theta)
    s.counters[RADIUS] = current_radius(p, s)
    s.counters[STALE] = 0.0


@kernel
def optimistic(
    factor: Array,
    gram_squared: Array,
    mu: float,
    theta: Array,
    radius: float,
    columns: Array,
    scratch: Array,
    scores: Array,
) -> None:
    """Upper confidence bound of every column of ``columns`` (d, K), written to ``scores`` (K,)."""
    copy_matrix(columns, scratch)
    widths(factor, gram_squared, mu, scratch, scores)
    for k in range(scores.size):
        scores[k] *= radius
    column_products(theta, columns, scores)


@kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The action of the largest upper confidence bound."""
    prepare(p, s)
    radius = s.counters[RADIUS]
    optimistic(s.factor, s.gram_squared, p.mu, s.theta, radius, columns, scratch, scores)
    return argmax(scores)


@kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Add an observation to what is remembered."""
    remember(
        p.gamma,
        p.window,
        s.gram,
        s.gram_squared,
        s.moment,
        s.counters,
        s.history,
        action,
        reward,
        age,
    )


@kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Let the memory fade by ``rounds`` rounds."""
    pass_time(
        p.gamma,
        p.window,
        s.gram,
        s.gram_squared,
        s.moment,
        s.counters,
        s.history,
        s.restarts,
        rounds,
    )


@kernel
def misses(p: Parameters, s: State, theta: Array) -> bool:
    """Whether ‖θ̂ − θ‖_{V Ṽ⁻¹ V} = ‖Ṽ^{−1/2} V (θ̂ − θ)‖ exceeds β."""
    prepare(p, s)
    dim = theta.size
    image, norm = np.empty((dim, 1)), np.empty(1)
    for i in range(dim):
        image[i, 0] = p.ridge * (s.theta[i] - theta[i])
        for j in range(dim):
            image[i, 0] += s.gram[max(i, j), min(i, j)] * (s.theta[j] - theta[j])
    if s.gram_squared.shape[0] == 0:
        solve_lower(s.factor, image)
    else:
        factor = np.empty((dim, dim))
        cholesky(s.gram_squared, p.mu, factor)
        solve_lower(factor, image)
    column_norms_squared(image, norm)
    return np.sqrt(norm[0]) > s.counters[RADIUS]


WEIGHTED = Kernels(
    name="weighted",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    misses=misses,
)


def _prepare(parameters: tuple[float, ...], *state: Array) -> None:
    prepare(Parameters(*parameters), State(*state))


prepare_entry = entry_point(_prepare, "weighted")


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedPolicy(LinearPolicy):
    """A policy of the weighted family: a configuration of the kernels above."""

    kernels: ClassVar[Kernels] = WEIGHTED

    def _parameters_with(
        self, *, radius: int, gamma: float = 1.0, window: float = 0.0, horizon: float = 1.0
    ) -> Parameters:
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
        )

    def _fit(self) -> Fit:
        state = self._state
        prepare_entry(self._parameters, *state)
        return Fit(state.factor, state.gram_squared, state.theta, float(state.counters[RADIUS]))

    def _make_room(self, more: int) -> None:
        if "history" in self._growing():
            state = self._state
            counters, history = make_room(state.counters, state.history, more=more)
            if history is not state.history:
                grown = state._replace(counters=counters, history=history)
                object.__setattr__(self, "_state", grown)

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        capacity = len(state.history)
        return {
            FIRST: (0, max(capacity - 1, 0)),
            STORED: (0, capacity),
            RESTARTS_DONE: (0, len(state.restarts)),
        }
