"""D-LogUCB from its definition: the whole history, in extended precision, with numpy only.

To learn a reward, damped Newton steps minimise ½ ‖θ − θ̂‖²_V + γ^age ℓ(θ) in all d dimensions.
V and b are sums over everything learned so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles import Exact, exact, log_determinant, solve


@dataclass
class Learned:
    """A reward, and the log odds (without the offset) around which its loss was expanded."""

    action: Exact
    reward: np.longdouble
    round: float
    odds: np.longdouble


@dataclass
class LogisticOracle:
    """Everything that was learned; ``clock`` counts closed rounds."""

    dim: int
    gamma: float
    ridge: float
    rate: float
    limit: float = 15.0
    clock: float = 0.0
    learned: list[Learned] = field(default_factory=list)

    @property
    def offset(self) -> np.longdouble:
        rate = exact(self.rate)
        return np.longdouble(np.log(rate / (1 - rate)))

    def learn(self, action: Any, reward: float, round: float) -> None:
        """Learn a reward."""
        a, r = exact(action), np.longdouble(min(max(reward, 0.0), 1.0))
        weight = exact(self.gamma) ** (self.clock - round)
        odds = a @ self._minimiser(a, r, weight)
        odds = np.clip(odds, -self.limit - self.offset, self.limit - self.offset)
        self.learned.append(Learned(a, r, round, np.longdouble(odds)))

    def amend(self, action: Any, round: float, old: float, new: float) -> None:
        """Replace a learned reward; its loss stays expanded around the same point."""
        for entry in self.learned:
            if entry.round == round and entry.reward == old and (entry.action == action).all():
                entry.reward = np.longdouble(new)
                return
        raise AssertionError("no such observation")

    def _minimiser(self, a: Exact, r: np.longdouble, weight: Any) -> Exact:
        V, _, b = self.sums()
        start = theta = solve(V, b)

        def objective(point: Exact) -> Any:
            odds = self.offset + a @ point
            loss = np.logaddexp(0, odds) - r * odds
            return (point - start) @ V @ (point - start) / 2 + weight * loss

        for _ in range(200):
            mean = 1 / (1 + np.exp(-(self.offset + a @ theta)))
            gradient = V @ (theta - start) + weight * (mean - r) * a
            curved = V + weight * mean * (1 - mean) * np.outer(a, a)
            step = solve(curved, gradient)
            size = np.longdouble(1)
            while size > 1e-6 and objective(theta - size * step) > objective(theta):
                size /= 2
            theta = theta - size * step
            if np.abs(step).max() < 1e-17:
                break
        return theta

    def sums(self) -> tuple[Exact, Exact, Exact]:
        """V, Ṽ and b."""
        identity = np.eye(self.dim, dtype=np.longdouble) * exact(self.ridge)
        V, squared, b = identity.copy(), identity.copy(), np.zeros(self.dim, np.longdouble)
        for entry in self.learned:
            weight = exact(self.gamma) ** (self.clock - entry.round)
            mean = 1 / (1 + np.exp(-(self.offset + entry.odds)))
            curvature, outer = mean * (1 - mean), np.outer(entry.action, entry.action)
            V += weight * curvature * outer
            squared += weight**2 * curvature * outer
            b += weight * (curvature * entry.odds + entry.reward - mean) * entry.action
        return V, squared, b

    def theta(self) -> Exact:
        V, _, b = self.sums()
        return solve(V, b)

    def radius(self, noise: float, delta: float, theta_bound: float) -> Any:
        """√λ S + φ √(2 log(1/δ) + log det Ṽ − d log λ)."""
        ridge = exact(self.ridge)
        volume = log_determinant(self.sums()[1]) - self.dim * np.log(ridge)
        return np.sqrt(ridge) * theta_bound + noise * np.sqrt(2 * np.log(1 / exact(delta)) + volume)

    def widths(self, actions: Any) -> Exact:
        V, squared, _ = self.sums()
        u = solve(V, exact(actions).T)
        return np.sqrt(np.einsum("ik,ij,jk->k", u, squared, u))
