"""Wrong calls of an agent are refused with a message that says what to do, or they work."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, Agent, DLinUCB
from driftbandits.features import Features, OneHot, PerAction

FEATURES = Features(
    context={"country": OneHot(["FR", "DE"])}, action={"kind": OneHot(["new", "old"])}
)
ACTIONS = {"a": {"kind": "new"}, "b": {"kind": "old"}, "c": {"kind": "used"}}
CONTEXT = {"country": "FR"}


def new_agent(**options: Any) -> Agent:
    return Agent(
        features=FEATURES, policy=DLinUCB(dim=FEATURES.dim, gamma=0.9), wait=10.0, **options
    )


@pytest.mark.parametrize(
    "now", [datetime(2024, 1, 1), np.datetime64("2024-01-01"), "2024-01-01", None, float("nan")]
)
def test_a_time_is_a_number_and_nothing_changes_otherwise(now: Any) -> None:
    agent = new_agent()
    before = agent.to_bytes()
    with pytest.raises(ValueError, match=r"now must be a finite number \(of a datetime, its time"):
        agent.decide(CONTEXT, ACTIONS, now=now)
    assert agent.to_bytes() == before


def test_a_time_of_numpy_is_a_time() -> None:
    one, other = new_agent(), new_agent()
    one.decide(CONTEXT, ACTIONS, now=np.int64(3))  # type: ignore[arg-type]
    other.decide(CONTEXT, ACTIONS, now=3.0)
    assert one.to_bytes() == other.to_bytes()


def test_a_choice_in_the_place_of_its_id_is_refused() -> None:
    agent = new_agent()
    choice = agent.decide(CONTEXT, ACTIONS, now=0.0)
    for wrong in (choice, 1):
        with pytest.raises(ValueError, match=r"id must be a text, such as choice\.id, got"):
            agent.reward(wrong, 1.0, now=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("clicked", [True, np.True_, 1, np.float32(1)])
def test_whether_there_was_a_click_is_a_reward(clicked: Any) -> None:
    one, other = new_agent(), new_agent()
    for agent, reward in ((one, clicked), (other, 1.0)):
        choice = agent.decide(CONTEXT, ACTIONS, now=0.0)
        assert agent.reward(choice.id, reward, now=1.0) == "learned"
    assert one.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("reward", [None, "1", float("nan"), float("inf"), [1.0]])
def test_what_is_no_number_is_no_reward(reward: Any) -> None:
    agent = new_agent()
    choice = agent.decide(CONTEXT, ACTIONS, now=0.0)
    before = agent.to_bytes()
    with pytest.raises(ValueError, match="reward must be a finite number, got"):
        agent.reward(choice.id, reward, now=1.0)
    assert agent.to_bytes() == before


def test_a_choice_can_be_a_key() -> None:
    agent = new_agent()
    one, other = (agent.decide(CONTEXT, ACTIONS, now=0.0) for _ in range(2))
    assert {one: "page 1", other: "page 2"}[one] == "page 1"


def test_one_text_is_not_a_list_of_actions_to_exclude() -> None:
    with pytest.raises(ValueError, match="exclude must be a list of ids, got 'ab'"):
        new_agent().decide(CONTEXT, ACTIONS, now=0.0, exclude="ab")


def test_one_text_is_not_a_list_of_actions_to_remove() -> None:
    features = Features(per_action=PerAction(slots=2))
    agent = Agent(features=features, policy=DLinUCB(dim=features.dim, gamma=0.9), wait=10.0)
    agent.decide({}, ["x", "y"], now=0.0)
    with pytest.raises(ValueError, match="actions must be a list of ids, got 'xy'"):
        agent.remove("xy")


@pytest.mark.parametrize("excluded", [[1, 2], ["1", "2"], [np.int64(1), "2"]])
def test_17_and_its_text_are_the_same_action_where_they_are_excluded(excluded: list[Any]) -> None:
    actions = {number: {"kind": "new"} for number in (1, 2, 3)}
    shown: Any = new_agent().decide(CONTEXT, actions, now=0.0, exclude=excluded).action
    assert shown == 3


def test_excluding_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="must have 1 that can be shown, got 0 of 3 after exclude"):
        new_agent().decide(CONTEXT, ACTIONS, now=0.0, exclude=list(ACTIONS))


def test_a_class_is_not_a_policy() -> None:
    with pytest.raises(ValueError, match=r"policy must be a policy such as Ad.*got <class '"):
        Agent(features=FEATURES, policy=DLinUCB, wait=10.0)  # type: ignore[arg-type]


def test_an_agent_says_what_it_is() -> None:
    agent = new_agent()
    agent.decide(CONTEXT, ACTIONS, now=0.0)
    assert repr(agent) == f"<Agent with DLinUCB of dim {FEATURES.dim}: 1 decided, 1 open>"


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))]
)
def test_a_copied_agent_goes_on_bit_for_bit_on_its_own(twin_of: Any) -> None:
    agent = new_agent()
    choice = agent.decide(CONTEXT, ACTIONS, now=0.0)
    twin = twin_of(agent)
    before = agent.to_bytes()
    assert twin.to_bytes() == before
    assert twin.reward(choice.id, 1.0, now=1.0) == "learned"
    assert agent.to_bytes() == before != twin.to_bytes()


def test_an_explanation_shows_the_level_and_leaves_unknown_changes_open() -> None:
    agent = Agent(features=FEATURES, policy=AdaptiveLinUCB(dim=FEATURES.dim), wait=10.0)
    agent.reward(agent.decide(CONTEXT, ACTIONS, now=0.0).id, 1.0, now=1.0)
    explanation = agent.explain()
    assert explanation.level == agent.policy.level  # type: ignore[attr-defined]
    shown = str(explanation).splitlines()
    assert shown[0] == f"{explanation.level:>9.4f} level: what all rewards have in common"
    assert shown[1].split() == ["weight", "±", "change", "coordinate"]
    assert all(line.split()[2] == "-" for line in shown[2:])
    assert new_agent().explain().level is None
