"""BOB against its definition, and rewards that come late in a block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import oracles
from draws import Stream, some_actions
from driftbandits.policies.bob.policy import BOB
from oracles import Bounds, Exact, Floats, exact


class BanditOverBandit:
    """BOB exactly as defined: EXP3 over windows or discounts, from the rewards of whole blocks."""

    def __init__(self, k: Bounds, horizon: int, over: str, numbers: Stream) -> None:
        self.k, self.over, self.numbers = k, over, numbers
        self.H = max(1, math.floor(k.dim ** (2 / 3) * math.sqrt(horizon)))
        steps = max(1, math.ceil(math.log(self.H)))
        self.J = [math.floor(self.H ** (j / steps) + 1e-9) for j in range(steps + 1)]
        count, blocks = steps + 1, math.ceil(horizon / self.H)
        self.explore = min(1.0, math.sqrt(count * math.log(count) / ((math.e - 1) * blocks)))
        doubt = math.sqrt(self.H * math.log(horizon / math.sqrt(self.H)))
        self.spread = 2 * self.H * k.action_bound * k.theta_bound + 4 * k.noise * doubt
        self.weights = [1.0] * count
        self.actions: list[Floats] = []
        self.rewards: list[float] = []
        self.draw()

    def draw(self) -> None:
        total, count = sum(self.weights), len(self.J)
        self.p = [(1 - self.explore) * w / total + self.explore / count for w in self.weights]
        u = self.numbers.uniform()
        self.j = next((j for j in range(count) if u < sum(self.p[: j + 1])), count - 1)

    def close_round(self, action: Floats, reward: float) -> None:
        self.actions.append(action)
        self.rewards.append(reward)
        if len(self.rewards) < self.H:
            return
        scaled = min(max(0.5 + sum(self.rewards) / self.spread, 0.0), 1.0)
        self.weights[self.j] *= math.exp(self.explore * scaled / (len(self.J) * self.p[self.j]))
        self.actions, self.rewards = [], []
        self.draw()

    def scores(self, actions: Floats) -> Exact:
        k, n, window = self.k, len(self.rewards), self.J[self.j]
        ages = np.arange(n - 1, -1, -1)
        gamma = 1 - 1 / max(window, 2)
        weights = exact(ages < window) if self.over == "windows" else exact(gamma) ** exact(ages)
        rows = np.array(self.actions).reshape(n, k.dim)
        truth = oracles.estimate(rows, self.rewards, weights, ridge=k.ridge, mu=k.ridge)
        if self.over == "windows":
            return truth.scores(actions, oracles.published_window_radius(k, window=window))
        squares = truth.weight_squares
        return truth.scores(
            actions, oracles.per_round_radius(k, mu=k.ridge, weight_squares=squares)
        )


@pytest.mark.parametrize("over", ["windows", "discounts"])
@pytest.mark.parametrize(("dim", "horizon"), [(1, 30), (2, 150), (4, 250)])
def test_bob(over: Any, dim: int, horizon: int) -> None:
    k = Bounds(dim=dim, ridge=0.3, noise=0.4, delta=0.05, theta_bound=1.0, action_bound=1.5)
    policy = BOB(horizon=horizon, over=over, seed=dim, **vars(k))
    truth = BanditOverBandit(k, horizon, over, Stream(policy))
    assert (policy.block, list(policy.windows)) == (truth.H, truth.J)
    rng = np.random.default_rng(dim)
    for _ in range(2 * horizon):
        actions = 1.5 * some_actions(int(rng.integers(1000)) % 4 + 2, dim)
        expected = truth.scores(actions)
        np.testing.assert_allclose(policy.scores(actions), np.asarray(expected, float), rtol=1e-9)
        chosen = policy.select(actions)
        reward = float(actions[chosen, 0] + 0.4 * rng.standard_normal())
        policy.update(actions[chosen], reward)
        truth.close_round(actions[chosen], reward)


@pytest.mark.parametrize("over", ["windows", "discounts"])
def test_the_last_reward_of_a_block_may_come_before_the_next_choice(over: Any) -> None:
    on_time, late = (BOB(dim=2, horizon=60, over=over) for _ in range(2))
    for t in range(200):
        actions = some_actions(4, 2)
        chosen = on_time.select(actions)
        assert late.select(actions) == chosen
        reward = float(actions[chosen, 0] * (1 if t < 100 else -1))
        on_time.update(actions[chosen], reward)
        opened = late.round
        late.advance()
        _ = late.theta, late.radius, late.scores(actions)  # asking changes nothing
        late.update(actions[chosen], reward, round=opened)
    np.testing.assert_array_equal(on_time._state.log_weights, late._state.log_weights)


def test_a_block_without_rewards_teaches_nothing() -> None:
    policy = BOB(dim=2, horizon=60)
    policy.advance(rounds=1000)
    np.testing.assert_array_equal(policy._state.log_weights, np.zeros(len(policy.windows)))


@pytest.mark.parametrize("horizon", [100, 6_000, 10**6])
@pytest.mark.parametrize("dim", [1, 2, 20])
def test_a_reward_beyond_the_scale_has_a_probability_of_at_most_two_in_t(
    dim: int, horizon: int
) -> None:
    """|Ση| over a block is sub-Gaussian: at most ⌊T/H⌋ blocks end, each with 2 exp(−x²/(2Hσ²))."""
    policy = BOB(dim=dim, horizon=horizon, noise=0.7, theta_bound=2.0, action_bound=1.5)
    H, spread = policy.block, policy._make_parameters().spread
    room = spread / 2 - H * 2.0 * 1.5  # beyond what payoffs alone can sum to
    ended = horizon // H
    assert ended * 2 * math.exp(-(room**2) / (2 * H * 0.7**2)) <= 2 / horizon * (1 + 1e-9)
    # With 2 instead of 4 the probability would be larger.
    assert ended * 2 * math.exp(-((room / 2) ** 2) / (2 * H * 0.7**2)) > 2.1 / horizon


def test_the_published_rate_follows_from_that_of_windows() -> None:
    """min over the grid of wB + dT/√w, plus √(T H) for EXP3: at most a constant times the rate.

    The first term is the published bound of SW-LinUCB without its logarithms. The second is the
    bound of EXP3 over T/H blocks with payoffs up to H. The rate of both together is
    d^{2/3} (B + 1)^{1/4} T^{3/4} for every B up to T. The order is attained, so no smaller exponent
    of T is possible.
    """
    ratios = []
    for dim in (1, 3, 10):
        for horizon in (10**4, 10**6, 10**8):
            policy = BOB(dim=dim, horizon=horizon)
            H, grid = policy.block, np.array(policy.windows, dtype=float)
            for budget in np.geomspace(1e-3, horizon, 30):
                windows = (grid * budget + dim * horizon / np.sqrt(grid)).min()
                rate = dim ** (2 / 3) * (budget + 1) ** 0.25 * horizon**0.75
                ratios.append((windows + math.sqrt(horizon * H)) / rate)
    # e from a grid whose members are a factor e apart, 2 from the sum of two terms, 1 from EXP3.
    assert max(ratios) <= 2 * math.e + 1
    still = (10**8 / math.sqrt(BOB(dim=1, horizon=10**8).block)) / 10**6  # B = 0: the window is H
    assert still == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("over", ["windows", "discounts"])
def test_nothing_is_remembered_for_longer_than_a_block(over: Any) -> None:
    """Earlier rounds change nothing in a block: each block begins like a new policy."""
    policy = BOB(dim=2, horizon=60, over=over)
    rng = np.random.default_rng(1)
    for t in range(4 * policy.block):
        if t % policy.block == 0:
            fresh = BOB(dim=2, horizon=60, over=over)
            np.testing.assert_array_equal(policy.theta, fresh.theta)
            np.testing.assert_allclose(policy.design, fresh.design, rtol=1e-12)
        action = rng.uniform(-0.7, 0.7, 2)
        policy.update(action, float(rng.normal()))
        assert np.trace(policy.design) - 0.2 <= policy.block
