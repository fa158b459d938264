"""The bias of weighted least squares under drift: the published bound and our own.

Everything is computed from the definitions with numpy: θ_t − θ̄_t = V⁻¹ Σ w_s a_s a_sᵀ (θ_t − θ_s).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from oracles import Floats

ROUNDING = 1e-9


def climb(
    ratio: Callable[[Floats], Floats], start: Floats, rng: np.random.Generator, steps: int
) -> float:
    """The largest ``ratio`` that a random uphill search from the rows of ``start`` (n, m) finds."""
    best, value = start.copy(), ratio(start)
    for step in range(steps):
        size = 10 ** rng.uniform(-3, 0.3, (len(best), 1)) * (1 if step % 2 else 3)
        mask = rng.random(best.shape) < rng.uniform(0.1, 1.0)
        proposal = best + size * mask * rng.standard_normal(best.shape)
        reached = ratio(proposal)
        better = reached > value
        best[better], value[better] = proposal[better], reached[better]
    return float(value.max())


def unit_rows(rows: Floats) -> Floats:
    """Rows of norm at most one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0))


@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_the_inequality_against_an_adversary(dim: int, count: int) -> None:
    """Σ w |xᵀV⁻¹a| ≤ √(Σw) ‖x‖_{V⁻¹} for all actions, weights, penalties and directions.

    The search comes within one percent of the bound, so it would refute a smaller constant.
    """

    def ratio(free: Floats) -> Floats:
        actions = free[:, : count * dim].reshape(-1, count, dim)
        direction = free[:, count * dim : (count + 1) * dim]
        weights = np.exp(np.clip(free[:, (count + 1) * dim : -1], -20, 20))
        ridge = np.exp(np.clip(free[:, -1], -12, 5))
        V = np.einsum("ns,nsi,nsj->nij", weights, actions, actions)
        V += ridge[:, None, None] * np.eye(dim)
        image = np.linalg.solve(V, direction[..., None])[..., 0]
        left = (weights * np.abs(np.einsum("nsi,ni->ns", actions, image))).sum(axis=1)
        norm = np.sqrt(np.einsum("ni,ni->n", direction, image))
        return np.asarray(left / (np.sqrt(weights.sum(axis=1)) * norm))

    rng = np.random.default_rng([dim, count])
    start = rng.standard_normal((60, count * dim + dim + count + 1)) * 2
    reached = climb(ratio, start, rng, 400)
    assert 0.99 < reached <= 1 + ROUNDING


def discounted_bias(
    actions: Floats, moves: Floats, gamma: Floats, ridge: Floats
) -> tuple[Floats, Floats]:
    """Σ_t ‖θ_t − θ̄_t‖ and B for paths of ``moves`` (n, T − 1, d), actions (n, T, d)."""
    return _bias(actions, moves, ridge, lambda ages: gamma[:, None] ** ages)


def windowed_bias(
    actions: Floats, moves: Floats, window: int, ridge: Floats
) -> tuple[Floats, Floats]:
    """The same for the last ``window`` rounds."""
    ones = np.ones((len(actions), 1))
    return _bias(actions, moves, ridge, lambda ages: ones * (ages < window))


def _bias(
    actions: Floats, moves: Floats, ridge: Floats, weigh: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    runs, rounds, dim = actions.shape
    theta = np.concatenate([np.zeros((runs, 1, dim)), np.cumsum(moves, axis=1)], axis=1)
    total = np.zeros(runs)
    for t in range(1, rounds):
        weights = weigh(t - 1 - np.arange(t, dtype=float))
        past = actions[:, :t]
        V = np.einsum("ns,nsi,nsj->nij", weights, past, past)
        V += ridge[:, None, None] * np.eye(dim)
        means = np.einsum("nsi,nsi->ns", past, theta[:, t : t + 1] - theta[:, :t])
        pull = np.einsum("ns,ns,nsi->ni", weights, means, past)
        total += np.linalg.norm(np.linalg.solve(V, pull[..., None])[..., 0], axis=1)
    return total, np.linalg.norm(moves, axis=2).sum(axis=1)


@pytest.mark.parametrize(("dim", "rounds"), [(1, 3), (1, 12), (2, 8), (3, 14)])
def test_the_total_bias_of_a_discount_against_an_adversary(dim: int, rounds: int) -> None:
    """Σ_t ‖θ_t − θ̄_t‖ ≤ L B (1 + √γ) / (√λ (1 − γ)^{3/2}), with L = 1."""
    split = rounds * dim

    def ratio(free: Floats) -> Floats:
        gamma = 1 / (1 + np.exp(-np.clip(free[:, -2], -3, 6)))
        ridge = np.exp(np.clip(free[:, -1], -10, 5))
        actions = unit_rows(free[:, :split].reshape(-1, rounds, dim))
        moves = free[:, split:-2].reshape(-1, rounds - 1, dim)
        total, budget = discounted_bias(actions, moves, gamma, ridge)
        limit = budget * (1 + np.sqrt(gamma)) / np.sqrt(ridge * (1 - gamma) ** 3)
        return np.asarray(total / limit)

    rng = np.random.default_rng([dim, rounds])
    start = rng.standard_normal((40, split + (rounds - 1) * dim + 2))
    assert 0.1 < climb(ratio, start, rng, 250) <= 1 + ROUNDING


@pytest.mark.parametrize(("dim", "rounds", "window"), [(1, 5, 1), (1, 12, 4), (2, 10, 5)])
def test_the_total_bias_of_a_window_against_an_adversary(
    dim: int, rounds: int, window: int
) -> None:
    """Σ_t ‖θ_t − θ̄_t‖ ≤ (L B/√λ) (⅔ l^{3/2} + ½ l^{1/2}), with L = 1."""
    split = rounds * dim

    def ratio(free: Floats) -> Floats:
        ridge = np.exp(np.clip(free[:, -1], -10, 5))
        actions = unit_rows(free[:, :split].reshape(-1, rounds, dim))
        moves = free[:, split:-1].reshape(-1, rounds - 1, dim)
        total, budget = windowed_bias(actions, moves, window, ridge)
        limit = budget * (2 / 3 * window**1.5 + math.sqrt(window) / 2) / np.sqrt(ridge)
        return np.asarray(total / limit)

    rng = np.random.default_rng([dim, rounds, window])
    start = rng.standard_normal((40, split + (rounds - 1) * dim + 1))
    assert 0.1 < climb(ratio, start, rng, 250) <= 1 + ROUNDING


@pytest.mark.parametrize("length", [1, 2, 7, 40, 1000, 10**6])
def test_the_sum_of_roots(length: int) -> None:
    """Σ √k ≤ ⅔ l^{3/2} + ½ l^{1/2}: the trapezoid rule lies below a concave function."""
    total = np.sqrt(np.arange(1.0, length + 1)).sum()
    assert total <= (2 / 3 * length**1.5 + math.sqrt(length) / 2) * (1 + 1e-12)


def single_bias(actions: Floats, moves: Floats, window: int, ridge: float) -> float:
    """‖θ_t − θ̄_t‖ of the last round only."""
    whole, _ = windowed_bias(actions[None], moves[None], window, np.array([ridge]))
    before, _ = windowed_bias(actions[None, :-1], moves[None, :-1], window, np.array([ridge]))
    return float(whole[0] - before[0])


def test_erratum_2_the_bias_can_exceed_the_drift() -> None:
    """Published: ‖θ_t − θ̄_t‖ ≤ Σ ‖θ_{p+1} − θ_p‖ over the window. Here it is 1.6 times that."""
    actions = np.array([[0.6, 0.8]] + [[0.0, 1.0]] * 101)
    moves = np.zeros((101, 2))
    moves[0] = [0.6, 0.8]
    assert single_bias(actions, moves, 200, 0.01) > 1.6


def test_erratum_2_canonical_actions_keep_the_published_bias() -> None:
    """V is diagonal, so no path and no order of play has a bias above the drift."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        dim, rounds, window = (int(rng.integers(low, 15)) for low in (1, 2, 1))
        actions = np.eye(dim)[rng.integers(dim, size=rounds)] * rng.choice([-1, 1], (rounds, 1))
        moves = rng.standard_normal((rounds - 1, dim)) * (rng.random((rounds - 1, 1)) < 0.4)
        first = max(0, rounds - 1 - window)
        drift = np.linalg.norm(moves[first:], axis=1).sum()
        bias = single_bias(actions, moves, window, 10 ** rng.uniform(-6, 2))
        assert bias <= drift * (1 + ROUNDING)


def test_erratum_2_no_bias_far_from_changes() -> None:
    """Once the window has passed a change, the bias is zero, however large the change was."""
    rng = np.random.default_rng(3)
    actions = unit_rows(rng.standard_normal((30, 3)))
    moves = np.zeros((29, 3))
    moves[9] = [5.0, -7.0, 2.0]  # θ of rounds 11 to 30 is the new one
    for rounds in range(12, 31):
        bias = single_bias(actions[:rounds], moves[: rounds - 1], 8, 0.1)
        assert (bias < 1e-12) == (rounds > 18)
