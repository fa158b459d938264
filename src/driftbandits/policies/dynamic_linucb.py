"""dLinUCB: a pool of LinUCB models; when none predicts well any more, a new one is added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, NamedTuple, Self

import numpy as np

from ..core.arrays import Array, open_unit, whole
from ..core.clock import CLOCK
from ..core.compiling import lean_kernel
from ..core.entry_points import Kernels
from ..core.linalg import argmax, cholesky, clear, clear_matrix, copy, copy_matrix, solve, whiten
from ..least_squares.amending import clear_along, clear_entries
from ..least_squares.combining import padded
from ..least_squares.radii import per_round_radius
from ..least_squares.sums import accumulate
from .linear import Fit, LinearPolicy
from .problem import Problem
from .registry import register
from .weighted.optimism import optimistic

# Positions in ``counters``, after CLOCK.
MODELS = 1  # models in the pool
DETECTIONS = 2  # detections so far
LEADER = 3  # the model that chooses
COUNTERS = 4

# Columns of ``facts``, which has one row per model.
UPDATES = 0  # observations learned from
LIVED = 1  # rounds lived through
BADNESS = 2  # ê
HALF_WIDTH = 3  # c
RADIUS = 4  # β
OUTDATED = 5  # 1 if the estimate is older than the sums
FAILED = 6  # failures in the ring
FACTS = 7

# Largest number of models. A model is dropped soon after it turns bad, so most pools have two or
# three.
POOL = 16


class Parameters(NamedTuple):
    """The configuration in the form that kernels read: floats only."""

    ridge: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float
    drop_margin: float  # δ₁
    keep_margin: float  # δ̃₁
    log_inverse_delta2: float
    tolerance: float  # ε = √2 σ erfinv(1 − δ₁)
    lead: float  # √(log τ)


class State(NamedTuple):
    """The pool, with one row per model, oldest first; and the detections."""

    counters: Array
    facts: Array  # (POOL, FACTS)
    failures: Array  # (POOL, τ), rings of e
    grams: Array  # (POOL, 2, d, d), compensated sums
    moments: Array  # (POOL, 2, d)
    factors: Array  # (POOL, d, d)
    thetas: Array  # (POOL, d)
    unweighted: Array  # (2, 0, 0): all weights are one
    detections: Array  # rounds
    work: Array  # (d,)


@lean_kernel
def add_model(s: State) -> None:
    """Add a fresh model at the end of the pool; if the pool is full, remove the worst first."""
    m = int(s.counters[MODELS])
    if m == POOL:
        worst = m - 1
        for i in range(m - 2, -1, -1):  # among equals, the oldest
            if s.facts[i, BADNESS] >= s.facts[worst, BADNESS]:
                worst = i
        remove_model(s, worst)
        m -= 1
    clear(s.facts[m])
    s.facts[m, HALF_WIDTH] = 0.5
    s.facts[m, OUTDATED] = 1.0
    clear(s.failures[m])
    for part in range(2):
        clear_matrix(s.grams[m, part])
    clear_matrix(s.moments[m])
    s.counters[MODELS] = m + 1.0


@lean_kernel
def remove_model(s: State, m: int) -> None:
    """Remove a model; younger models move up by one row."""
    last = int(s.counters[MODELS]) - 1
    for i in range(m, last):
        copy(s.facts[i + 1], s.facts[i])
        copy(s.failures[i + 1], s.failures[i])
        for part in range(2):
            copy_matrix(s.grams[i + 1, part], s.grams[i, part])
        copy_matrix(s.moments[i + 1], s.moments[i])
        copy_matrix(s.factors[i + 1], s.factors[i])
        copy(s.thetas[i + 1], s.thetas[i])
    s.counters[MODELS] = last


@lean_kernel
def leader(p: Parameters, s: State) -> int:
    """The model with the smallest ê − √(log τ) c; it chooses."""
    best = 0
    least = np.inf
    for m in range(int(s.counters[MODELS])):
        bound = s.facts[m, BADNESS] - p.lead * s.facts[m, HALF_WIDTH]
        if bound < least:
            best, least = m, bound
    return best


@lean_kernel
def prepare_model(p: Parameters, s: State, m: int) -> None:
    """Recompute the factor, θ̂ and β of model ``m`` if its sums have changed."""
    if s.facts[m, OUTDATED] == 0.0:
        return
    cholesky(s.grams[m, 0], p.ridge, s.factors[m])
    solve(s.factors[m], s.moments[m, 0], s.thetas[m])
    s.facts[m, RADIUS] = per_round_radius(
        s.thetas.shape[1],
        p.ridge,
        p.ridge,
        p.noise,
        p.delta,
        p.theta_bound,
        p.action_bound,
        s.facts[m, UPDATES],
    )
    s.facts[m, OUTDATED] = 0.0


@lean_kernel
def prepare(p: Parameters, s: State) -> None:
    """Find the model that chooses, and bring its estimate up to date."""
    m = leader(p, s)
    prepare_model(p, s, m)
    s.counters[LEADER] = m


@lean_kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """The choice of the leading model, by its own upper confidence bounds."""
    m = int(s.counters[LEADER])
    radius = s.facts[m, RADIUS]
    optimistic(s.factors[m], s.unweighted, p.ridge, s.thetas[m], radius, columns, scratch, scores)
    return argmax(scores)


@lean_kernel
def failed(p: Parameters, s: State, m: int, action: Array, reward: float) -> bool:
    """e = 1{|aᵀθ̂ − r| > β width(a) + ε}, with the estimate before it learns the reward."""
    prepare_model(p, s, m)
    predicted = 0.0
    for i in range(action.size):
        predicted += action[i] * s.thetas[m, i]
    copy(action, s.work)
    width = np.sqrt(whiten(s.factors[m], s.work))
    return bool(abs(predicted - reward) > s.facts[m, RADIUS] * width + p.tolerance)


@lean_kernel
def judge(p: Parameters, s: State, m: int, failure: bool) -> None:
    """Update ê and c of model ``m`` with the outcome of one more round."""
    memory = s.failures.shape[1]
    place = int(s.facts[m, LIVED]) % memory
    outcome = 1.0 if failure else 0.0
    s.facts[m, FAILED] += outcome - s.failures[m, place]
    s.failures[m, place] = outcome
    s.facts[m, LIVED] += 1.0
    seen = min(s.facts[m, LIVED], float(memory))
    s.facts[m, BADNESS] = s.facts[m, FAILED] / seen
    s.facts[m, HALF_WIDTH] = np.sqrt(p.log_inverse_delta2 / (2.0 * seen))


@lean_kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Every model that predicted the reward learns it; bad models go; if none is good, add one.

    The effect of a reward depends on the order of arrival, so ``age`` is not used.
    """
    any_good = False
    for m in range(int(s.counters[MODELS]) - 1, -1, -1):
        failure = failed(p, s, m, action, reward)
        if not failure:
            accumulate(s.grams[m], s.unweighted, s.moments[m], action, reward, 1.0, 1.0, True)
            s.facts[m, UPDATES] += 1.0
            s.facts[m, OUTDATED] = 1.0
        judge(p, s, m, failure)
        if s.facts[m, BADNESS] < s.facts[m, HALF_WIDTH] + p.keep_margin:
            any_good = True
        elif s.facts[m, BADNESS] >= s.facts[m, HALF_WIDTH] + p.drop_margin:
            remove_model(s, m)
    if not any_good:
        add_model(s)
        s.detections[int(s.counters[DETECTIONS])] = s.counters[CLOCK]
        s.counters[DETECTIONS] += 1.0


@lean_kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Move the clock. Time itself forgets nothing: only dropping a model does."""
    s.counters[CLOCK] += rounds


@lean_kernel
def fits(p: Parameters, s: State, rounds: float) -> bool:
    """Whether there is room for another detection."""
    return bool(s.counters[DETECTIONS] < s.detections.size)


@lean_kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Clear the sums of every model along the coordinates of ``mask``."""
    for m in range(int(s.counters[MODELS])):
        for part in range(2):
            clear_along(mask, s.grams[m, part])
            clear_entries(mask, s.moments[m, part])
        s.facts[m, OUTDATED] = 1.0


DYNAMIC = Kernels(
    name="dynamic",
    Parameters=Parameters,
    State=State,
    choose=choose,
    learn=learn,
    advance=advance,
    prepare=prepare,
    fits=fits,
    forget=forget,
)


@register("dLinUCB", "a pool of LinUCB models with change detection; for rare large changes")
@dataclass(frozen=True, kw_only=True, eq=False)
class DynamicLinUCB(LinearPolicy):
    """dLinUCB (Wu, Iyer and Wang, SIGIR 2018), as the paper ran it.

    Each model of the pool counts how often the last rewards fell outside its prediction,
    |aᵀθ̂ − r| > β width(a) + ε. The mean ê is its badness, known up to
    c = √(log(1/δ₂)/(2 min(n, τ))). The model with the smallest ê − √(log τ) c chooses. A model is
    good while ê < c + δ̃₁, and dropped once ê ≥ c + δ₁. If no model is good after a round, that is
    a detection, and a fresh model is added.

    β is LinUCB's radius for the number of rewards that the model has learned. The released code
    adds to this number the round in which the model was created. So its later models have a wider
    β.

    ``theta``, ``radius``, ``scores`` and ``widths`` belong to the model that chooses next. The pool
    judges a late reward when it arrives. Rewards cannot be amended, and pools cannot be merged: the
    models depend on the order in which rewards were judged. A widened pool keeps its models and
    their badness, which was judged with radii for the old dimension.

    Attributes:
        memory: Number τ of rounds over which a model's badness is averaged.
        delta1: δ₁, margin at which a model is dropped; it also sets ε = √2 σ erfinv(1 − δ₁).
        delta1_tilde: δ̃₁, margin up to which a model counts as good.
        delta2: δ₂, confidence of the badness.

    Examples:
        >>> from driftbandits import DynamicLinUCB
        >>> policy = DynamicLinUCB(dim=1, noise=0.1)
        >>> for t in range(400):
        ...     policy.update([1.0], 1.0 if t < 200 else -1.0)
        >>> policy.detections
        (222,)
    """

    kernels: ClassVar[Kernels] = DYNAMIC
    detections_counter: ClassVar[int] = DETECTIONS
    late_rewards: ClassVar[str] = "judged by the models in the pool when it arrives"
    refusals: ClassVar[Mapping[str, str]] = {
        "amend": "which models learned a reward, and which were dropped for it, is not known",
        "merged": "its models depend on the order in which rewards were judged",
    }

    memory: int = 200
    delta1: float = 0.01
    delta1_tilde: float = 0.002
    delta2: float = 0.01

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """The constants of the paper's experiments; budget and horizon are not used."""
        return cls(**problem.common())

    def _validate(self) -> None:
        super()._validate()
        whole("memory", self.memory, least=2)
        for name in ("delta1", "delta1_tilde", "delta2"):
            open_unit(name, getattr(self, name))
        if self.delta1_tilde > self.delta1:
            raise ValueError(
                f"delta1_tilde must be at most delta1 = {self.delta1}, got {self.delta1_tilde}"
            )

    def _make_parameters(self) -> Parameters:
        return Parameters(
            ridge=self.ridge,
            noise=self.noise,
            delta=self.delta,
            theta_bound=self.theta_bound,
            action_bound=self.action_bound,
            drop_margin=self.delta1,
            keep_margin=self.delta1_tilde,
            log_inverse_delta2=float(np.log(1.0 / self.delta2)),
            tolerance=self.noise * NormalDist().inv_cdf(1.0 - self.delta1 / 2.0),
            lead=float(np.sqrt(np.log(self.memory))),
        )

    def _initial_state(self) -> State:
        d = self.dim
        state = State(
            counters=np.zeros(COUNTERS),
            facts=np.zeros((POOL, FACTS)),
            failures=np.zeros((POOL, self.memory)),
            grams=np.zeros((POOL, 2, d, d)),
            moments=np.zeros((POOL, 2, d)),
            factors=np.zeros((POOL, d, d)),
            thetas=np.zeros((POOL, d)),
            unweighted=np.zeros((2, 0, 0)),
            detections=np.zeros(0),
            work=np.zeros(d),
        )
        state.counters[MODELS] = 1.0
        state.facts[0, HALF_WIDTH] = 0.5
        state.facts[0, OUTDATED] = 1.0
        return state

    def _widened_state(self, wider: Self) -> State:
        state, d = self._state, wider.dim
        facts = state.facts.copy()
        facts[:, OUTDATED] = 1.0
        return wider._initial_state()._replace(
            counters=state.counters,
            facts=facts,
            failures=state.failures,
            grams=padded(state.grams, POOL, 2, d, d),
            moments=padded(state.moments, POOL, 2, d),
            detections=state.detections,
        )

    def _fit(self) -> Fit:
        self._prepare()
        state = self._state
        m = int(state.counters[LEADER])
        radius = float(state.facts[m, RADIUS])
        ridge = float(self.ridge)
        return Fit(state.factors[m], state.unweighted, ridge, state.thetas[m], radius)

    def _counter_ranges(self, state: State) -> dict[int, tuple[int, int]]:
        return {MODELS: (1, POOL), LEADER: (0, POOL - 1), **super()._counter_ranges(state)}
