"""D-LogUCB: its definition, and its promises about late and amended clicks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from driftbandits import DLogUCB
from logistic_oracle import LogisticOracle
from oracles import Floats


def unit_rows(rng: np.random.Generator, count: int, dim: int) -> Floats:
    rows = rng.standard_normal((count, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def assert_agrees(policy: DLogUCB, oracle: LogisticOracle, actions: Floats) -> None:
    V, squared, b = oracle.sums()
    np.testing.assert_allclose(policy.design, V.astype(float), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(policy.squared_design, squared.astype(float), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(policy.moment, b.astype(float), rtol=1e-9, atol=1e-12)
    theta, widths = oracle.theta().astype(float), oracle.widths(actions).astype(float)
    np.testing.assert_allclose(policy.theta, theta, rtol=1e-8, atol=1e-10)
    radius = float(oracle.radius(policy.noise, policy.delta, policy.theta_bound))
    assert policy.radius == pytest.approx(radius, rel=1e-9)
    np.testing.assert_allclose(policy.scores(actions), actions @ theta + radius * widths, rtol=1e-8)


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 4),
    gamma=st.sampled_from([0.5, 0.9, 0.995]),
    ridge=st.sampled_from([0.01, 0.5, 3.0]),
    rate=st.sampled_from([0.01, 0.3, 0.5, 0.9]),
)
def test_definition(seed: int, dim: int, gamma: float, ridge: float, rate: float) -> None:
    """Rewards on time, late, in batches, amended, fractional, and outside of [0, 1]."""
    rng = np.random.default_rng(seed)
    policy = DLogUCB(dim=dim, gamma=gamma, ridge=ridge, rate=rate)
    oracle = LogisticOracle(dim=dim, gamma=gamma, ridge=ridge, rate=rate)
    for _ in range(25):
        action = unit_rows(rng, 1, dim)[0]
        reward = float(rng.choice([0.0, 0.0, 1.0, 0.3, 1.7, -2.0]))
        kind = rng.choice(["on time", "late", "silence", "amend"], p=[0.5, 0.2, 0.1, 0.2])
        if kind == "on time":
            oracle.clock += 1.0
            oracle.learn(action, reward, oracle.clock)
            policy.update(action, reward)
        elif kind == "late" and oracle.clock > 0:
            round = float(rng.integers(1, int(oracle.clock) + 1))
            oracle.learn(action, reward, round)
            policy.update(action, reward, round=round)
        elif kind == "silence":
            rounds = float(rng.choice([1.0, 2.5]))
            oracle.clock += rounds
            policy.advance(rounds=rounds)
        elif kind == "amend" and oracle.learned:
            entry = oracle.learned[int(rng.integers(len(oracle.learned)))]
            old, row = float(entry.reward), entry.action.astype(float)
            oracle.amend(row, entry.round, old, 1.0 - old)
            policy.amend(row, round=entry.round, old=old, new=1.0 - old)
    assert_agrees(policy, oracle, unit_rows(rng, 5, dim))


def test_a_rank_one_factor_gives_the_same_estimate() -> None:
    """Between two restorations of λ the factor is updated; the sums contain the faded λ."""
    rng, dim = np.random.default_rng(5), 20
    followed, made = (
        DLogUCB(dim=dim, gamma=1 - 1e-9, ridge=0.3, restore_every=n) for n in (1000, 1)
    )
    for _ in range(200):
        action = unit_rows(rng, 1, dim)[0]
        reward = float(rng.random() < 0.3)
        for policy in (followed, made):
            policy.update(action, reward)
    np.testing.assert_allclose(followed.theta, made.theta, rtol=1e-6, atol=1e-9)


def test_without_drift_it_comes_close_to_the_maximum_of_the_likelihood() -> None:
    """One step per reward loses little: a tenth of the estimate's uncertainty."""
    rng, dim, rate, ridge = np.random.default_rng(3), 4, 0.2, 1.0
    actions = unit_rows(rng, 4000, dim)
    truth = np.array([1.0, -0.5, 0.3, 0.0])
    offset = np.log(rate / (1 - rate))
    clicks = (rng.random(4000) < 1 / (1 + np.exp(-(offset + actions @ truth)))).astype(float)
    policy = DLogUCB(dim=dim, gamma=1 - 1e-9, ridge=ridge, rate=rate)
    for action, click in zip(actions, clicks, strict=True):
        policy.update(action, float(click))

    def loss(theta: Floats) -> float:
        odds = offset + actions @ theta
        return float(ridge * theta @ theta / 2 + np.sum(np.logaddexp(0, odds) - clicks * odds))

    best = minimize(loss, np.zeros(dim), tol=1e-12).x
    gap = policy.theta - best
    distance = float(np.sqrt(gap @ policy.design @ gap))
    assert distance < 0.1 * np.sqrt(dim)
    error = policy.theta - truth
    assert float(np.sqrt(error @ policy.design @ error)) < 4 * np.sqrt(dim)


def test_probabilities_are_click_rates() -> None:
    """One arm at 30%, one at 5%, in turn; means over the last 500 clicks, four standard errors."""
    rng = np.random.default_rng(0)
    policy = DLogUCB(dim=2, gamma=1 - 1 / 1000, rate=0.1)
    rates = np.array([0.3, 0.05])
    for visit in range(6000):
        arm = visit % 2
        policy.update(np.eye(2)[arm], float(rng.random() < rates[arm]))
    # A discounted mean over a memory of m has the variance of m/2 · 2 = m terms; half per arm.
    errors = np.sqrt(rates * (1 - rates) / 1000)
    assert (np.abs(policy.probabilities(np.eye(2)) - rates) < 4 * errors).all()


def test_clicks_that_were_assumed_away_count_when_they_come() -> None:
    """Zeros at once, amended 50 rounds later: nearly the same estimate as with clicks on time."""
    rng = np.random.default_rng(1)
    late, on_time = (DLogUCB(dim=1, gamma=1 - 1 / 2000, rate=0.05) for _ in range(2))
    due: dict[int, int] = {}
    for visit in range(1, 6001):
        click = float(rng.random() < 0.1)
        on_time.update([1.0], click)
        late.update([1.0], 0.0)
        if click:
            due[visit + 50] = visit
        if visit in due:
            late.amend([1.0], round=due[visit], old=0.0, new=1.0)
    expected, got = (policy.probabilities([[1.0]])[0] for policy in (on_time, late))
    # 50 of 2000 rounds still count as zeros.
    assert got == pytest.approx(expected * (1 - 50 / 2000), rel=0.05)


@pytest.mark.parametrize("reward", [1e90, -1e90])
def test_absurd_rewards_leave_a_working_policy(reward: float) -> None:
    policy = DLogUCB(dim=2, gamma=0.99)
    for _ in range(200):
        policy.update([1.0, 0.0], reward)
    assert np.isfinite(policy.theta).all()
    assert 0 < policy.probabilities([[1.0, 0.0]])[0] < 1


def test_a_bad_rate_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rate must lie in \(0, 1\), got 1.0"):
        DLogUCB(dim=2, gamma=0.9, rate=1.0)
