"""Rewards that are assumed, amended, and judged when they are settled."""

from __future__ import annotations

from collections import deque

import numpy as np

from adaptive_streams import assert_close
from driftbandits import AdaptiveLinUCB, Agent, DLinUCB
from driftbandits.agent.open_decisions import OpenDecision
from driftbandits.agent.settling import Settling
from driftbandits.features import Features, PerAction
from driftbandits.policies.adaptive.state import COUNT, EVIDENCE, LEAN, ORIGIN, UNIT, WEIGHT, State
from oracles import Floats


def stream(count: int, *, change: bool = False) -> list[tuple[int, float]]:
    """Arms and rewards; the arms may change half way."""
    rng = np.random.default_rng(3)
    means = np.array([[0.8, 0.2], [-0.9, 1.6] if change else [0.8, 0.2]])
    arms = rng.integers(2, size=count)
    return [
        (int(arm), float(means[2 * t // count, arm] + 0.3 * rng.standard_normal()))
        for t, arm in enumerate(arms)
    ]


def test_nothing_is_judged_before_it_is_settled() -> None:
    assumed, arms = AdaptiveLinUCB(dim=2, provisional=True), np.eye(2)
    judged = AdaptiveLinUCB(dim=2)
    for arm, reward in stream(60):
        for policy in (assumed, judged):
            policy.update(arms[arm], reward)
    facts = assumed._state.facts
    assert assumed._state.counters[COUNT] == 0
    assert assumed._state.counters[LEAN] == 0
    assert (facts[:, EVIDENCE] == 1).all()
    assert judged._state.counters[COUNT] > 0
    shares = np.bincount(np.arange(len(facts)) % 2, facts[:, WEIGHT])
    assert_close(shares, np.ones(2), "weights of each bank")
    assert_same_sums(assumed, judged)


def assert_same_sums(policy: AdaptiveLinUCB, other: AdaptiveLinUCB) -> None:
    """Compare the anchored bank, whose sums are exact; rewards are stored minus the first one."""

    def sums(state: State) -> dict[str, Floats]:
        units = state.facts[::2, UNIT]
        offsets = state.offsets[::2, 0] / units[:, None]
        return {
            "grams": state.grams[::2, 0] / units[:, None, None],
            "offsets": offsets,
            "moments": state.moments[::2, 0] / units[:, None] + state.counters[ORIGIN] * offsets,
        }

    truth = sums(other._state)
    for name, mine in sums(policy._state).items():
        assert_close(mine, truth[name], name)


def settled_later(change: bool) -> tuple[AdaptiveLinUCB, AdaptiveLinUCB]:
    """Two runs: a zero is learned and amended at once, or the reward is; later it settles."""
    amended, told = (AdaptiveLinUCB(dim=2, provisional=True) for _ in range(2))
    arms, waiting = np.eye(2), deque[tuple[int, int, float]]()
    for t, (arm, reward) in enumerate(stream(200, change=change), start=1):
        amended.update(arms[arm], 0.0)
        amended.amend(arms[arm], round=t, old=0.0, new=reward)
        told.update(arms[arm], reward)
        waiting.append((t, arm, reward))
        if len(waiting) > 5:
            since, which, final = waiting.popleft()
            for policy in (amended, told):
                policy.amend(arms[which], round=since, old=final, new=final)
    return amended, told


def test_amended_and_settled_is_as_if_the_last_reward_had_been_assumed() -> None:
    amended, told = settled_later(change=False)
    assert not amended.detections
    assert not told.detections
    assert_same_sums(amended, told)
    assert amended._state.counters[COUNT] == told._state.counters[COUNT] > 50


def test_a_change_is_seen_through_settled_rewards_alone() -> None:
    for policy in settled_later(change=True):
        assert 100 < policy.detections[0] < 130


def test_delays_decide_when_decisions_are_settled() -> None:
    """After three mean delays; at the deadline if there was no reward yet; never later."""
    policy = AdaptiveLinUCB(dim=1, provisional=True)
    settling = Settling(wait=10.0, provisional=True)

    def settled(made: list[float], now: float) -> list[bool]:
        rows = [
            OpenDecision(id="d", action="a", row=np.ones(1), round=1.0, deadline=time + 10.0)
            for time in made
        ]
        for row in rows:
            row.learned = 0.0
        settling.add(rows)
        settling.settle_due(policy, now)
        return [row.settled for row in rows]

    policy.update([1.0], 0.0)
    assert settled([0.0, 0.5], now=9.9) == [False, False]
    assert settled([], now=10.5) == []
    late = OpenDecision(id="d", action="a", row=np.ones(1), round=1.0, deadline=20.0)
    settling.rewarded(late, now=12.0)  # two units after the decision
    assert settled([11.0, 12.5], now=18.0) == [True, False]
    settling.rewarded(late, now=30.0)  # now the mean is eleven, above the wait
    assert settled([14.0], now=23.9) == [False]
    assert settled([15.0], now=24.5) == [False]


def test_the_agent_makes_rewards_provisional_where_it_assumes_them() -> None:
    features = Features(per_action=PerAction(slots=2))
    policy = AdaptiveLinUCB(dim=features.dim)

    def agent(rule: str) -> Agent:
        return Agent(features=features, policy=policy, wait=5.0, rule=rule)  # type: ignore[arg-type]

    assert agent("assume").policy.provisional_rewards
    assert not agent("wait").policy.provisional_rewards
    assert not agent("hold").policy.provisional_rewards
    fixed = DLinUCB(dim=2, gamma=0.9)
    assert fixed.with_provisional_rewards(True) is fixed
    assert policy.with_provisional_rewards(False) is policy


def test_rewards_at_once_are_judged_at_once() -> None:
    """Also rewards that arrive at the very time of the decision."""
    features = Features(per_action=PerAction(slots=2))
    agent = Agent(features=features, policy=AdaptiveLinUCB(dim=features.dim), wait=1000.0)
    for t in range(100):
        choice = agent.decide({}, ["a", "b"], now=float(t))
        agent.reward(choice.id, float(t % 2), now=float(t))
    settled = [entry.settled for entry in agent._life.open]
    assert settled == [True] * 99 + [False]


def test_a_saved_agent_settles_as_if_it_had_never_stopped() -> None:
    features = Features(per_action=PerAction(slots=2))
    rng = np.random.default_rng(0)

    def play(agent: Agent, start: int, stop: int) -> None:
        for t in range(start, stop):
            choice = agent.decide({}, ["a", "b"], now=float(t))
            if rng.random() < 0.5:
                agent.reward(choice.id, 1.0, now=t + 0.5)

    agent = Agent(features=features, policy=AdaptiveLinUCB(dim=features.dim), wait=7.0)
    play(agent, 0, 40)
    twin = Agent.from_bytes(agent.to_bytes())
    place = rng.bit_generator.state
    play(agent, 40, 90)
    rng.bit_generator.state = place
    play(twin, 40, 90)
    assert agent.to_bytes() == twin.to_bytes()
