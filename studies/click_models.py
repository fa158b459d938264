"""Clicks at several rates: a linear or a logistic model, and the cost of an agent's rules.

There are eight articles with one coordinate each, or ten fresh actions with ten features each. Log
odds are linear in the features; articles have rates from 0.4 to 1.6 times the mean. Everything is
drawn anew every 4,000 of 12,000 visits, or the parameter turns by half a circle over all visits.
D-LinUCB and D-LogUCB are told a memory of 2,000 visits and the mean rate; AdaptiveLinUCB is told
nothing. The rules are those of `studies.clicks`, on its articles at 2% to 16%.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmarks.measure import Array, Row, Say, mean_and_error

from driftbandits import AdaptiveLinUCB, DLinUCB, DLogUCB, Policy
from driftbandits.core.randomness import stream

from . import clicks

NAME = "click-models"
RATES = (0.01, 0.05, 0.2, 0.5)
VISITS, SEGMENT, MEMORY, REPLICATIONS = 12_000, 4_000, 2_000, 10
SEED = 0


class World(NamedTuple):
    """One replication."""

    actions: Array  # (T, K, d), or (1, K, d) if they never change
    rates: Array  # (T, K)
    clicks: Array  # (T, K)


def articles(rate: float, replication: int, visits: int) -> World:
    """One coordinate per article."""
    rng = stream(SEED, NAME, "articles", replication)
    levels = np.linspace(0.4, 1.6, 8) * rate
    orders = [rng.permutation(levels) for _ in range(-(-visits // SEGMENT))]
    rates = np.repeat(orders, SEGMENT, axis=0)[:visits]
    return World(np.eye(8)[None], rates, (rng.random(rates.shape) < rates).astype(float))


def features(rate: float, replication: int, visits: int) -> World:
    """Log odds linear in ten features, with a jumping parameter of norm 3."""
    rng = stream(SEED, NAME, "features", replication)
    thetas = rng.standard_normal((-(-visits // SEGMENT), 10))
    thetas *= 3.0 / np.linalg.norm(thetas, axis=1, keepdims=True)
    return _logistic(rate, np.repeat(thetas, SEGMENT, axis=0)[:visits], rng)


def turning(rate: float, replication: int, visits: int) -> World:
    """Like `features`, but the parameter turns by half a circle."""
    rng = stream(SEED, NAME, "turning", replication)
    first, second = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    angles = np.linspace(0, np.pi, visits)[:, None]
    return _logistic(rate, 3.0 * (np.cos(angles) * first + np.sin(angles) * second), rng)


def _logistic(rate: float, thetas: Array, rng: np.random.Generator) -> World:
    actions = rng.standard_normal((len(thetas), 10, 10))
    actions /= np.linalg.norm(actions, axis=2, keepdims=True)
    odds = np.log(rate / (1 - rate)) + np.einsum("tkd,td->tk", actions, thetas)
    rates = 1 / (1 + np.exp(-odds))
    return World(actions, rates, (rng.random(rates.shape) < rates).astype(float))


WORLDS: dict[str, Callable[[float, int, int], World]] = {
    "articles": articles,
    "features": features,
    "features that turn": turning,
}


def policies(dim: int, rate: float) -> dict[str, Policy]:
    """The policies; a third of the noise level for D-LinUCB is close to D-LogUCB's default."""
    gamma, deviation = 1 - 1 / MEMORY, float(np.sqrt(rate * (1 - rate)))
    return {
        "AdaptiveLinUCB": AdaptiveLinUCB(dim=dim),
        "D-LinUCB": DLinUCB(dim=dim, gamma=gamma, noise=deviation),
        "D-LinUCB, σ/3": DLinUCB(dim=dim, gamma=gamma, noise=deviation / 3, theta_bound=0.1),
        "D-LogUCB": DLogUCB(dim=dim, gamma=gamma, rate=rate),
    }


def play(policy: Policy, world: World) -> float:
    """Regret in clicks, with every click known at once."""
    lost = 0.0
    for visit, (rates, row) in enumerate(zip(world.rates, world.clicks, strict=True)):
        actions = world.actions[min(visit, len(world.actions) - 1)]
        chosen = policy.select(actions)
        policy.update(actions[chosen], float(row[chosen]))
        lost += rates.max() - rates[chosen]
    return float(lost)


RULES = {
    "at once": (clicks.at_once, 0),
    "assumed, 10 visits late": (clicks.amended, 10),
    "assumed, 100 visits late": (clicks.amended, 100),
    "held, 10 visits late": (clicks.held, 10),
    "held, 100 visits late": (clicks.held, 100),
}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Regrets by rate and model, then by rule."""
    replications, visits = (2, 1_500) if quick else (REPLICATIONS, VISITS)
    rows = []

    def note(subject: str, regrets: list[float]) -> None:
        mean, error = mean_and_error(np.array(regrets))
        say(f"{NAME}: {subject}: {mean:.0f} ± {error:.0f} ({replications} replications)")
        rows.append(Row(NAME, subject, "final regret", "", mean, mean - error, mean + error))

    for world, draw in WORLDS.items():
        for rate in RATES:
            drawn = [draw(rate, n, visits) for n in range(replications)]
            for name, policy in policies(drawn[0].actions.shape[2], rate).items():
                note(f"{world} at {rate:.0%}, {name}", [play(policy.fresh(), w) for w in drawn])
    for name, policy in policies(8, 0.09).items():
        for told, (rule, delay) in RULES.items():
            regrets = [
                clicks.play(policy.fresh(), rule, clicks.news(n, visits), delay=delay)
                for n in range(replications)
            ]
            note(f"{name}, {told}", regrets)
    return rows
