"""Repeated lists of actions are decoded once, and never mistaken for others."""

from __future__ import annotations

import msgspec
import pytest

from driftbandits.service import recurring
from driftbandits.service.house import House
from driftbandits.service.http.bodies import DecisionBody
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.problems import Problem
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.messages import DecisionRequest
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.recurring import Actions, Recurring, undecoded
from service_running import PLAIN


def test_the_same_bytes_give_the_same_tuple_and_others_another() -> None:
    found = Recurring(msgspec.json.Decoder(Actions).decode)
    first = found.read(msgspec.Raw(b'["a","b"]'))
    assert first == ("a", "b")
    assert found.read(msgspec.Raw(b'["a","b"]')) is first
    assert found.read(msgspec.Raw(b'["b","a"]')) == ("b", "a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring, "_KEPT", 100)
    found = Recurring(msgspec.json.Decoder(Actions).decode)
    for number in range(1000):
        assert found.read(msgspec.Raw(b'["a%d"]' % number)) == (f"a{number}",)
        assert sum(map(len, found._known)) <= 100


def test_what_is_left_undecoded_has_all_fields() -> None:
    kind = undecoded(DecisionRequest, "actions")
    assert kind.__struct_fields__ == DecisionRequest.__struct_fields__
    read: object = msgspec.json.decode(b'{"actions": [1]}', type=kind)
    assert bytes(getattr(read, "actions")) == b"[1]"  # noqa: B009
    assert getattr(read, "context") == {}  # noqa: B009


BODIES = [
    b'{"actions": ["a", {"id": "b", "features": {"x": 1}}], "context": {"y": [2]}, "defer": true}',
    b'{"actions": ["a"], "event_id": "e", "exclude": ["b"], "baseline": "a"}',
    b'{"actions": []}',
    b'{"actions": ["a"], "actions": ["b"]}',
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_is_read_as_it_always_was(body: bytes) -> None:
    read = DecisionBody(Limits())
    expected = msgspec.json.decode(body, type=DecisionRequest)
    for _ in range(2):
        found = read.read(body)
        assert msgspec.json.encode(found) == msgspec.json.encode(expected)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"actions": ["a", 3]}', "$.actions[1]"),
        (b'{"actions": [{"id": 1}]}', "$.actions[0].id"),
        (b'{"actions": ["a"], "context": 3}', "$.context"),
        (b'{"actions": ["a"], "more": 3}', "$"),
        (b'{"context": {}}', "$"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(body: bytes, field: str) -> None:
    with pytest.raises(Problem) as caught:
        DecisionBody(Limits()).read(body)
    assert caught.value.field == field


def test_depth_is_bounded() -> None:
    read = DecisionBody(Limits(depth=6))
    actions = b'{"id": "a", "features": {"x": %s}}'
    for depth, fits in ((1, True), (2, True), (3, False)):
        nested = b"[" * depth + b"]" * depth
        body = b'{"actions": [%s]}' % (actions % nested)
        if fits:
            read.read(body)
        else:
            for _ in range(2):
                with pytest.raises(Problem, match="nested"):
                    read.read(body)


def test_the_same_offer_after_the_catalogue_has_changed() -> None:
    house = House.open(MemoryStore())
    house.put_policy("plain", PolicySettings.from_dict(PLAIN))
    hosted = house._state.policies["plain"]
    actions = ("first", "second")
    for kinds in (("a", "b"), ("b", "c"), ("c", "a")):
        for action, kind in zip(actions, kinds, strict=True):
            house.put_action("plain", action, {"kind": kind})
        house.decide("plain", DecisionRequest(actions=actions))
        assert hosted._named(actions) == {
            action: {"kind": kind} for action, kind in zip(actions, kinds, strict=True)
        }
