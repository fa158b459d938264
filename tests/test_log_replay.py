"""Policies on a log: replay on the real clock, exact reruns, and sums in pieces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from studies.log_replay import SETTINGS, outcome, plain_replay, played_live, written

from driftbandits import AdaptiveLinUCB, DLinTS, DLinUCB, LinUCB, Policy, SWLinUCB
from driftbandits.logs import CannotAnswer, Log, Sums
from driftbandits.logs.estimators import FULL
from driftbandits.logs.traffic import lived
from driftbandits.logs.world import last_rows
from log_worlds import World, world

POLICIES: dict[str, Callable[[], Policy]] = {
    "D-LinUCB": lambda: DLinUCB(dim=3, gamma=0.99, noise=0.3, action_bound=9.0),
    "SW-LinUCB": lambda: SWLinUCB(dim=3, window=50, noise=0.3, action_bound=9.0),
    "D-LinTS": lambda: DLinTS(dim=3, gamma=0.99, noise=0.3, action_bound=9.0, seed=3),
    "AdaptiveLinUCB": lambda: AdaptiveLinUCB(dim=3, action_bound=9.0),
}


def live(
    policy: Policy, w: World, seed: int, *, learns: float = 1.0, assume: bool = False
) -> tuple[pd.DataFrame, float]:
    """The log and the mean expected reward of a policy that decides itself.

    Rewards come late. The policy learns from each of its rounds with probability ``learns``. With
    ``assume`` it learns 0 at once, and amends it when the reward comes.
    """
    rng = np.random.default_rng([seed, 11])
    rounds = len(w.frame)
    waiting: list[tuple[float, int, Any, float, float]] = []
    rows, earned = [], 0.0
    for t in range(rounds):
        now = float(w.frame["time"][t])
        waiting.sort(key=lambda entry: entry[:2])
        while waiting and waiting[0][0] <= now:
            _, _, action, reward, of_round = waiting.pop(0)
            _learn(policy, action, reward, of_round, assume)
        actions = np.ascontiguousarray(w.actions[t])
        decision = policy.decide(actions)
        choice, opened = decision.index, decision.round
        if assume:
            policy.update(actions[choice], 0.0, round=opened)
        earned += w.means[t, choice]
        reward = float(w.means[t, choice] + 0.3 * rng.normal())
        arrival = float(w.frame["reward_time"][t])
        if rng.random() < learns:
            waiting.append((arrival, t, actions[choice], reward, opened))
        rows.append((now, actions.tolist(), choice, reward, arrival))
    for _, _, action, reward, of_round in sorted(waiting, key=lambda entry: entry[:2]):
        _learn(policy, action, reward, of_round, assume)
    columns = ["time", "actions", "chosen", "reward", "reward_time"]
    return pd.DataFrame(rows, columns=columns), earned / rounds


def _learn(policy: Policy, action: Any, reward: float, round: float, assumed: bool) -> None:
    if assumed:
        policy.amend(action, round=round, old=0.0, new=reward)
    else:
        policy.update(action, reward, round=round)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("rows", [17, 1000])
@pytest.mark.parametrize("rule", ["wait", "assume"])
def test_a_life_lived_again_has_the_same_bits(name: str, rows: int, rule: str) -> None:
    policy = POLICIES[name]()
    w = world(kind="rotate", rounds=200, delay=20_000.0)
    frame, _ = live(policy, w, 0, assume=rule == "assume")
    again = Log.open(frame, rows=rows).fit(POLICIES[name](), rule=rule)
    for key, array in policy.state().items():
        assert np.array_equal(array, again.state()[key]), key
    assert again.round == policy.round == 201


def test_fit_refuses_what_it_cannot_live() -> None:
    frame = world(rounds=20).frame
    with pytest.raises(ValueError, match="has dim = 2, the log has dim = 3"):
        Log.open(frame).fit(LinUCB(dim=2))
    aggregated = frame.assign(count=2.0)
    with pytest.raises(CannotAnswer, match="one decision per row"):
        Log.open(aggregated).fit(LinUCB(dim=3, action_bound=9.0))


def test_rejected_rows_move_the_clock() -> None:
    w = world(kind="rotate", rounds=400, noise=0.3)
    seen: list[Any] = []

    class Watched(DLinUCB):
        """Remembers the rounds of the rewards that it learns."""

        def update(self, actions: Any, rewards: Any, *, round: Any = None) -> None:
            seen.append(round)
            super().update(actions, rewards, round=round)

    policy = Watched(dim=3, gamma=0.98, noise=0.3, action_bound=9.0)
    found = Log.open(w.frame).replay({"D": policy})
    assert (
        found.acceptance["D"] == len(seen) / 400 or found.acceptance["D"] == (len(seen) + 1) / 400
    )
    # A uniform logger over five actions agrees in a fifth of the rows, within 4 errors of 2%.
    assert abs(found.acceptance["D"] - 0.2) < 0.08
    assert max(seen) > 350  # rounds count all rows of the log, not only accepted rows
    assert policy.round == 1  # the given policy is not changed


def test_replay_is_its_definition() -> None:
    w = world(kind="still", rounds=300, noise=0.3)
    policy = POLICIES["D-LinUCB"]()
    found = Log.open(w.frame).replay({"D": policy}, learn="all")
    twin, weights, rewards = policy.copy(), [], w.frame["reward"].to_numpy()
    for t in range(300):
        actions = np.ascontiguousarray(w.actions[t])
        if t:  # the previous reward came at once
            before = np.ascontiguousarray(w.actions[t - 1, w.frame["chosen"][t - 1]])
            twin.update(before, float(rewards[t - 1]), round=t)
        weights.append(5.0 * (twin.select(actions) == w.frame["chosen"][t]))
        twin.advance()
    expected = np.mean(np.array(weights) * rewards)
    assert found.of("D", "IPS")["estimate"] == pytest.approx(expected, rel=1e-12)


def test_a_reward_changes_nothing_of_a_replay_before_it_came() -> None:
    frame = world(kind="rotate", rounds=600, noise=0.3, delay=40_000.0).frame
    changed = frame.assign(reward=frame["reward"].where(frame.index != 300, 50.0))
    tables = [
        Log.open(one)
        .replay({"D": POLICIES["D-LinUCB"]()}, learn="all", period="100", full_traffic=False)
        .table.set_index(["period", "estimator"])["estimate"]
        for one in (frame, changed)
    ]
    before, after = ([f"{hour} h" for hour in hours] for hours in ((0, 100, 200), (400, 500)))
    assert tables[0].loc[before].equals(tables[1].loc[before])
    assert not tables[0].loc[after].equals(tables[1].loc[after])


@pytest.mark.thorough
def test_replay_is_unbiased_for_what_a_thinned_life_earns() -> None:
    replayed, lived = [], []
    for seed in range(60):
        w = world(kind="rotate", rounds=500, noise=0.3, seed=seed, delay=10_000.0)
        policy = POLICIES["D-LinUCB"]()
        found = Log.open(w.frame).replay({"D": policy}, seed=seed, full_traffic=False)
        replayed.append(found.of("D")["estimate"])
        lived.append(live(policy, w, seed, learns=0.2)[1])
    differences = np.array(replayed) - np.array(lived)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    assert abs(differences.mean()) < 4.0 * error


def test_replay_refuses_tiny_propensities() -> None:
    frame = world(rounds=50).frame
    rare = frame.assign(propensity=np.where(frame.index == 3, 1e-5, 0.2))
    policy = POLICIES["D-LinUCB"]()
    with pytest.raises(CannotAnswer, match="least propensity is 1e-05"):
        Log.open(rare).replay({"D": policy})
    found = Log.open(rare).replay({"D": policy}, share=0.2)
    assert found.acceptance["D"] > 0


def definition(frame: pd.DataFrame, gammas: Any) -> Sums:
    actions = np.array([r[c] for r, c in zip(frame["actions"], frame["chosen"], strict=True)])
    n = len(frame)
    clock = np.arange(1.0, n + 1)
    return Sums.of(gammas, actions, frame["reward"].to_numpy(), clock, np.ones(n), float(n))


def close(a: Sums, b: Sums) -> None:
    assert a.rows == b.rows
    for name in ("gram", "gram_squared", "moment", "squares"):
        ours, theirs = getattr(a, name), getattr(b, name)
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours / scale, theirs / scale, atol=1e-12, rtol=0)


@pytest.mark.parametrize("rows", [3, 50, 1000])
@pytest.mark.parametrize("workers", [1, 3])
def test_sums_do_not_depend_on_cutting_or_workers(rows: int, workers: int) -> None:
    frame = world(rounds=300).frame
    memories = (20.0, 500.0, np.inf)
    found = Log.open(frame, rows=rows).sums(memories=memories, workers=workers)["all"]
    close(found, definition(frame, 1.0 - 1.0 / np.array(memories)))
    alone = Log.open(frame, rows=rows).sums(memories=memories, workers=1)["all"]
    for name in ("gram", "gram_squared", "moment", "squares"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    theta = found.theta()
    assert theta.shape == (3, 3)


def test_sums_merge_in_any_order() -> None:
    frame = world(rounds=300).frame
    memories = (20.0, np.inf)
    expected = Log.open(frame).sums(memories=memories)["all"]
    buckets = Log.open(frame).sums(memories=memories, period="75")
    assert len(buckets) == 4
    for order in permutations(buckets):
        total = buckets[order[0]]
        for key in order[1:]:
            total = total.merged(buckets[key])
        close(total, expected)


def test_a_policy_has_the_sums_of_the_log() -> None:
    frame = world(rounds=200).frame
    fitted = Log.open(frame).fit(DLinUCB(dim=3, gamma=0.95, ridge=1.0, action_bound=9.0))
    found = Log.open(frame).sums(memories=(20.0,))["all"]
    np.testing.assert_allclose(fitted.theta, found.theta(1.0)[0], rtol=1e-8)


def test_a_simulator_from_the_log_follows_the_truth() -> None:
    w = world(kind="rotate", rounds=2000, noise=0.2)
    model = Log.open(w.frame).to_environment()
    assert "model" in model.note
    assert model.horizon == 2000
    errors = np.linalg.norm(model.path.parameters - w.theta, axis=1)  # type: ignore[attr-defined]
    assert np.mean(errors) < 0.15
    assert model.noise.level == pytest.approx(0.2, rel=0.15)
    block = next(model.blocks(seed=0, replication=0))
    np.testing.assert_array_equal(block.actions[0], w.actions[0].T)


@pytest.mark.thorough
def test_full_traffic_holds_what_a_live_policy_earns() -> None:
    # Jumps, slow drift, and an adaptive logger, three logs each. At 95%, fewer than 7 of 9 have a
    # chance of 1 in 120.
    settings = (SETTINGS[0], SETTINGS[7], SETTINGS[8])
    found = [outcome(setting, seed) for setting in settings for seed in range(3)]
    assert sum(one.full_held for one in found) >= 7


def test_plain_replay_is_too_low_by_more_than_chance() -> None:
    setting, short = SETTINGS[5], []
    for seed in range(8):
        frame = written(setting, np.random.default_rng(seed))
        live = played_live(setting, np.random.default_rng([seed, 9]).random(len(frame)))
        short.append(live - plain_replay(setting, frame["chosen"], frame["reward"]))
    assert np.mean(short) > 4.0 * np.std(short, ddof=1) / np.sqrt(len(short))


def test_full_traffic_is_replay_and_what_the_model_adds() -> None:
    w = world(kind="rotate", rounds=1200, noise=0.3)
    log, policy = Log.open(w.frame), DLinUCB(dim=3, gamma=0.95, noise=0.3, action_bound=9.0)
    found = log.replay({"D": policy})
    plain, full = found.of("D"), found.of("D", FULL)
    assert full["estimate"] > plain["estimate"]  # plain replay learned from a fifth of the rows
    assert full["high"] - full["low"] > plain["high"] - plain["low"]
    without = log.replay({"D": policy}, full_traffic=False)
    assert FULL not in set(without.table["estimator"])
    assert without.of("D").equals(plain)
    few = Log.open(w.frame.head(400)).replay({"D": policy})
    assert any("full traffic" in words for words in few.refused)
    rng = np.random.default_rng(0)
    rare = pd.DataFrame(
        {
            "time": np.arange(2000.0),
            "chosen": rng.integers(0, 20, 2000),
            "propensity": 0.05,
            "reward": (rng.random(2000) < 0.005).astype(float),
        }
    )
    unsure = Log.open(rare, arms=20).replay({"D": DLinUCB(dim=20, gamma=0.99, noise=0.1)})
    assert any("too few rewards" in words for words in unsure.refused)
    # Every answer names its policy.
    assert found.sentences[0].startswith("D would have earned")
    assert "by a model of the log" in found.sentences[0]
    for one in (found, few):
        assert "of its rewards: the value of a policy that learned from less" in one.sentences[0]
    watching = Log.open(w.frame.head(400)).replay({"D": policy}, learn="all")
    assert "having watched the logger" in watching.sentences[0]


def test_lives_in_the_model_are_plays_of_it() -> None:
    log = Log.open(world(kind="rotate", rounds=600, noise=0.3).frame)
    policy = DLinUCB(dim=3, gamma=0.95, noise=0.3, action_bound=9.0)
    block, regret = log.to_environment(rounds=600).block(), np.empty(600)
    policy.copy().play(block, regret=regret)
    noise = np.broadcast_to(block.noise, block.means.shape)
    rows, all_rows = last_rows(log, 600), np.ones(600, dtype=bool)
    found = lived(policy, rows, block.means, noise, all_rows)
    np.testing.assert_allclose(np.cumsum(block.best - found), regret, rtol=1e-9, atol=1e-9)


def test_rewards_of_the_model_come_as_late_as_those_of_the_log() -> None:
    w = world(kind="rotate", rounds=300, noise=0.3, delay=20_000.0)
    policy = POLICIES["D-LinUCB"]()
    # The same choices and rewards as a run in the world itself, with its noise.
    noise = np.random.default_rng([0, 11])
    draws = np.empty((300, 1))
    for t in range(300):
        draws[t] = 0.3 * noise.normal()
        noise.random()
    rows = last_rows(Log.open(w.frame), 300)
    found = lived(policy, rows, w.means, np.repeat(draws, 5, axis=1), np.ones(300, dtype=bool))
    assert found.mean() == pytest.approx(live(POLICIES["D-LinUCB"](), w, 0)[1], rel=1e-12)
    at_once = lived(
        policy,
        rows._replace(due=np.arange(1, 301)),
        w.means,
        draws.repeat(5, 1),
        np.ones(300, dtype=bool),
    )
    assert at_once.mean() > found.mean()
