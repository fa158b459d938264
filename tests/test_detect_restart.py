"""Detect and restart: detections as defined, and forced rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from driftbandits.environments import Block
from driftbandits.policies.dal.policy import DetectRestartLinUCB
from oracles import Bounds, Floats

STRIDE, LEVELS, KEPT = 4, 14, 2


def remembered_splits(n: int) -> Iterator[int]:
    """The last two splits of every level l; they are at odd multiples of 2^l strides."""
    for level in range(LEVELS):
        step = 2**level
        top = level == LEVELS - 1
        every = [k for k in range(step, n // STRIDE + 1, step) if top or (k // step) % 2 == 1]
        yield from every[-KEPT:]


def log_evidence(actions: Floats, rewards: Floats, split: int, k: Bounds) -> float:
    """log E of a split, from the residual sums of squares."""

    def fit(a: Floats, r: Floats) -> tuple[float, float]:
        V = a.T @ a + k.ridge * np.eye(k.dim)
        theta = np.linalg.solve(V, a.T @ r)
        penalised = float(((r - a @ theta) ** 2).sum() + k.ridge * theta @ theta)
        return penalised, float(np.linalg.slogdet(V)[1] - k.dim * math.log(k.ridge))

    pooled, _ = fit(actions, rewards)
    parts = [fit(actions[:split], rewards[:split]), fit(actions[split:], rewards[split:])]
    gained = pooled - k.ridge * k.theta_bound**2 - sum(rss for rss, _ in parts)
    return gained / (2 * k.noise**2) - sum(volume for _, volume in parts) / 2


def detections_by_definition(
    actions: Floats, rewards: Floats, k: Bounds, false_alarm: float
) -> list[int]:
    start, found = 0, []
    for n in range(1, len(rewards) + 1):
        seen = slice(start, n)
        length = n - start
        if length % math.ceil(k.dim / 8):
            continue
        for index in remembered_splits(length - 1):
            threshold = math.log(index * (index + 1) / false_alarm)
            if log_evidence(actions[seen], rewards[seen], index * STRIDE, k) >= threshold:
                found.append(n)
                start = n
                break
    return found


@pytest.mark.parametrize(("dim", "rounds"), [(1, 300), (3, 300), (12, 400)])
def test_detections_by_definition(dim: int, rounds: int) -> None:
    k = Bounds(dim=dim, ridge=0.4, noise=0.3, delta=0.01, theta_bound=1.0, action_bound=1.0)
    policy = DetectRestartLinUCB(false_alarm=0.05, **vars(k))
    rng = np.random.default_rng(dim)
    actions = rng.standard_normal((rounds, dim))
    actions /= np.maximum(np.linalg.norm(actions, axis=1, keepdims=True), 1)
    signs = np.where(np.arange(rounds) * 3 // rounds == 1, -1.0, 1.0)
    rewards = signs * (actions @ np.full(dim, dim**-0.5)) + 0.3 * rng.standard_normal(rounds)
    for action, reward in zip(actions, rewards, strict=True):
        policy.update(action, reward)
    expected = detections_by_definition(actions, rewards, k, 0.05)
    assert len(expected) == 2
    assert list(policy.detections) == expected
    last = slice(expected[-1], rounds)
    V = actions[last].T @ actions[last] + 0.4 * np.eye(dim)
    theta = np.linalg.solve(V, actions[last].T @ rewards[last])
    np.testing.assert_allclose(policy.theta, theta, rtol=1e-8)


def test_the_evidence_is_a_ratio_of_likelihoods() -> None:
    """In d = 1: two mixtures over θ ~ N(0, σ²/λ), over the largest likelihood of one parameter.

    The maximum includes the penalty λ(θ² − S²), which costs nothing for |θ| ≤ S.
    """
    k = Bounds(dim=1, ridge=0.4, noise=0.3, delta=0.01, theta_bound=1.0, action_bound=1.0)
    rng = np.random.default_rng(0)
    actions, rewards = rng.uniform(-1, 1, (20, 1)), rng.standard_normal(20)
    grid = np.linspace(-8, 8, 400_001)
    logs = -((rewards[:, None] - actions * grid) ** 2) / (2 * k.noise**2)
    prior = -(grid**2) * k.ridge / (2 * k.noise**2)
    density = prior - np.log(np.exp(prior).sum())
    mixtures = sum(
        float(np.logaddexp.reduce(logs[part].sum(axis=0) + density))
        for part in (slice(0, 8), slice(8, 20))
    )
    largest = float((logs.sum(axis=0) + prior).max()) + k.ridge / (2 * k.noise**2)
    assert log_evidence(actions, rewards, 8, k) == pytest.approx(mixtures - largest, abs=1e-6)


def test_forced_rounds_are_as_frequent_as_stated() -> None:
    policy = DetectRestartLinUCB(dim=2, exploration=0.2, noise=0.1)
    for _ in range(30):
        policy.update([1.0, 0.0], 1.0)
    actions = np.array([[1.0, 0.0], [-1.0, 0.0]])
    forced = sum(policy.select(actions) for _ in range(20_000)) / 20_000
    assert forced == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / 20_000))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_the_test_needs_a_noise_level(value: float) -> None:
    with pytest.raises(ValueError, match="noise"):
        DetectRestartLinUCB(dim=2, noise=value)


@pytest.mark.parametrize(("dim", "false_alarm"), [(1, 0.1), (2, 0.5)])
def test_alarms_are_false_as_rarely_as_promised(dim: int, false_alarm: float) -> None:
    """A constant parameter with the largest norm: at most a share δ of runs ever restarts."""
    runs, rounds, restarted = 300, 800, 0
    theta = np.zeros(dim)
    theta[0] = 1.0
    for seed in range(runs):
        rng = np.random.default_rng([seed, dim])
        columns = rng.standard_normal((rounds, dim, 4))
        columns /= np.linalg.norm(columns, axis=1, keepdims=True)
        means = np.einsum("i,tik->tk", theta, columns)
        block = Block(
            first=1,
            actions=columns,
            parameters=np.tile(theta, (rounds, 1)),
            means=means,
            best=means.max(axis=1),
            noise=0.5 * rng.standard_normal((rounds, 1)),
            longest=1.0,
        )
        policy = DetectRestartLinUCB(dim=dim, noise=0.5, ridge=1.0, false_alarm=false_alarm)
        policy.play(block, regret=np.empty(rounds))
        restarted += len(policy.detections) > 0
    error = math.sqrt(false_alarm * (1 - false_alarm) / runs)
    assert restarted / runs <= false_alarm + 3 * error
