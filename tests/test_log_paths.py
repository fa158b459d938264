"""Paths of the parameter, given a log: compares evidence and draws with their definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from driftbandits.logs import stretches, walks
from driftbandits.logs.posterior import Posterior
from driftbandits.logs.stretches import Stretches
from driftbandits.logs.walks import Walks
from log_worlds import world

Array = Any
BINS, DIM, VARIANCE, START = 5, 2, 0.7, 0.4


class Binned:
    """Rows in bins, and the predictions of a dense Gaussian model for them."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.bin = np.repeat(np.arange(BINS), 4)
        self.vectors = rng.normal(size=(len(self.bin), DIM))
        self.rewards = rng.normal(size=len(self.bin)) + 2.0 * (self.bin > 2) * self.vectors[:, 0]
        groups = [(self.vectors[self.bin == g], self.rewards[self.bin == g]) for g in range(BINS)]
        self.gram = np.array([a.T @ a for a, _ in groups])
        self.moment = np.array([a.T @ r for a, r in groups])

    def evidence(self, among: Array) -> float:
        """Log-density of the rewards, minus the log-density without any parameter.

        ``among`` (G, G) is the covariance of a coordinate of the path, in units of σ².
        """
        noise = VARIANCE * np.eye(len(self.bin))
        spread = VARIANCE * among[np.ix_(self.bin, self.bin)] * (self.vectors @ self.vectors.T)
        return self._density(noise + spread) - self._density(noise)

    def _density(self, covariance: Array) -> float:
        fit = self.rewards @ np.linalg.solve(covariance, self.rewards)
        return float(-0.5 * fit - 0.5 * np.linalg.slogdet(covariance)[1])

    def mean(self, among: Array) -> Array:
        """Posterior mean (G, d) of the path."""
        rows = among[np.ix_(self.bin, self.bin)] * (self.vectors @ self.vectors.T)
        weights = np.linalg.solve(rows + np.eye(len(rows)), self.rewards)
        return among[:, self.bin] @ (weights[:, None] * self.vectors)


def cuttings() -> list[tuple[int, ...]]:
    """All ways to cut the bins into stretches: the bins at which one ends."""
    inner = range(1, BINS)
    return [(*cut, BINS) for k in range(BINS) for cut in combinations(inner, k)]


def stretched(cut: tuple[int, ...], worth: float) -> Array:
    """Covariance of a path with one parameter per stretch."""
    which = np.searchsorted(cut, np.arange(BINS), side="right")
    return (which[:, None] == which) / worth


def walked(order: int, worth: float) -> Array:
    """Covariance of a walk, from its steps."""
    if order == 1:
        steps = [np.ones(BINS) / np.sqrt(START)]
        steps += [(np.arange(BINS) >= g) / np.sqrt(worth * BINS) for g in range(1, BINS)]
        return sum(np.outer(s, s) for s in steps)
    state, out = np.diag([1.0 / START, 1.0 / (worth * BINS**2)]), np.zeros((BINS, BINS))
    move, noise = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 1.5], [1.5, 3.0]])
    for g in range(BINS):
        if g > 0:
            state = move @ state @ move.T + noise / (worth * BINS**3)
        for later in range(g, BINS):
            out[g, later] = out[later, g] = (np.linalg.matrix_power(move, later - g) @ state)[0, 0]
    return out


def chances(jumps: int, hazard: float) -> float:
    return float(jumps * np.log(hazard) + (BINS - 1 - jumps) * np.log1p(-hazard))


def test_evidence_of_stretches_is_the_sum_over_all_cuts() -> None:
    rows = Binned(0)
    hazards = np.minimum(2.0 ** np.arange(-2.0, np.log2(BINS)) / BINS, 0.5)
    terms = [
        rows.evidence(stretched(cut, worth)) + chances(len(cut) - 1, hazard)
        for worth in stretches._WORTH
        for hazard in hazards
        for cut in cuttings()
    ]
    expected = np.logaddexp.reduce(terms) - np.log(len(stretches._WORTH) * len(hazards))
    found = Stretches(rows.gram, rows.moment).given(VARIANCE).evidence
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_evidence_of_walks_is_that_of_all_rows_together(order: int) -> None:
    rows = Binned(1)
    terms = [rows.evidence(walked(order, worth)) for worth in walks._WORTH]
    expected = np.logaddexp.reduce(terms) - np.log(len(terms))
    found = Walks(rows.gram, rows.moment, order=order, start=START).given(VARIANCE).evidence
    assert found == pytest.approx(expected, rel=1e-9)


def mean_of_draws(path: Callable[[np.random.Generator], Array]) -> tuple[Array, Array]:
    generator = np.random.default_rng(2)
    paths = np.array([path(generator) for _ in range(1500)])
    return paths.mean(axis=0), paths.std(axis=0, ddof=1) / np.sqrt(len(paths))


def test_drawn_stretches_have_the_mean_of_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_WORTH", np.array([0.5]))
    rows = Binned(3)
    given = Stretches(rows.gram, rows.moment).given(VARIANCE)
    hazards = np.minimum(2.0 ** np.arange(-2.0, np.log2(BINS)) / BINS, 0.5)
    logs, means = [], []
    for cut in cuttings():
        among = stretched(cut, 0.5)
        logs.append(
            rows.evidence(among)
            + np.logaddexp.reduce([chances(len(cut) - 1, hazard) for hazard in hazards])
        )
        means.append(rows.mean(among))
    weights = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    expected = np.einsum("c,cgd->gd", weights, np.array(means))
    found, error = mean_of_draws(given.path)
    assert np.abs((found - expected) / error).max() < 4.5


@pytest.mark.parametrize("order", [1, 2])
def test_drawn_walks_have_the_mean_of_the_posterior(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "_WORTH", np.array([0.1]))
    rows = Binned(4)
    found, error = mean_of_draws(
        Walks(rows.gram, rows.moment, order=order, start=START).given(VARIANCE).path
    )
    assert np.abs((found - rows.mean(walked(order, 0.1))) / error).max() < 4.5


@pytest.mark.parametrize("kind", ["still", "jump", "rotate"])
def test_drawn_paths_hold_the_truth(kind: str) -> None:
    # Of 6 logs, how often do the middle 90% of 40 draws hold a coordinate of the parameter?
    held = []
    for seed in range(6):
        w = world(kind=kind, rounds=1000, noise=0.5, seed=seed)
        rows, rewards = np.arange(1000), w.frame["reward"].to_numpy()
        played = w.actions[rows, w.frame["chosen"]]
        draws = Posterior(w.actions.reshape(-1, 3), played, rewards).draws(np.random.default_rng(5))
        low, high = np.quantile([next(draws) for _ in range(40)], [0.05, 0.95], axis=0)
        held.append(((low <= w.theta) & (w.theta <= high)).mean())
    # Rows of one stretch are covered or missed together, so logs differ.
    assert np.mean(held) > 0.9 - 4.0 * np.std(held, ddof=1) / np.sqrt(len(held))


def test_open_rewards_and_directions_that_never_occur_change_nothing() -> None:
    w, rows = world(kind="jump", rounds=400, noise=0.3), np.arange(400)
    rewards = w.frame["reward"].to_numpy().copy()
    rewards[::7] = np.nan
    wide = np.concatenate([w.actions, np.zeros((400, 5, 1))], axis=2)
    posterior = Posterior(wide.reshape(-1, 4), wide[rows, w.frame["chosen"]], rewards)
    path = next(posterior.draws(np.random.default_rng(0)))
    assert not path[:, 3].any()
    assert np.mean(np.linalg.norm(path[:, :3] - w.theta, axis=1)) < 0.25


def test_many_rare_actions_are_not_told_apart_by_luck() -> None:
    # All arms have the same click rate. If 30 rates are estimated from 300 rows each, the largest
    # is twice the true rate by luck. The largest rate of a drawn path must be nearer to the truth.
    rng = np.random.default_rng(0)
    chosen, clicks = rng.integers(0, 30, 9000), (rng.random(9000) < 0.01).astype(float)
    rates = [clicks[chosen == k].mean() for k in range(30)]
    assert max(rates) > 0.02
    draws = Posterior(np.eye(30), np.eye(30)[chosen], clicks).draws(rng)
    assert np.mean([next(draws).max() for _ in range(20)]) < 0.5 * (0.01 + max(rates))
