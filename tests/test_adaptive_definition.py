"""AdaptiveLinUCB: compares experts with sums over the whole history."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_oracle import Definition
from adaptive_streams import assert_close, events
from driftbandits.core.linalg import symmetric
from driftbandits.policies.adaptive.linucb import AdaptiveLinUCB
from driftbandits.policies.adaptive.state import (
    AWAITED,
    AWAITED_UNIT,
    CLOSED,
    DELAYS,
    EVIDENCE,
    FALL,
    LEAN,
    LEVELS,
    MOMENT,
    PRECISION,
    RATIO,
    TRACKER_WEIGHT,
    UNIT,
)
from oracles import Advance, Event, Floats, Late, Update
from test_policies_exact import apply


def assert_agrees(policy: AdaptiveLinUCB, truth: Definition, actions: Floats) -> None:
    """Compare the outputs and sums of the policy with the truth."""
    state = policy._state
    assert_close(policy.weights, [e.weight for e in truth.banks[truth.moving]], "weights")
    count = len(truth.banks[0])
    assert_close(policy.memories[:-1], [truth.memory(j) for j in range(count - 1)], "memories")
    for bank in range(2):
        odds = [expert.odds for expert in truth.banks[bank]]
        assert_close(np.log1p(state.facts[bank : 2 * count : 2, EVIDENCE]), np.log1p(odds), "odds")
        for j in range(count):
            row, sums = 2 * j + bank, truth.sums(bank, j)
            unit, inverse = state.facts[row, UNIT], truth.inverse(bank, j)
            assert_close(symmetric(state.grams[row, 0]) / unit, sums[0], "sum of outer products")
            assert_close(state.moments[row, 0] / unit, sums[1], "moment")
            assert_close(state.offsets[row, 0] / unit, sums[2], "offset")
            assert_close(state.inverses[row] * unit, inverse, "inverse")
            assert_close(state.thetas[row], inverse @ sums[1], "theta of an expert")
            assert_close(state.slopes[row], inverse @ sums[2], "slope of an expert")
    assert_close(policy.noise_estimate, math.sqrt(truth.variance), "noise")
    assert_close(state.earlier[0], truth.earlier[0], "theta before the last reward")
    assert_close(
        np.triu(state.earlier[1:]), np.triu(truth.earlier[1]), "inverse before the last reward"
    )
    assert_close(state.counters[[PRECISION, MOMENT]], [truth.precision, truth.moment], "level")
    assert_close(state.counters[RATIO], truth.ratio, "ratio")
    assert_close(state.trackers[:LEVELS, TRACKER_WEIGHT], truth.trust, "trust in running means")
    assert_close(1.0 + state.counters[LEAN], 1.0 + truth.lean, "lean")
    assert_close(np.log(state.counters[FALL]), np.log(truth.fall), "fall")
    assert policy.level_moves == bool(truth.moving)
    assert_close(policy.theta, truth.theta(), "theta")
    x = truth.in_force(truth.moving)
    assert_close(
        policy.widths(actions), truth.curious(actions, truth.widths(actions, x), x), "widths"
    )
    assert_close(policy.scores(actions), truth.scores(actions), "scores")
    assert policy.detections == tuple(truth.detections)
    assert policy.round == truth.clock + 1


def follow(seed: int, dim: int, count: int, *, fractional: bool, noise: float | None) -> Definition:
    """Play a stream, and compare after its events."""
    rng = np.random.default_rng(seed)
    policy, truth = AdaptiveLinUCB(dim=dim, noise=noise), Definition(dim, noise)
    probes = rng.standard_normal((5, dim)) / (3 * dim)
    for step, event in enumerate(events(rng, dim, count, fractional=fractional), start=1):
        apply(policy, event)
        truth.apply(event)
        if step % 10 == 0 or step == count:
            assert_agrees(policy, truth, probes)
        elif truth.place() < 1:
            assert_close(policy.scores(probes), truth.scores(probes), "scores")
    return truth


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 6),
    count=st.integers(1, 90),
    fractional=st.booleans(),
    noise=st.sampled_from([None, 0.1, 2.0]),
)
def test_the_definition(
    seed: int, dim: int, count: int, fractional: bool, noise: float | None
) -> None:
    follow(seed, dim, count, fractional=fractional, noise=noise)


@pytest.mark.parametrize(("dim", "fractional"), [(1, False), (2, False), (2, True), (3, False)])
def test_the_definition_with_experts_that_start_again(dim: int, fractional: bool) -> None:
    truth = follow(dim, dim, 160, fractional=fractional, noise=None)
    assert truth.overwritten >= 3


def test_the_definition_with_outliers_on_both_sides() -> None:
    policy, truth, rng = AdaptiveLinUCB(dim=2), Definition(2), np.random.default_rng(0)
    for t in range(120):
        action = rng.uniform(-0.7, 0.7, (1, 2))
        outlier = 8.0 * (-1) ** (t // 6) if t % 6 == 5 else 0.0
        event = Update(action, action[:, 0] + 0.2 * rng.standard_normal(1) + outlier)
        apply(policy, event)
        truth.apply(event)
        if t % 10 == 9:
            assert_agrees(policy, truth, rng.uniform(-0.7, 0.7, (4, 2)))
    assert truth.degrees_of_freedom() < 30  # the noise estimate alone has 70


def test_the_definition_in_audits() -> None:
    """Three arms; two of them are played only in the first rounds."""
    policy, truth, rng = AdaptiveLinUCB(dim=3), Definition(3), np.random.default_rng(1)
    arms, audits = np.eye(3), 0
    for t in range(200):
        arm = t % 3 if t < 18 else 0
        event = Update(arms[[arm]], [0.5, 0.3, 0.1][arm] + 0.2 * rng.standard_normal(1))
        apply(policy, event)
        truth.apply(event)
        if truth.place() < 1:
            assert_close(policy.scores(arms), truth.scores(arms), "scores")
            audits += truth.decider(arms)[0] < truth.in_force(truth.moving)
    assert audits >= 3


def test_the_definition_with_rewards_out_of_order_under_a_moving_level() -> None:
    """Rewards are up to 700 rounds behind the latest one: the first rounds are out of reach."""
    policy, truth, rng = AdaptiveLinUCB(dim=2), Definition(2), np.random.default_rng(3)

    def play(event: Event) -> None:
        apply(policy, event)
        truth.apply(event)

    def reward(action: Floats, round: float) -> Floats:
        noise = 0.2 * rng.standard_normal(1)
        return np.asarray(action @ [1.0, -1.0] + 3 * np.sin(round / 7) + noise)

    for start in (1, 300, 640):
        play(Advance(start - truth.clock))
        for _ in range(60):
            action = rng.uniform(-1, 1, (1, 2))
            play(Update(action, reward(action, truth.clock + 1)))
            late, before = rng.uniform(-1, 1, (1, 2)), float(rng.integers(1, int(truth.clock) + 1))
            play(Late(late, reward(late, before), np.array([before])))
        assert_agrees(policy, truth, rng.uniform(-1, 1, (4, 2)))
    assert truth.moving
    assert sum(seen.x is None for seen in truth.seen) > 5


@pytest.mark.parametrize(("level", "dim"), [(0.0, 1), (0.0, 2), (0.0, 4), (3.0, 3)])
def test_the_definition_with_rewards_on_their_way(level: float, dim: int) -> None:
    """Rewards come at once, later, in the open round, or never; decisions close 1 or 3 rounds."""
    policy, truth, rng = AdaptiveLinUCB(dim=dim), Definition(dim), np.random.default_rng(dim)
    waiting: list[tuple[float, Floats]] = []
    most = 0.0
    for t in range(150):
        actions = np.eye(dim)[rng.permutation(dim)] * rng.uniform(0.2, 1.0, (dim, 1))
        assert_close(policy.scores(actions), truth.scores(actions), "scores")
        most = max(most, sum(w for _, w in truth.awaited))
        rounds = 3.0 if t % 8 == 5 else 1.0
        decision = policy.decide(actions, rounds=rounds)
        truth.decide(actions[decision.index], rounds)
        if rng.uniform() < 0.8:
            waiting.append((decision.round, actions[decision.index]))
        if t % 25 == 12 and policy.round % 1 == 0:
            waiting.append((policy.round, actions[0]))
        while waiting and (t >= 100 or rng.uniform() < 0.45):
            closed, action = waiting.pop(int(rng.integers(len(waiting))))
            reward = action.sum() + level * np.sin(closed / 5) + 0.1 * rng.standard_normal()
            event = Late(action[None], np.array([reward]), np.array([closed]))
            apply(policy, event)
            truth.apply(event)
        if t % 40 == 20:
            apply(policy, Advance(2.5))
            truth.apply(Advance(2.5))
        if t % 10 == 9:
            assert_agrees(policy, truth, rng.standard_normal((4, dim)))
    assert truth.moving or level == 0
    assert most > 3


def test_rewards_that_come_at_once_are_not_awaited() -> None:
    """`decide` and a late `update` of the same round equal `select` and `update`, to the bit."""
    late, on_time = AdaptiveLinUCB(dim=3), AdaptiveLinUCB(dim=3)
    rng = np.random.default_rng(0)
    for _ in range(100):
        actions = rng.standard_normal((4, 3))
        decision, chosen = late.decide(actions), on_time.select(actions)
        assert decision.index == chosen
        reward = float(actions[chosen].sum() + rng.standard_normal())
        late.update(actions[chosen], reward, round=decision.round)
        on_time.update(actions[chosen], reward)
        late.scores(actions)
        on_time.scores(actions)
    expected = on_time.state()
    for name, array in late.state().items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_a_reward_of_the_last_decision_comes_at_once_however_long_its_round() -> None:
    quick, slow, arms = AdaptiveLinUCB(dim=2), AdaptiveLinUCB(dim=2), np.eye(2)
    for t in range(30):
        for policy, rounds in ((quick, 1), (slow, 24)):
            decision = policy.decide(arms, rounds=rounds)
            policy.update(arms[decision.index], float(t % 3), round=decision.round)
    for policy in (quick, slow):
        assert not policy.state()["awaited"].any()
        assert policy.state()["counters"][[DELAYS, AWAITED, CLOSED]].tolist() == [0, 0, 0]


def waiting_policy(rounds: int, dim: int, coordinates: int) -> AdaptiveLinUCB:
    """A policy that chooses among arms; rewards are five rounds late."""
    policy, arms, chosen = AdaptiveLinUCB(dim=dim, coordinates=coordinates), np.eye(3, dim), []
    for t in range(rounds):
        chosen.append(policy.decide(arms).index)
        if t >= 5:
            reward = chosen[t - 5] + np.sin(t)
            policy.update(arms[chosen[t - 5]], reward, round=t - 4)
    return policy


def test_the_expected_number_of_rewards_is_the_weight_of_their_actions() -> None:
    """Also after the unit of the sums has been reset (every 500 rounds or so)."""
    for rounds in range(8, 1200, 37):
        state = waiting_policy(rounds, 3, 3).state()
        counters, awaited = state["counters"], state["awaited"]
        expected = counters[AWAITED] * counters[AWAITED_UNIT]
        assert 1 < counters[AWAITED] < 6
        np.testing.assert_allclose(np.trace(awaited[:3]), expected, rtol=1e-12)
        np.testing.assert_allclose(awaited[3].sum(), expected, rtol=1e-12)


def test_a_widened_policy_still_awaits_its_rewards() -> None:
    wider, wide = waiting_policy(40, 3, 5).widened(dim=5), waiting_policy(40, 5, 5)
    actions = np.random.default_rng(1).standard_normal((6, 5))
    for _ in range(3):
        assert_close(wider.scores(actions), wide.scores(actions), "scores")
        for policy in (wider, wide):
            policy.advance()


def test_a_forgotten_coordinate_is_not_awaited() -> None:
    policy, arm = waiting_policy(40, 3, 3), np.eye(3)[[1]]
    policy.decide(arm)
    policy.select(arm)
    before = policy.state()
    policy.forget([1])
    after = policy.state()
    assert before["awaited"][:, 1].any()
    assert before["chosen"][:, 1].all()
    for sums in (after["awaited"][1], after["awaited"][:, 1], after["chosen"][:, 1]):
        assert not sums.any()


def test_a_reward_of_the_open_round_is_not_awaited_after_it() -> None:
    policy = waiting_policy(40, 3, 3)
    decision = policy.decide(np.eye(3), rounds=0)
    policy.update(np.eye(3)[decision.index], 1.0, round=decision.round)
    policy.advance()
    assert policy.state()["counters"][CLOSED] == 0


def test_a_reward_of_another_fraction_of_a_round_is_another_one() -> None:
    policy = waiting_policy(40, 3, 3)
    first, second = (policy.decide(np.eye(3), rounds=0.25) for _ in range(2))
    policy.update(np.eye(3)[first.index], 1.0, round=first.round)
    assert policy.state()["counters"][CLOSED] == 1
    policy.update(np.eye(3)[second.index], 1.0, round=second.round)
    assert policy.state()["counters"][CLOSED] == 0


def test_after_a_long_silence_nothing_is_awaited() -> None:
    policy, actions = AdaptiveLinUCB(dim=2), np.eye(2)
    for t in range(40):
        decision = policy.decide(actions)
        if t > 20:
            policy.update(actions[decision.index], 1.0, round=t - 10)
    assert policy.state()["awaited"].any()
    policy.advance(rounds=10_000)
    assert not policy.state()["awaited"].any()
    assert np.isfinite(policy.scores(actions)).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("longer", [1e2, 1e3, 1e9, 1e18])
@pytest.mark.parametrize("noise", [None, 1e-6])
def test_actions_on_their_way_may_be_much_longer_than_those_before(
    scale: float, longer: float, noise: float | None
) -> None:
    actions = scale * np.random.default_rng(0).standard_normal((4, 6))
    policy = AdaptiveLinUCB(dim=6, noise=noise)
    first = policy.decide(actions)
    policy.advance(rounds=3)
    policy.update(actions[first.index], 1.0, round=first.round)
    unaware = policy.copy()
    for action in actions[:2]:
        policy.decide(longer * action[None])
    unaware.advance(rounds=2)
    widths, before = policy.widths(longer * actions), unaware.widths(longer * actions)
    assert np.isfinite(widths).all()
    assert (widths <= before * (1 + 1e-6)).all()
    assert np.isfinite(policy.decide(longer * actions).scores).all()
