"""Agents and logs: the actions of an agent are recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftbandits import Agent, DLinTS, DLinUCB, Policy
from driftbandits.agent.open_decisions import Status
from driftbandits.agent.saving import content
from driftbandits.features import Features, Number, OneHot
from driftbandits.logs import CannotAnswer, Log, Recorder
from log_worlds import world

FEATURES = Features(
    context={"country": OneHot(["FR", "DE"])},
    action={"topic": OneHot(["sport", "arts", "news"]), "length": Number(800, 400)},
)
POLICIES: dict[str, Callable[[], Policy]] = {
    "D-LinUCB": lambda: DLinUCB(dim=FEATURES.dim, gamma=0.99, noise=0.3),
    "D-LinTS": lambda: DLinTS(dim=FEATURES.dim, gamma=0.99, noise=0.3, seed=4),
}
ARTICLES = {
    f"a{k}": {"topic": ["sport", "arts", "news"][k % 3], "length": 300 + 150 * k} for k in range(6)
}


def fresh(name: str, **options: Any) -> Agent:
    return Agent(features=FEATURES, policy=POLICIES[name](), wait=500.0, **options)


def live(recorder: Recorder, rounds: int = 150) -> None:
    """Decide about every minute; rewards come late, after the deadline, or never."""
    rng = np.random.default_rng(5)
    waiting: list[tuple[float, str, float]] = []
    now = 0.0
    for _ in range(rounds):
        now += float(rng.exponential(60.0))
        for entry in sorted(e for e in waiting if e[0] <= now):
            recorder.reward(entry[1], entry[2], now=entry[0])
            waiting.remove(entry)
        offered = rng.choice(list(ARTICLES), size=4, replace=False).tolist()
        context = {"country": str(rng.choice(["FR", "DE"]))}
        choice = recorder.decide(context, {a: ARTICLES[a] for a in offered}, now=now)
        if rng.random() < 0.7:
            waiting.append((now + float(rng.exponential(300.0)), choice.id, float(rng.random())))
    for came, id, reward in sorted(waiting):
        recorder.reward(id, reward, now=came)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("rule", ["assume", "wait", "hold"])
def test_an_agents_life_lived_again_has_the_same_bits(tmp_path: Path, name: str, rule: str) -> None:
    recorder = Recorder(fresh(name, rule=rule))
    live(recorder)
    log = Log.open(recorder.write(tmp_path / "log.parquet"), features=FEATURES, context="context")
    again = log.fit(fresh(name, rule=rule))
    # A reward after the deadline is not in the log; it only moved the agent's clock.
    for agent in (again, recorder.agent):
        agent.expire(now=1e6)
    ours, theirs = content(again), content(recorder.agent)
    assert ours[0] == theirs[0]
    for key, array in theirs[1].items():
        assert np.array_equal(array, ours[1][key]), key
    assert again.decided == len(recorder) == 150


def test_a_recorded_log_has_what_the_agent_saw() -> None:
    recorder = Recorder(fresh("D-LinUCB"))
    first = recorder.decide({"country": "FR"}, ARTICLES, now=10.0, exclude=["a2"])
    assert recorder.reward(first.id, 0.5, now=20.0) == "learned"
    assert recorder.reward(first.id, 0.9, now=9999.0) == "too_late"
    recorder.decide({"country": "DE"}, ARTICLES, now=9999.0)
    log = Log.open(recorder.table(), features=FEATURES, context="context")
    (batch,) = log.batches()
    assert batch.size.tolist() == [5, 6]
    assert batch.reward[0] == 0.5
    assert np.isnan(batch.reward[1])
    assert batch.arrival.tolist() == [20.0, np.inf]
    expected = FEATURES.encode({"country": "FR"}, {first.action: ARTICLES[first.action]})
    np.testing.assert_array_equal(batch.vectors[batch.played[:1]], expected)


def test_an_agent_needs_names_and_keeps_its_mode() -> None:
    with pytest.raises(CannotAnswer, match="contexts and actions by name"):
        Log.open(world(rounds=20).frame).fit(fresh("D-LinUCB"))
    recorder = Recorder(fresh("D-LinUCB", mode="shadow"))
    recorder.decide({"country": "FR"}, ARTICLES, now=0.0, baseline="a3")
    log = Log.open(recorder.table(), features=FEATURES, context="context")
    assert log.fit(fresh("D-LinUCB")).mode == "live"
    assert log.fit(fresh("D-LinUCB", mode="shadow")).mode == "shadow"
    with pytest.raises(ValueError, match="its own rule"):
        log.fit(fresh("D-LinUCB"), rule="wait")  # type: ignore[call-overload]


class ClicksOnly(Agent):
    """An agent that takes only the rewards 0 and 1."""

    def reward(self, id: str, reward: float, *, now: float) -> Status:
        if reward not in (0.0, 1.0):
            raise ValueError(f"reward must be 0 or 1, got {reward}")
        return super().reward(id, reward, now=now)


def test_a_reward_that_the_agent_refuses_is_named_by_its_row() -> None:
    recorder = Recorder(fresh("D-LinUCB"))
    for now in (0.0, 10.0):
        choice = recorder.decide({"country": "FR"}, ARTICLES, now=now)
    recorder.reward(choice.id, 5.0, now=20.0)
    log = Log.open(recorder.table(), features=FEATURES, context="context")
    agent = ClicksOnly(features=FEATURES, policy=POLICIES["D-LinUCB"](), wait=500.0)
    with pytest.raises(CannotAnswer, match="row 2: the agent refuses its reward: reward must be 0"):
        log.fit(agent)
