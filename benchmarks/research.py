"""The policies as typical research code: one Python call per action, one pseudo-inverse per round.

A yardstick for the simulator. It does the same work per round as the code released with the paper
(YRussac's repository WeightedLinearBandits, D_LinUCB_class.py and simulator_class.py), including
unnecessary work: V⁻¹ Ṽ V⁻¹ is formed for every action, ties are broken by sorting at random, and
expected rewards are computed both before and after the choice.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import NormalDist

import numpy as np

from .measure import Array


class Arm:
    """An action that can be played."""

    def __init__(self, features: Array) -> None:
        self.features = features

    def expected_reward(self, theta: Array) -> float:
        """⟨a, θ⟩."""
        return float(np.dot(self.features, theta))

    def pull(self, theta: Array, noise: float, rng: np.random.Generator) -> float:
        """A noisy reward."""
        return float(rng.normal(self.expected_reward(theta), noise))


def draw_arms(count: int, dim: int, rng: np.random.Generator) -> list[Arm]:
    """Fresh actions, drawn one at a time."""
    arms = []
    for _ in range(count):
        features = rng.uniform(-1, 1, size=dim)
        norm = np.linalg.norm(features)
        if norm > 1:
            features = features / norm
        arms.append(Arm(features))
    return arms


class LinUCB:
    """LinUCB without forgetting."""

    def __init__(self, *, dim: int, ridge: float = 0.1, noise: float = 1.0, delta: float = 0.01):
        self.dim, self.ridge, self.noise, self.delta = dim, ridge, noise, delta
        self.rng = np.random.default_rng(0)
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        self.count = 0
        self.cov: Array = self.ridge * np.identity(self.dim)
        self.invcov: Array = np.identity(self.dim) / self.ridge
        self.b: Array = np.zeros(self.dim)
        self.theta: Array = np.zeros(self.dim)

    def radius(self) -> float:
        """β of the confidence ellipsoid."""
        volume = self.dim * math.log(1 + self.count / (self.ridge * self.dim))
        return math.sqrt(self.ridge) + self.noise * math.sqrt(2 * math.log(1 / self.delta) + volume)

    def width_matrix(self) -> Array:
        """M with width √(aᵀMa)."""
        return self.invcov

    def select_arm(self, arms: list[Arm]) -> int:
        """Index of the arm to play."""
        beta = self.radius()
        ucbs = np.zeros(len(arms))
        for i, arm in enumerate(arms):
            a = arm.features
            image = np.inner(self.width_matrix(), a)
            ucbs[i] = np.dot(self.theta, a) + beta * np.sqrt(np.dot(a, image))
        mixer = self.rng.random(ucbs.size)
        return int(list(np.lexsort((mixer, ucbs)))[::-1][0])

    def update_state(self, a: Array, reward: float) -> None:
        """Learn a reward."""
        self.count += 1
        self.cov = self.cov + np.outer(a, a)
        self.b = self.b + reward * a
        self._refresh()

    def _refresh(self) -> None:
        self.invcov = np.asarray(np.linalg.pinv(self.cov), dtype=np.float64)
        self.theta = np.dot(self.invcov, self.b)


class DLinUCB(LinUCB):
    """Exponential forgetting."""

    def __init__(self, *, gamma: float, dim: int):
        super().__init__(dim=dim)
        self.gamma, self.gamma2_t = gamma, 1.0
        self.cov_squared = self.ridge * np.identity(dim)

    def radius(self) -> float:
        """β of Algorithm 1."""
        squares = (1 - self.gamma2_t) / (1 - self.gamma**2)
        volume = self.dim * math.log(1 + squares / (self.ridge * self.dim))
        return math.sqrt(self.ridge) + self.noise * math.sqrt(2 * math.log(1 / self.delta) + volume)

    def width_matrix(self) -> Array:
        """V⁻¹ Ṽ V⁻¹."""
        product: Array = self.invcov @ self.cov_squared @ self.invcov
        return product

    def update_state(self, a: Array, reward: float) -> None:
        """Learn a reward."""
        gamma, squared, identity = self.gamma, self.gamma**2, np.identity(self.dim)
        aat = np.outer(a, a)
        self.gamma2_t *= squared
        self.cov = gamma * self.cov + aat + (1 - gamma) * self.ridge * identity
        self.cov_squared = squared * self.cov_squared + aat + (1 - squared) * self.ridge * identity
        self.b = gamma * self.b + reward * a
        self._refresh()


class SWLinUCB(LinUCB):
    """A sliding window."""

    def __init__(self, *, window: int, dim: int):
        super().__init__(dim=dim)
        self.window = window
        self.history: deque[tuple[Array, float]] = deque()

    def radius(self) -> float:
        """The published β, constant in time."""
        volume = self.dim * math.log((1 + self.window / self.ridge) / self.delta)
        return math.sqrt(self.ridge) + self.noise * math.sqrt(volume)

    def update_state(self, a: Array, reward: float) -> None:
        """Learn a reward, and remove the oldest."""
        self.history.append((a, reward))
        if len(self.history) > self.window:
            old, old_reward = self.history.popleft()
            self.cov = self.cov - np.outer(old, old)
            self.b = self.b - old_reward * old
        super().update_state(a, reward)


class Candidate(LinUCB):
    """A model of dLinUCB's pool."""

    def __init__(self, *, dim: int, memory: int):
        super().__init__(dim=dim)
        self.failures: deque[float] = deque(maxlen=memory)
        self.badness, self.half_width = 0.0, 0.5

    def failed(self, a: Array, reward: float, tolerance: float) -> bool:
        """Whether the reward lies outside the model's prediction interval."""
        width = np.sqrt(np.dot(a, np.dot(self.invcov, a)))
        return bool(abs(np.dot(self.theta, a) - reward) > self.radius() * width + tolerance)

    def judge(self, failure: bool, delta: float) -> None:
        """Update badness and half-width."""
        self.failures.append(1.0 if failure else 0.0)
        seen = len(self.failures)
        self.badness = sum(self.failures) / seen
        self.half_width = math.sqrt(math.log(1 / delta) / (2 * seen))


class DynamicLinUCB:
    """dLinUCB: a pool of models."""

    def __init__(self, *, dim: int, memory: int = 200, drop: float = 0.01, keep: float = 0.002):
        self.dim, self.memory, self.drop, self.keep = dim, memory, drop, keep
        self.tolerance = NormalDist().inv_cdf(1 - drop / 2)
        self.lead = math.sqrt(math.log(memory))
        self.pool = [Candidate(dim=dim, memory=memory)]

    def select_arm(self, arms: list[Arm]) -> int:
        """The choice of the model with the smallest lower bound on badness."""
        leader = min(self.pool, key=lambda model: model.badness - self.lead * model.half_width)
        return leader.select_arm(arms)

    def update_state(self, a: Array, reward: float) -> None:
        """Update the models; drop the bad ones, and add a new one if none is good."""
        any_good = False
        kept = []
        for model in self.pool:
            failure = model.failed(a, reward, self.tolerance)
            if not failure:
                model.update_state(a, reward)
            model.judge(failure, self.drop)
            good = model.badness < model.half_width + self.keep
            any_good = any_good or good
            if good or model.badness < model.half_width + self.drop:
                kept.append(model)
        self.pool = kept if any_good else [*kept, Candidate(dim=self.dim, memory=self.memory)]


ResearchPolicy = LinUCB | DynamicLinUCB


def play(
    policy: ResearchPolicy,
    thetas: Array,
    *,
    count: int,
    restarts: frozenset[int],
    rng: np.random.Generator,
) -> Array:
    """Play against parameters (T, d), drawing actions and noise; return the regret, (T,)."""
    regret = np.zeros(len(thetas))
    for t, theta in enumerate(thetas):
        if t in restarts and isinstance(policy, LinUCB):
            policy.restart()
        arms = draw_arms(count, len(theta), rng)
        best = max(arm.expected_reward(theta) for arm in arms)
        k = policy.select_arm(arms)
        policy.update_state(arms[k].features, arms[k].pull(theta, 1.0, rng))
        regret[t] = best - [arm.expected_reward(theta) for arm in arms][k]
    return regret
