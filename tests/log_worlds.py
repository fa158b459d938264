"""Logs with known truth: with and without drift, from uniform and adaptive loggers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Array = Any


@dataclass(frozen=True)
class World:
    """A log, and facts that are not in the log: the parameters and the value of a policy."""

    frame: pd.DataFrame
    actions: Array  # (n, K, d)
    theta: Array  # (n, d)
    propensities: Array  # (n, K)

    @property
    def means(self) -> Array:
        """Expected rewards of all actions (n, K)."""
        return np.einsum("nkd,nd->nk", self.actions, self.theta)


def path(kind: str, rounds: int, dim: int, rng: np.random.Generator, size: float) -> Array:
    """Parameters (n, d): constant, one jump in the middle, or a steady rotation in a plane."""
    start = rng.normal(size=dim)
    start *= size / np.linalg.norm(start)
    if kind == "still":
        return np.tile(start, (rounds, 1))
    if kind == "jump":
        out = np.tile(start, (rounds, 1))
        out[rounds // 2 :] *= -1.0
        return out
    angle = np.linspace(0.0, 2.0 * np.pi, rounds)
    out = np.zeros((rounds, dim))
    out[:, 0], out[:, 1] = size * np.cos(angle), size * np.sin(angle)
    return out


def world(
    *,
    kind: str = "still",
    logger: str = "uniform",
    rounds: int = 1000,
    dim: int = 3,
    arms: int = 5,
    clicks: bool = False,
    noise: float = 1.0,
    size: float = 1.0,
    delay: float = 0.0,
    step: float = 3600.0,
    explore: float = 0.2,
    level: Array | float = 0.0,
    seed: int = 0,
) -> World:
    """A log of ``rounds`` decisions, one every ``step`` seconds.

    The adaptive logger is ε-greedy on a ridge regression of all rounds so far, so its propensities
    are exact. The means of clicks are those of the linear model, moved into (0, 1).
    """
    rng = np.random.default_rng([seed, 7])
    actions = rng.normal(size=(rounds, arms, dim)) / np.sqrt(dim)
    theta = path(kind, rounds, dim, rng, size)
    means = np.einsum("nkd,nd->nk", actions, theta) + np.broadcast_to(level, rounds)[:, None]
    if clicks:
        actions = np.clip(actions, -1.0, 1.0)
        actions = np.concatenate([actions, np.ones((rounds, arms, 1))], axis=2)
        theta = np.concatenate([0.1 * theta, np.full((rounds, 1), 0.4)], axis=1)
        means = np.einsum("nkd,nd->nk", actions, theta)
        assert means.min() > 0
        assert means.max() < 1
        noise_draws = rng.random(rounds)
    else:
        noise_draws = noise * rng.normal(size=rounds)
    gram, moment = np.eye(actions.shape[2]), np.zeros(actions.shape[2])
    chosen, reward = np.empty(rounds, dtype=int), np.empty(rounds)
    probabilities = np.empty((rounds, arms))
    for t in range(rounds):
        p = np.full(arms, 1.0 / arms)
        if logger == "adaptive":
            best = int(np.argmax(actions[t] @ np.linalg.solve(gram, moment)))
            p = np.full(arms, explore / arms)
            p[best] += 1.0 - explore
        probabilities[t] = p
        chosen[t] = rng.choice(arms, p=p)
        mean = means[t, chosen[t]]
        reward[t] = float(noise_draws[t] < mean) if clicks else mean + noise_draws[t]
        a = actions[t, chosen[t]]
        gram += np.outer(a, a)
        moment += reward[t] * a
    time = np.arange(rounds) * step
    frame = pd.DataFrame(
        {
            "time": time,
            "actions": [row.tolist() for row in actions],
            "chosen": chosen,
            "propensity": probabilities[np.arange(rounds), chosen],
            "reward": reward,
            "reward_time": time + delay * rng.exponential(size=rounds),
        }
    )
    return World(frame, actions, theta, probabilities)
