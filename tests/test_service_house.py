"""Commands of the house: effects, answers and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from driftbandits.service import errors
from driftbandits.service.errors import (
    BadRequest,
    BadSettings,
    ConflictingEvent,
    ConflictingReward,
    JournalError,
    ServiceError,
    UnknownAction,
    UnknownEvent,
    UnknownPolicy,
)
from driftbandits.service.house import House
from driftbandits.service.journal.chain import Entry
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.messages import DecisionRequest, NamedAction
from driftbandits.service.policy_settings import PolicySettings
from service_house import FEATURES, Desk


def test_the_same_request_gets_the_same_answer() -> None:
    desk = Desk()
    first = desk.decide(event_id="x")
    for _ in range(2):  # before the commit, and after it
        again = desk.decide(event_id="x")
        assert again.repeated
        assert not first.repeated
        fields = [name for name in first.__struct_fields__ if name != "repeated"]
        assert all(getattr(again, name) == getattr(first, name) for name in fields)
        desk.house.commit()
    assert desk.house.policy("p").decisions == 1
    for other in ({"actions": ["b", "a", "c"]}, {"context": {"country": "DE"}}, {"defer": True}):
        with pytest.raises(ConflictingEvent):
            desk.decide(event_id="x", **other)
    desk.house.put_policy("q", desk.settings)
    with pytest.raises(ConflictingEvent):
        desk.house.decide("q", DecisionRequest(actions=["a"], event_id="x"))


def test_keys_in_another_order_are_the_same_request() -> None:
    desk = Desk(features=None)
    asked = DecisionRequest(actions=["a"], event_id="x", context={"u": {"p": 1, "q": 2}})
    desk.house.decide("p", asked)
    turned = DecisionRequest(actions=["a"], event_id="x", context={"u": {"q": 2, "p": 1}})
    assert desk.house.decide("p", turned).repeated


def test_rewards_are_learned_once() -> None:
    desk = Desk(rewards="first")
    made = desk.decide().event_id
    assert desk.reward(made, 1.0) == "learned"
    state = desk.house._state.policies["p"].agent.policy.state()
    assert desk.reward(made, 1.0) == "duplicate"
    with pytest.raises(ConflictingReward, match=r"already has the reward 1\.0, got 0\.5"):
        desk.reward(made, 0.5)
    for name, array in desk.house._state.policies["p"].agent.policy.state().items():
        np.testing.assert_array_equal(array, state[name])
    with pytest.raises(UnknownEvent):
        desk.reward("nobody", 1.0)
    desk.clock.now += 100.0
    assert desk.house.expire() == 1
    assert desk.reward(made, 1.0) == "duplicate"
    late = desk.decide().event_id
    desk.clock.now += 100.0
    assert desk.reward(late, 1.0) == "too_late"


def test_a_reward_changes_the_very_next_decision() -> None:
    desk = Desk(floor=0.0, rule="wait", config={"noise": 0.01, "ridge": 1.0, "theta_bound": 0.1})
    first = desk.decide()
    assert first.propensity == 1.0
    desk.reward(first.event_id, -1.0)
    second = desk.decide()
    assert second.action != first.action
    desk.reward(second.event_id, 1.0)
    assert desk.decide().action == second.action


def test_a_deferred_decision_counts_once_it_is_activated() -> None:
    desk = Desk(rule="assume", default=0.0)
    forgotten, shown = desk.decide(defer=True).event_id, desk.decide(defer=True).event_id
    assert desk.reward(shown, 1.0) == "not_activated"
    assert desk.house.activate(shown).status == "activated"
    assert desk.house.activate(shown).status == "already_active"
    assert desk.reward(shown, 1.0) == "learned"
    desk.clock.now += 100.0
    assert desk.house.activate(forgotten).status == "too_late"
    desk.house.expire()
    report = desk.house.diagnostics("p")
    assert (report["deferred"], report["activations"], report["closed"]) == (2, 1, 1)
    with pytest.raises(UnknownEvent):
        desk.house.activate("nobody")


def test_shadow_mode_shows_the_baseline() -> None:
    desk = Desk(mode="shadow", floor=0.2)
    assert desk.decide().action == "a"
    answer = desk.decide(baseline="c", exclude=["a"])
    assert (answer.action, answer.propensity, answer.mode) == ("c", 1.0, "shadow")
    assert answer.probabilities == [1.0, 0.0]
    with pytest.raises(BadRequest, match="baseline must be an action that can be shown"):
        desk.decide(baseline="a", exclude=["a"])
    view = desk.house.promote("p")
    assert (view.mode, view.version, view.decisions) == ("live", 2, 2)
    answer = desk.decide(baseline="a")
    assert (answer.mode, answer.policy_version) == ("live", 2)
    assert answer.propensity < 1.0
    with pytest.raises(BadRequest, match="must be in shadow mode"):
        desk.house.promote("p")


@pytest.mark.parametrize(
    ("learner", "floor"), [("LinUCB", 0.3), ("D-RandLinUCB", 0.3), ("Random", 0.1)]
)
def test_propensities_match_frequencies(learner: str, floor: float) -> None:
    """χ² test of the counts of shown actions against the sums of their recorded probabilities.

    The terms are martingale differences: under the hypothesis each has mean zero, and at most the
    variance of independent draws. One test in 10,000 fails by chance.
    """
    config = {"gamma": 0.99} if learner.startswith("D-") else {}
    desk = Desk(learner=learner, floor=floor, config=config, rule="wait")
    rng = np.random.default_rng(1)
    counts, expected, variance = (dict.fromkeys("abc", 0.0) for _ in range(3))
    for _ in range(1500):
        answer = desk.decide(context={"country": ["FR", "DE"][rng.integers(2)]})
        assert abs(sum(answer.probabilities) - 1.0) < 1e-12
        assert answer.propensity == answer.probabilities[0]
        assert min(answer.probabilities) >= floor / 3 - 1e-15
        counts[answer.action] += 1
        for action, chance in zip(answer.ranking, answer.probabilities, strict=True):
            expected[action] += chance
            variance[action] += chance * (1 - chance)
        desk.reward(answer.event_id, float(rng.random() < 0.5))
    for action in "abc":
        z = (counts[action] - expected[action]) / np.sqrt(variance[action])
        assert 2 * stats.norm.sf(abs(z)) > 1e-4 / 9


def test_actions_are_described_once() -> None:
    features = {"action": {"length": {"kind": "number", "centre": 5, "spread": 5}}}
    desk = Desk(features=features)
    with pytest.raises(BadRequest, match="length"):
        desk.decide(["long"], context={})
    desk.house.put_action("p", "long", {"length": 9})
    assert desk.decide(["long"], context={}).action == "long"
    own = NamedAction(id="short", features={"length": 1})
    assert sorted(desk.decide([own, "long"], context={}).ranking) == ["long", "short"]
    desk.house.put_action("p", "long", {"length": 9})  # no change, so nothing is recorded
    assert desk.house.policy("p").actions == 1
    desk.house.remove_action("p", "long")
    with pytest.raises(UnknownAction):
        desk.house.remove_action("p", "long")


def test_a_block_is_given_back_with_its_action() -> None:
    desk = Desk(features={"per_action": {"slots": 2}})
    desk.decide(["a", "b"], context={})
    assert desk.house.policy("p").dim == 3  # an intercept, and one coordinate per slot
    desk.decide(["a", "b", "c"], context={})  # needs a third slot
    assert desk.house.policy("p").dim == 5
    shown = {id: desk.decide([id], context={}).event_id for id in "ab"}
    desk.house.remove_action("p", "a")
    assert desk.reward(shown["a"], 1.0) == "too_late"
    assert desk.reward(shown["b"], 1.0) == "learned"


def test_blocks_of_actions_are_bounded() -> None:
    desk = Desk(features={"per_action": {"slots": 2}}, most_actions=3)
    desk.decide(["a", "b", "c"], context={})
    before = desk.house.to_bytes()
    with pytest.raises(BadRequest, match=r"must be at most 3 in all, .*, got 4"):
        desk.decide(["a", "d"], context={})
    assert desk.house.to_bytes() == before
    desk.house.remove_action("p", "c")
    desk.decide(["a", "d"], context={})


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"actions": []}, "at least one action"),
        ({"actions": ["a", "a"]}, "different ids"),
        ({"actions": ["a"], "exclude": ["a"]}, "must have 1 that can be shown, got 0"),
        ({"actions": ["a"], "context": {"age": 3}}, "age"),
        ({"actions": ["a"], "event_id": ""}, "event_id must be a text of 1 to 256"),
        ({"actions": ["a"], "event_id": "x" * 257}, "event_id must be a text of 1 to 256"),
        ({"actions": ["a"], "event_id": "\ud800"}, "event_id must be a text that UTF-8 can encode"),
        ({"actions": ["\ud800"]}, "cannot be written down"),
        ({"actions": ["a"], "context": {"country": "\ud800"}}, "cannot be written down"),
        ({"actions": ["a"], "context": {"country": {1}}}, "country"),
        ({"actions": ["a"], "context": {"country": object()}}, "cannot be written down"),
    ],
)
def test_bad_requests_change_nothing(request_: dict[str, Any], message: str) -> None:
    desk = Desk()
    desk.decide()
    before, pending = desk.house.to_bytes(), desk.house.pending
    with pytest.raises(BadRequest, match=message):
        desk.decide(**request_)
    assert (desk.house.to_bytes(), desk.house.pending) == (before, pending)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_bad_rewards_change_nothing(value: float) -> None:
    desk = Desk(rewards="sum")
    made = desk.decide().event_id
    desk.clock.now += 200.0  # a reward would close the decision
    before = desk.house.to_bytes()
    with pytest.raises(BadRequest, match="reward must be"):
        desk.reward(made, value)
    assert desk.house.to_bytes() == before


def test_unknown_policies_are_named() -> None:
    desk = Desk()
    for call in (
        lambda: desk.house.decide("q", DecisionRequest(actions=["a"])),
        lambda: desk.house.policy("q"),
        lambda: desk.house.promote("q"),
        lambda: desk.house.delete_policy("q"),
        lambda: desk.house.put_action("q", "a", None),
        lambda: desk.house.diagnostics("q"),
        lambda: desk.house.events("q", after=0, limit=1),
    ):
        with pytest.raises(UnknownPolicy, match="there is no policy 'q'"):
            call()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wait": 0}, "wait must be a finite number above 0, got 0"),
        ({"learner": "LinUCP"}, "learner must be one of .*, got 'LinUCP'"),
        ({"config": {"gamma": 2.0}, "learner": "D-LinUCB"}, r"config: gamma must lie in \(0, 1\)"),
        ({"config": {"dim": 2}}, "config must not have dim"),
        ({"config": {}, "learner": "D-LinUCB"}, "config must have gamma, which D-LinUCB needs"),
        (
            {"config": {"gama": 0.9}, "learner": "D-LinUCB"},
            "D-LinUCB has no setting 'gama'; it takes .*gamma",
        ),
        ({"features": {"contxt": {}}}, "features: .*contxt"),
        ({"floor": 1.5}, "floor must be at most 1"),
        ({"floor": 0, "learner": "Random"}, "floor must be above 0 for Random"),
        ({"rule": "asume"}, "asume|Invalid enum value"),
        ({"default": None}, "default must be given for rule assume"),
        ({"default": 1e150}, "default must be at most"),
        ({"remember": 0}, "remember must be"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_bad_settings_name_key_and_rule(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSettings, match=message):
        PolicySettings.from_dict({"features": FEATURES} | settings)
    desk = Desk()
    before = desk.house.to_bytes()
    if "nonsense" not in settings:
        with pytest.raises(BadSettings, match=message):
            desk.house.put_policy("p", PolicySettings(**({"features": FEATURES} | settings)))
    assert desk.house.to_bytes() == before


def test_settings_survive_json() -> None:
    settings = PolicySettings(features=FEATURES, learner="D-LinUCB", config={"gamma": 0.9})
    assert PolicySettings.from_dict(settings.to_dict()) == settings


def test_other_settings_keep_what_was_learned() -> None:
    desk = Desk(wait=100.0, floor=0.1)
    made = [desk.decide().event_id for _ in range(5)]
    desk.reward(made[0], 1.0)
    theta = desk.house._state.policies["p"].agent.policy.copy().theta  # type: ignore[attr-defined]
    changed = PolicySettings.from_dict(desk.settings.to_dict() | {"wait": 50.0, "floor": 0.4})
    view = desk.house.put_policy("p", changed)
    assert (view.version, view.open, view.decisions) == (2, 5, 5)
    assert desk.house.put_policy("p", changed).version == 2  # nothing changes
    hosted = desk.house._state.policies["p"]
    np.testing.assert_array_equal(hosted.agent.policy.copy().theta, theta)  # type: ignore[attr-defined]
    assert min(desk.decide().probabilities) == pytest.approx(0.4 / 3)
    desk.clock.now += 50.0
    assert desk.house.expire() == 6


def test_another_learner_starts_anew() -> None:
    desk = Desk()
    made = desk.decide().event_id
    other = PolicySettings.from_dict(desk.settings.to_dict() | {"learner": "Random", "config": {}})
    view = desk.house.put_policy("p", other)
    assert (view.version, view.open, view.decisions) == (2, 0, 0)
    assert desk.reward(made, 1.0) == "too_late"


def test_a_deleted_policy_leaves_no_trace() -> None:
    desk = Desk()
    made = desk.decide(event_id="x").event_id
    desk.house.put_policy("q", desk.settings)
    kept = desk.house.decide("q", DecisionRequest(actions=["a"], context={"country": "DE"}))
    desk.house.delete_policy("p")
    assert [view.name for view in desk.house.policies()] == ["q"]
    with pytest.raises(UnknownEvent):
        desk.reward(made, 1.0)
    assert desk.reward(kept.event_id, 1.0) == "learned"
    desk.house.put_policy("p", desk.settings)
    assert not desk.decide(event_id="x").repeated


def test_a_policy_without_features_hashes_everything() -> None:
    desk = Desk(features=None, learner="AdaptiveLinUCB", config={})
    described = NamedAction(id="a", features={"topic": {"kind": "sport"}, "tags": ["x", "y"]})
    context = {"user": {"age": 31, "country": "FR"}, "device": "phone"}
    answer = desk.decide([described, "b"], context=context)
    assert sorted(answer.ranking) == ["a", "b"]
    assert desk.house.policy("p").dim == 90


def test_ids_made_here_carry_the_number_of_the_record() -> None:
    desk = Desk()
    assert desk.decide(event_id="e3").event_id == "e3"
    assert desk.decide().event_id == "e3-"  # record 3, but the name e3 is taken
    assert desk.decide().event_id == "e4"


class Failing(MemoryStore):
    """A disk that fails at the second append."""

    def append(self, entry: Entry) -> None:
        if entry.first > 1:
            raise JournalError("the disk is gone")
        super().append(entry)


def test_a_failed_commit_ends_the_use_of_the_house() -> None:
    desk = Desk(Failing())
    desk.house.commit()
    desk.decide()
    for call in (desk.house.commit, desk.house.commit, desk.decide, desk.house.snapshot):
        with pytest.raises(JournalError, match="the disk is gone"):
            call()


def test_a_command_that_fails_half_way_ends_the_use_of_the_house(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    made = desk.decide().event_id

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("half-way")

    monkeypatch.setattr("driftbandits.service.hosted.Hosted._close", fail)
    with pytest.raises(JournalError, match="failed half-way"):
        desk.reward(made, 1.0)
    monkeypatch.undo()
    with pytest.raises(JournalError, match="failed half-way"):
        desk.decide()


def test_events_are_what_was_committed() -> None:
    desk = Desk()
    made = desk.decide(event_id="x", exclude=["b"])
    desk.reward("x", 1.0)
    assert desk.house.events("p", after=0, limit=10) == []
    desk.house.commit()
    created, decided, rewarded = desk.house.events("p", after=0, limit=10)
    assert [created["kind"], decided["kind"], rewarded["kind"]] == [
        "policy_set",
        "decided",
        "rewarded",
    ]
    assert decided["number"] == 2
    assert (decided["action"], decided["ranking"]) == (made.action, made.ranking)
    assert decided["context"] == {"country": "FR"}
    assert (rewarded["event_id"], rewarded["value"], rewarded["status"]) == ("x", 1.0, "learned")
    assert [e["number"] for e in desk.house.events(None, after=1, limit=1)] == [2]


def test_time_never_goes_back() -> None:
    desk = Desk()
    desk.decide()
    desk.clock.now -= 500.0
    desk.decide()
    desk.house.commit()
    times = [event["time"] for event in desk.house.events("p", after=0, limit=10)]
    assert times == sorted(times)


def test_every_error_has_a_code_of_its_own() -> None:
    kinds: list[type[ServiceError]] = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ServiceError) and kind is not ServiceError
    ]
    assert len({kind.code for kind in kinds}) == len(kinds) >= 7
    assert all(400 <= kind.status < 600 for kind in kinds)


def test_the_clock_of_the_wall_is_the_default() -> None:
    house = House.open(MemoryStore())
    house.put_policy("p", PolicySettings(features=FEATURES, learner="LinUCB"))
    house.commit()
    (event,) = house.events(None, after=0, limit=5)
    assert event["time"] > 1.7e9
