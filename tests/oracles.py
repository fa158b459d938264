"""The correct values, computed from the definitions as sums over the whole history.

This file uses only numpy, nothing of the package, and no recursive updates. All arithmetic is in
extended precision: with 64 bits of mantissa the oracle is accurate to 1e-10 if the condition number
of V is 1e9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Exact = npt.NDArray[np.longdouble]
Floats = npt.NDArray[np.float64]


def exact(values: Any) -> Exact:
    """``values`` in extended precision."""
    return np.asarray(values, dtype=np.longdouble)


# --- Linear algebra -----------------------------------------------------------------------------


def cholesky(matrix: Exact) -> Exact:
    """Lower factor of a positive definite matrix."""
    factor = np.zeros_like(matrix)
    for j in range(len(matrix)):
        column = matrix[j:, j] - factor[j:, :j] @ factor[j, :j]
        factor[j:, j] = column / np.sqrt(column[0])
    return factor


def solve(matrix: Exact, right: Exact) -> Exact:
    """The x with ``matrix`` x = ``right``, for a positive definite matrix."""
    factor = cholesky(matrix)
    x = np.array(right, dtype=np.longdouble)
    for i in range(len(x)):
        x[i] = (x[i] - factor[i, :i] @ x[:i]) / factor[i, i]
    for i in range(len(x) - 1, -1, -1):
        x[i] = (x[i] - factor[i + 1 :, i] @ x[i + 1 :]) / factor[i, i]
    return x


def log_determinant(matrix: Exact) -> np.longdouble:
    """Log det of a positive definite matrix."""
    return np.longdouble(2) * np.log(np.diag(cholesky(matrix))).sum()


# --- The weighted estimator ---------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """V, Ṽ, b, θ̂ and Σ w²σ².

    ``rounding`` is the relative error of θ̂ if each term of V and b has an error of one unit of
    rounding u: (Σ w‖a‖² ‖θ̂‖ + Σ w|r|‖a‖) u / (λ ‖θ̂‖). Sums in double precision are not better.
    """

    V: Exact
    V_squared: Exact
    b: Exact
    theta: Exact
    weight_squares: np.longdouble
    rounding: float

    def widths(self, actions: Floats) -> Exact:
        """√(aᵀ V⁻¹ Ṽ V⁻¹ a) of every row."""
        u = solve(self.V, exact(actions).T)
        return np.sqrt(np.einsum("ik,ij,jk->k", u, self.V_squared, u))

    def rounding_of_widths(self, actions: Floats) -> float:
        """Relative error of the widths if each term of V has an error of one unit of rounding u.

        The error of V⁻¹a is then u tr(V) ‖V⁻¹‖ ‖V⁻¹a‖, and Ṽ^½ stretches it by at most ‖Ṽ‖^½.
        """
        smallest = np.linalg.eigvalsh(self.V.astype(float))[0]
        off = np.finfo(np.float64).eps * float(np.trace(self.V)) / smallest
        stretch = np.sqrt(np.linalg.norm(self.V_squared.astype(float), 2))
        lengths = np.linalg.norm(solve(self.V, exact(actions).T).astype(float))
        return float(off * stretch * lengths / np.linalg.norm(self.widths(actions).astype(float)))

    def scores(self, actions: Floats, radius: np.longdouble) -> Exact:
        """Upper confidence bound of every row."""
        return exact(actions) @ self.theta + radius * self.widths(actions)

    def distance(self, theta: Floats) -> np.longdouble:
        """‖θ̂ − θ‖ in the norm of V Ṽ⁻¹ V."""
        image = self.V @ (self.theta - exact(theta))
        return np.sqrt(image @ solve(self.V_squared, image))


def estimate(
    actions: Any, rewards: Any, weights: Any, *, ridge: float, mu: float, noise: Any = 1.0
) -> Truth:
    """The definition of the estimator, from Section 2 of the paper."""
    a, r, w = exact(actions), exact(rewards), exact(weights)
    squares = (w * exact(noise)) ** 2
    identity = np.eye(a.shape[1], dtype=np.longdouble)
    V = (a * w[:, None]).T @ a + np.longdouble(ridge) * identity
    V_squared = (a * squares[:, None]).T @ a + np.longdouble(mu) * identity
    b = a.T @ (w * r)
    theta = solve(V, b)
    return Truth(V, V_squared, b, theta, squares.sum(), _rounding(a, r, w, theta, ridge))


def _rounding(a: Exact, r: Exact, w: Exact, theta: Exact, ridge: float) -> float:
    lengths, size = np.sqrt((a**2).sum(axis=1)), np.sqrt(theta @ theta)
    if size == 0:
        return 0.0
    terms = (w * lengths**2).sum() * size + (w * abs(r) * lengths).sum()
    return float(terms * np.finfo(np.float64).eps / (ridge * size))


# --- Radii --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The constants of all radii."""

    dim: int
    ridge: float
    noise: float
    delta: float
    theta_bound: float
    action_bound: float


def per_round_radius(k: Bounds, *, mu: float, weight_squares: Any) -> np.longdouble:
    """Theorem 1."""
    spread = exact(k.action_bound) ** 2 * exact(weight_squares) / (k.dim * exact(mu))
    return _radius(k, mu, exact(k.delta), k.dim * np.log(1 + spread))


def anytime_radius(k: Bounds, *, mu: float, weight_squares: Any, step: float) -> np.longdouble:
    """Theorem 1 at δ_t = δ / (1.7 t (1 + log t)²)."""
    spread = exact(k.action_bound) ** 2 * exact(weight_squares) / (k.dim * exact(mu))
    return _radius(k, mu, anytime_delta(k, step), k.dim * np.log(1 + spread))


def anytime_delta(k: Bounds, step: float) -> Exact:
    """δ_t = δ / (1.7 t (1 + log t)²)."""
    t = exact(max(step, 1))
    return exact(k.delta) / (exact(17) / 10 * t * (1 + np.log(t)) ** 2)


def determinant_radius(k: Bounds, *, mu: float, V_squared: Exact) -> np.longdouble:
    """Theorem 1 with log(det Ṽ / μ^d) as its logarithm: the Proposition in the appendix."""
    return _radius(k, mu, exact(k.delta), log_determinant(V_squared / exact(mu)))


def anytime_determinant_radius(
    k: Bounds, *, mu: float, V_squared: Exact, step: float
) -> np.longdouble:
    """The determinant radius at δ_t."""
    return _radius(k, mu, anytime_delta(k, step), log_determinant(V_squared / exact(mu)))


def blockwise_radius(
    k: Bounds,
    *,
    gamma: float,
    clock: float,
    restored: float,
    between: int,
    weight_squares: Any,
    gram_squared: Exact | None = None,
) -> np.longdouble:
    """The block-wise radius, whose law is fixed at the start of the block.

    ``gram_squared`` is Σ w² a aᵀ. λ was last restored at the clock ``restored``; ``between`` is the
    number of rounds between two restorations.
    """
    rate = -np.log(exact(gamma))
    length = between * max(1, round(float(2 / (k.dim * rate * between))))
    block = math.floor(restored / length)
    mu = k.ridge * exact(gamma) ** (2 * (exact(clock) - block * length))  # of the law
    if gram_squared is None:
        spread = exact(k.action_bound) ** 2 * exact(weight_squares) / (k.dim * mu)
        volume = k.dim * np.log(1 + spread)
    else:
        volume = log_determinant(gram_squared / mu + np.eye(k.dim, dtype=np.longdouble))
    # λ_t/√μ_t stays the same while both fade.
    return _radius(k, k.ridge, anytime_delta(k, block + 1), volume)


def published_window_radius(k: Bounds, *, window: int) -> np.longdouble:
    """SW-LinUCB as published: constant in time."""
    inside = (1 + window * exact(k.action_bound) ** 2 / exact(k.ridge)) / exact(k.delta)
    return np.sqrt(exact(k.ridge)) * k.theta_bound + k.noise * np.sqrt(k.dim * np.log(inside))


def union_window_radius(k: Bounds, *, horizon: int, weight_squares: Any) -> np.longdouble:
    """SW-LinUCB with a union bound over the horizon."""
    spread = exact(k.action_bound) ** 2 * exact(weight_squares) / (exact(k.ridge) * k.dim)
    return _radius(k, k.ridge, exact(k.delta) / horizon, k.dim * np.log(1 + spread))


def _radius(k: Bounds, mu: float, delta: Exact, log_volume: Exact) -> np.longdouble:
    bias = exact(k.ridge) / np.sqrt(exact(mu)) * k.theta_bound
    return bias + k.noise * np.sqrt(2 * np.log(1 / delta) + log_volume)


# --- Events and history -------------------------------------------------------------------------


@dataclass(frozen=True)
class Update:
    """One reward or a batch of rewards for the open round, which then closes."""

    actions: Floats
    rewards: Floats


@dataclass(frozen=True)
class Advance:
    """The clock moves without rewards."""

    rounds: float


@dataclass(frozen=True)
class Late:
    """Rewards for the rounds ``rounds``; the clock does not move."""

    actions: Floats
    rewards: Floats
    rounds: Floats


@dataclass(frozen=True)
class Amend:
    """Observation number ``observation``, in order of arrival, gets the reward ``new``."""

    observation: int
    new: float


@dataclass(frozen=True)
class Forget:
    """Everything learned along some coordinates is cleared."""

    coordinates: tuple[int, ...]


Event = Update | Advance | Late
Change = Amend | Forget


@dataclass
class History:
    """Every observation with its round, and the clock n."""

    clock: float = 0.0
    steps: int = 0  # changes of the estimate: closed rounds and late rewards
    rounds: list[float] = field(default_factory=list)
    actions: list[Floats] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)

    def apply(self, event: Event | Change) -> None:
        """Record an event."""
        if isinstance(event, Amend):
            self.rewards[event.observation] = event.new
            return
        if isinstance(event, Forget):
            self.actions = [np.array(action) for action in self.actions]
            for action in self.actions:
                action[list(event.coordinates)] = 0.0
            return
        if not isinstance(event, Late):
            self.clock += event.rounds if isinstance(event, Advance) else 1.0
            self.steps += 1
        else:
            self.steps += len(event.rewards)
        if isinstance(event, Advance):
            return
        count = len(event.rewards)
        self.actions.extend(event.actions)
        self.rewards.extend(float(r) for r in event.rewards)
        rounds = event.rounds.tolist() if isinstance(event, Late) else [self.clock] * count
        self.rounds.extend(rounds)

    def truth(self, weights: Exact, *, dim: int, ridge: float) -> Truth:
        """The estimate under ``weights``, with μ = λ as in all policies."""
        actions = np.array(self.actions).reshape(len(self.rewards), dim)
        return estimate(actions, self.rewards, weights, ridge=ridge, mu=ridge)

    def discounted(self, gamma: float) -> Exact:
        """Weights γ^{n − s}."""
        return exact(gamma) ** (exact(self.clock) - exact(self.rounds))

    def windowed(self, window: float) -> Exact:
        """Weight 1 for the last ``window`` rounds, 0 for earlier ones."""
        return exact(self.clock - np.array(self.rounds, dtype=float) < window)

    def restarted(self, change_points: Sequence[int]) -> Exact:
        """Weight 1 since the last change point up to the open round, 0 before it."""
        start = max((p for p in change_points if p <= self.clock + 1), default=-math.inf)
        return exact(np.array(self.rounds, dtype=float) >= start)

    def undiscounted(self) -> Exact:
        """Weight 1 for all rounds."""
        return np.ones(len(self.rewards), dtype=np.longdouble)


# --- Streams ------------------------------------------------------------------------------------

REGULAR = ("gaussian", "canonical")
DEGENERATE = ("collinear", "repeated", "subspace")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Draws actions and rewards."""

    rng: np.random.Generator
    dim: int
    kind: str
    action_bound: float
    reward_scale: float

    def actions(self, count: int) -> Floats:
        """Rows of norm at most ``action_bound``."""
        rows = self._directions(count)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        lengths = self.rng.uniform(0.2, 1.0, (count, 1)) if self.kind != "repeated" else 1.0
        return np.asarray(self.action_bound * lengths * rows / norms)

    def rewards(self, count: int) -> Floats:
        """Rewards of size ``reward_scale``."""
        return self.reward_scale * self.rng.standard_normal(count)

    def _directions(self, count: int) -> Floats:
        fixed = np.random.default_rng(self.dim).standard_normal((3, self.dim))
        if self.kind == "collinear":
            return self.rng.choice([-1.0, 1.0], (count, 1)) * fixed[:1]
        if self.kind == "repeated":
            return fixed[self.rng.integers(3, size=count)]
        if self.kind == "subspace":
            return self.rng.standard_normal((count, 2)) @ fixed[:2]
        if self.kind == "canonical":
            return np.eye(self.dim)[self.rng.integers(self.dim, size=count)]
        return self.rng.standard_normal((count, self.dim))


def random_events(source: Source, count: int, *, fractional: bool) -> list[Event]:
    """Updates, batches, closed rounds, late and early rewards, in random order."""
    rng, events, clock = source.rng, list[Event](), 0.0
    for _ in range(count):
        kind = rng.choice(["update", "batch", "advance", "late"], p=[0.5, 0.1, 0.2, 0.2])
        size = int(rng.integers(2, 5)) if kind == "batch" else 1
        if kind == "advance":
            passed = float(rng.uniform(0.05, 2.5)) if fractional else float(rng.integers(1, 4))
            events.append(Advance(passed))
            clock += passed
        elif kind == "late":
            size = int(rng.integers(1, 4))
            lowest = max(1.0, clock - 30)
            rounds = (
                rng.uniform(lowest, clock + 1, size)
                if fractional
                else rng.integers(int(lowest), int(clock) + 2, size)
            )
            rows, values = source.actions(size), source.rewards(size)
            events.append(Late(rows, values, np.asarray(rounds, dtype=float)))
        else:
            events.append(Update(source.actions(size), source.rewards(size)))
            clock += 1.0
    return events


def with_changes(source: Source, events: Sequence[Event]) -> list[Event | Change]:
    """``events``, with amended rewards and forgotten coordinates in between."""
    changed, seen = list[Event | Change](), 0
    for event in events:
        while seen > 0 and source.rng.random() < 0.25:
            changed.append(_change(source, seen))
        changed.append(event)
        seen += 0 if isinstance(event, Advance) else len(event.rewards)
    return changed


def _change(source: Source, seen: int) -> Change:
    """A new reward for one of ``seen`` observations, or sometimes forgotten coordinates."""
    if source.rng.random() < 0.8:
        return Amend(int(source.rng.integers(seen)), float(source.rewards(1)[0]))
    some = source.rng.choice(source.dim, size=int(source.rng.integers(1, source.dim + 1)))
    return Forget(tuple(int(i) for i in set(some)))


# --- dLinUCB ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """The constants of dLinUCB."""

    bounds: Bounds
    memory: int = 200
    delta1: float = 0.01
    delta1_tilde: float = 0.002
    delta2: float = 0.01

    @property
    def tolerance(self) -> float:
        """ε = √2 σ erfinv(1 − δ₁), which is the normal quantile at 1 − δ₁/2."""
        return self.bounds.noise * NormalDist().inv_cdf(1 - self.delta1 / 2)


@dataclass
class Model:
    """A LinUCB model of the pool: everything that it learned, and all its failures."""

    settings: PoolSettings
    actions: list[Floats] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)

    def truth(self) -> Truth:
        """The estimate from everything that the model learned."""
        k = self.settings.bounds
        rows = np.array(self.actions).reshape(len(self.rewards), k.dim)
        return estimate(rows, self.rewards, np.ones(len(rows)), ridge=k.ridge, mu=k.ridge)

    def radius(self) -> np.longdouble:
        """β of LinUCB for the number of updates of this model."""
        k = self.settings.bounds
        return per_round_radius(k, mu=k.ridge, weight_squares=len(self.rewards))

    def scores(self, actions: Floats) -> Exact:
        """Upper confidence bounds of this model."""
        return self.truth().scores(actions, self.radius())

    def badness(self) -> float:
        """ê, the mean of the last min(n, τ) failures."""
        recent = self.failures[-self.settings.memory :]
        return sum(recent) / len(recent) if recent else 0.0

    def half_width(self) -> float:
        """C."""
        seen = min(len(self.failures), self.settings.memory)
        return math.sqrt(math.log(1 / self.settings.delta2) / (2 * seen)) if seen else 0.5

    def lower_bound(self) -> float:
        """ê − √(log τ) C."""
        return self.badness() - math.sqrt(math.log(self.settings.memory)) * self.half_width()

    def fails(self, action: Floats, reward: float) -> bool:
        """e, from the estimate before the model learns the reward."""
        truth = self.truth()
        error = abs(exact(action) @ truth.theta - exact(reward))
        width = truth.widths(action[None])[0]
        return bool(error > self.radius() * width + self.settings.tolerance)


@dataclass
class Pool:
    """dLinUCB exactly as in its algorithms; the size of the pool has no limit."""

    settings: PoolSettings
    models: list[Model] = field(default_factory=list)
    detections: list[int] = field(default_factory=list)
    round: int = 1

    def __post_init__(self) -> None:
        self.models.append(Model(self.settings))

    def leader(self) -> Model:
        """The model that chooses; the oldest one if several are equal."""
        return min(self.models, key=Model.lower_bound)

    def learn(self, action: Floats, reward: float) -> None:
        """Close a round."""
        any_good, kept = False, []
        for model in self.models:
            failure = model.fails(action, reward)
            model.failures.append(int(failure))
            if not failure:
                model.actions.append(action)
                model.rewards.append(reward)
            excess = model.badness() - model.half_width()
            good = excess < self.settings.delta1_tilde
            any_good |= good
            if good or excess < self.settings.delta1:
                kept.append(model)
        self.models = kept
        if not any_good:
            self.models.append(Model(self.settings))
            self.detections.append(self.round)
        self.round += 1
