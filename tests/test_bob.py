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
    """BOB by the letter: EXP3 over windows or discounts, from the rewards of whole blocks."""

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
