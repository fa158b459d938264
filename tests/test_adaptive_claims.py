"""Tests the claims that docs/explanation/adaptive.md proves, with numpy only."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB
from oracles import Floats

FALSE_ALARMS = AdaptiveLinUCB(dim=1).false_alarms
GOLDEN = (math.sqrt(5) - 1) / 2


def fixed_share_loss(gains: Floats, prior: Floats) -> float:
    """−Σ log Σ_j w_j e^{gain_j} over the rounds of ``gains`` (T, J); shares h = 1/(N + 1)."""
    w, loss = prior.copy(), 0.0
    for count, gain in enumerate(gains, start=1):
        mixed = w * np.exp(gain)
        loss -= math.log(mixed.sum())
        share = 1 / (count + 1)
        w = (1 - share) * mixed / mixed.sum() + share * prior
    return loss


def best_losses(gains: Floats, switches: int) -> Floats:
    """Smallest loss of a sequence of experts with at most k switches, k = 0, …, ``switches``."""
    best = np.zeros((switches + 1, gains.shape[1]))
    for t, gain in enumerate(gains):
        if t:
            changed = np.vstack(
                [
                    np.full(gains.shape[1], np.inf),
                    np.full_like(best[1:], best[:-1].min(axis=1, keepdims=True)),
                ]
            )
            best = np.minimum(best, changed)
        best = best - gain
    return np.asarray(np.minimum.accumulate(best.min(axis=1)))


@pytest.mark.parametrize("seed", range(20))
def test_claim_1_the_mixture_against_the_best_sequence(seed: int) -> None:
    """Loss ≤ loss of any k switches + (k + 1)(log(N + 1) + log(1/π)), for any data."""
    rng = np.random.default_rng(seed)
    rounds, count = int(rng.integers(1, 80)), int(rng.integers(2, 6))
    prior = rng.dirichlet(np.ones(count)) * 0.9 + 0.1 / count
    # The hardest data for a mixture: one expert gains at a time, and it changes in jumps.
    leader = rng.integers(count, size=rounds)[np.sort(rng.integers(rounds, size=rounds))]
    gains = -rng.exponential(1.0, (rounds, count)) * 10 ** rng.uniform(-1, 2)
    gains[np.arange(rounds), leader] = 0.0
    loss = fixed_share_loss(gains, prior)
    price = math.log(rounds + 1) + math.log(1 / prior.min())
    k = np.arange(rounds)
    assert (loss <= best_losses(gains, rounds - 1) + (k + 1) * price + 1e-9).all()


def overwritings(rng: np.random.Generator, rounds: int, runs: int, rewards: int) -> Floats:
    """Number of crossings of log(n/α) by max(0, G + log-ratio), which then restarts; (runs,).

    The expert's law, N(0, 1), is true. The shorter experts predict N(m, 1), with an m that depends
    on the past. When the evidence suffices they agree with the expert, so that the evidence stays
    until the round closes. Each round has ``rewards`` rewards.
    """
    evidence, count = np.zeros(runs), np.zeros(runs)
    for n in range(1, rounds + 1):
        limit = math.log(n / FALSE_ALARMS)
        for _ in range(rewards):
            m = rng.choice([0.3, 1.0, 2.0, 3.0], runs) * (evidence <= limit)
            x = rng.standard_normal(runs)
            evidence = np.maximum(0.0, evidence + m * x - m**2 / 2)
        crossed = evidence > limit
        count += crossed
        evidence[crossed] = 0.0
    return count


def test_claim_2_a_true_expert_is_seldom_overwritten() -> None:
    """At most α(1 + log T) times on average, if each round has one reward."""
    rounds, runs = 400, 4000
    count = overwritings(np.random.default_rng(0), rounds, runs, 1)
    limit = FALSE_ALARMS * (1 + math.log(rounds))
    assert count.mean() <= limit + 3 * count.std() / math.sqrt(runs)
    # The bound is not vacuous: the true number is within a constant factor of it.
    assert count.mean() > limit / 20


def test_claim_2_needs_one_reward_per_round() -> None:
    """The limit grows with rounds, so with many rewards per round false alarms exceed the bound."""
    rounds, runs = 60, 400
    count = overwritings(np.random.default_rng(1), rounds, runs, 60)
    limit = FALSE_ALARMS * (1 + math.log(rounds))
    assert count.mean() > limit + 3 * count.std() / math.sqrt(runs)


def test_claim_3_audits_are_at_most_19_rounds_apart() -> None:
    """One per 10 rounds: at most from the first place of one stretch to the last of the next."""
    k = np.arange(2**20, dtype=float)
    turned = k * k * GOLDEN
    rounds = 10 * k + np.floor(10 * (turned - np.floor(turned)))
    assert np.diff(rounds).max() == 19
    assert np.diff(rounds).min() == 1


@pytest.mark.parametrize("sigma", [0.0001, 0.001, 0.01])
def test_claim_3_no_ridge_keeps_an_arm_from_being_tried_again(sigma: float) -> None:
    """Two arms, gap 0.5, 50 to 5000 times the noise: the worse arm is tried again and again."""
    rng, policy, tried = np.random.default_rng(5), AdaptiveLinUCB(dim=2), []
    for t in range(1, 6001):
        chosen = policy.select(np.eye(2))
        policy.update(np.eye(2)[chosen], [1.0, 0.5][chosen] + sigma * rng.standard_normal())
        if chosen == 1:
            tried.append(t)
    assert max(tried) > 5000
    assert np.diff(tried).max() < 1500
    assert len(tried) < 300
