"""The methods of an agent for programs that host it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftbandits import Agent, DLinUCB
from driftbandits.features import Features, OneHot

FEATURES = Features(
    context={"country": OneHot(["FR", "DE"])}, action={"kind": OneHot(["new", "old"])}
)
OFFER = {"x": {"kind": "new"}, "y": {"kind": "old"}, "z": {"kind": "old"}}
FRANCE = {"country": "FR"}


def new_agent(*, floor: float = 0.3, **options: Any) -> Agent:
    policy = DLinUCB(dim=FEATURES.dim, gamma=0.9, noise=0.3, floor=floor)
    return Agent(features=FEATURES, policy=policy, **{"wait": 10.0, **options})


def test_bytes_hold_everything() -> None:
    agent = new_agent()
    ids = [agent.decide(FRANCE, OFFER, now=float(t)).id for t in range(15)]
    agent.reward(ids[12], 1.0, now=15.0)
    stored = agent.to_bytes()
    assert agent.to_bytes() == stored
    twin = Agent.from_bytes(stored)
    assert twin.to_bytes() == stored
    for t in range(15, 30):
        one, two = (a.decide(FRANCE, OFFER, now=float(t)) for a in (agent, twin))
        assert (one.action, one.propensity) == (two.action, two.propensity)
    assert agent.to_bytes() == twin.to_bytes()
    with pytest.raises(ValueError, match="the agent is damaged"):
        Agent.from_bytes(stored[:-5])


def test_propensities_are_those_of_all_actions() -> None:
    agent = new_agent(floor=0.3)
    for t in range(40):
        choice = agent.decide(FRANCE, OFFER, now=float(t))
        assert choice.propensities.sum() == pytest.approx(1.0)
        assert choice.propensity == choice.propensities[choice.actions.index(choice.action)]
        best = choice.propensities[choice.actions.index(choice.proposed)]
        assert best == pytest.approx(0.7 + 0.1)


def test_the_decisions_that_a_call_closed_are_told() -> None:
    agent = new_agent(wait=10.0)
    first = agent.decide(FRANCE, OFFER, now=0.0)
    second = agent.decide(FRANCE, OFFER, now=5.0)
    assert [decision.id for decision in agent.just_closed] == []
    assert not agent.is_due(now=9.0)
    assert agent.is_due(now=10.0)
    agent.reward(second.id, 1.0, now=11.0)
    assert [decision.id for decision in agent.just_closed] == [first.id]
    found = agent.find(second.id)
    assert found is not None
    assert found.reward == 1.0
    assert agent.find(first.id) is None
    agent.expire(now=12.0)
    assert [decision.id for decision in agent.just_closed] == []
    assert agent.expire(now=100.0) == 1


def test_names_of_closed_decisions_are_remembered_as_long_as_told() -> None:
    agent = new_agent(wait=1.0, remember=0)
    agent.decide(FRANCE, OFFER, now=0.0, id="x")
    agent.expire(now=5.0)
    assert agent.reward("x", 1.0, now=5.0) == "unknown"
    agent.decide(FRANCE, OFFER, now=6.0, id="x")
    with pytest.raises(ValueError, match="remember must be an integer of at least 0"):
        new_agent(remember=-1)


def test_a_replay_learns_what_was_shown() -> None:
    agent = new_agent(floor=0.0, rule="wait")
    twin = Agent.from_bytes(agent.to_bytes())
    choice = agent.decide(FRANCE, OFFER, now=0.0)
    other = next(name for name in OFFER if name != choice.action)
    told = twin.decide(FRANCE, OFFER, now=0.0, shown=other)
    assert (told.action, told.proposed) == (other, choice.proposed)
    found = twin.find(told.id)
    assert found is not None
    np.testing.assert_array_equal(found.row, FEATURES.encode(FRANCE, {other: OFFER[other]})[0])
    with pytest.raises(ValueError, match="shown must be one of the actions"):
        twin.decide(FRANCE, OFFER, now=1.0, shown="nobody")


def test_other_options_keep_what_was_learned() -> None:
    agent = new_agent(wait=10.0, floor=0.0)
    ids = [agent.decide(FRANCE, OFFER, now=float(t)).id for t in range(3)]
    agent.reward(ids[1], 1.0, now=3.0)
    changed = agent.changed(floor=0.5, options={"wait": 4.0, "rewards": "sum"})
    assert changed.options == agent.options | {"wait": 4.0, "rewards": "sum"}
    assert changed.policy.floor == 0.5
    np.testing.assert_array_equal(changed.policy.copy().theta, agent.policy.copy().theta)  # type: ignore[attr-defined]
    # The decisions of times 0, 1 and 2 would have closed at 10, 11 and 12.
    assert changed.expire(now=5.0) == 2
    assert agent.expire(now=5.0) == 0


def test_predictions_are_those_of_the_estimate() -> None:
    agent = new_agent(floor=0.0, rule="wait")
    predictions = list[float | None]()
    for t in range(40):
        before = agent.policy.copy().theta  # type: ignore[attr-defined]
        choice = agent.decide(FRANCE, OFFER, now=float(t))
        predictions.append(choice.prediction)
        if choice.prediction is not None:
            row = FEATURES.encode(FRANCE, {choice.action: OFFER[choice.action]})[0]
            # The round closes in between, which discounts earlier rewards by one step.
            assert choice.prediction == pytest.approx(float(row @ before), abs=0.05)
        agent.reward(choice.id, 1.0, now=float(t))
    assert [t for t, value in enumerate(predictions) if value is not None] == [0, 16, 32]
