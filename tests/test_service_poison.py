"""No request can break the house: any JSON is carried out or refused.

An error half-way through a command ends the process, because memory can no longer be trusted. So no
input may cause such an error.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits.service.errors import ServiceError
from driftbandits.service.house import House
from driftbandits.service.http.endpoints import Endpoints
from driftbandits.service.http.keys import ANYONE
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.problems import Problem
from driftbandits.service.http.routing import Call
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.personalizer import Personalizer
from driftbandits.service.policy_settings import PolicySettings
from service_running import PLAIN

ODD_TEXTS = st.sampled_from(["", "\x00", "é" * 300, "a.b", "*", "\u2028", "id", "__proto__", "𝒳"])
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 1e-300]),
)
TEXTS = st.one_of(ODD_TEXTS, st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
TABLES = st.dictionaries(TEXTS, VALUES, max_size=4)
OFFERED = st.lists(
    st.one_of(
        TEXTS, st.fixed_dictionaries({"id": TEXTS, "features": st.one_of(st.none(), TABLES)})
    ),
    min_size=1,
    max_size=4,
)
POLICIES: dict[str, dict[str, Any]] = {
    "hashed": {},
    "plain": PLAIN,
    "shadow": {"mode": "shadow", "rule": "hold", "rewards": "sum"},
    "blocks": {
        "features": {
            "context": {"x": {"kind": "number", "centre": 0.0, "spread": 1.0}},
            "per_action": {"slots": 2},
        },
        "learner": "D-LinUCB",
        "config": {"gamma": 0.9},
    },
}


@pytest.fixture(scope="module")
def house() -> House:
    house = House.open(MemoryStore())
    for name, table in POLICIES.items():
        house.put_policy(name, PolicySettings.from_dict(table))
    return house


def carried_out_or_refused(endpoint: Any, names: tuple[str, ...], body: Any) -> None:
    """Carry out a command; any error except a refusal fails the test."""
    try:
        answer = endpoint(Call(names, json.dumps(body).encode(), b"", ANYONE))
    except (Problem, ServiceError):
        return
    json.loads(answer.body or b"null")


@settings(max_examples=150)
@given(
    policy=st.sampled_from(list(POLICIES)),
    context=TABLES,
    actions=OFFERED,
    exclude=st.lists(TEXTS, max_size=2),
    event=st.one_of(st.none(), TEXTS),
    reward=NUMBERS,
)
def test_any_decision_and_reward(
    house: House,
    policy: str,
    context: Any,
    actions: Any,
    exclude: Any,
    event: str | None,
    reward: float,
) -> None:
    endpoints = Endpoints(house, Limits())
    body = {"context": context, "actions": actions, "exclude": exclude, "event_id": event}
    carried_out_or_refused(endpoints.decide, (policy,), body)
    carried_out_or_refused(endpoints.reward, (event or "e1",), {"reward": reward})
    carried_out_or_refused(endpoints.activate, (event or "e1",), None)
    house.commit()


@settings(max_examples=60)
@given(policy=st.sampled_from(list(POLICIES)), action=TEXTS, features=st.one_of(st.none(), TABLES))
def test_any_action(house: House, policy: str, action: str, features: Any) -> None:
    endpoints = Endpoints(house, Limits())
    carried_out_or_refused(endpoints.put_action, (policy, action), {"features": features})
    carried_out_or_refused(endpoints.decide, (policy,), {"actions": [action, "other"]})
    carried_out_or_refused(endpoints.remove_action, (policy, action), None)
    house.commit()


@settings(max_examples=60)
@given(
    context=st.lists(TABLES, max_size=2),
    actions=st.lists(
        st.fixed_dictionaries({"id": TEXTS, "features": st.lists(TABLES, max_size=2)}), max_size=3
    ),
)
def test_any_rank(context: Any, actions: Any) -> None:
    alone = House.open(MemoryStore())
    alone.put_policy("only", PolicySettings())
    rank = Personalizer(alone, Limits()).rank
    carried_out_or_refused(rank, (), {"contextFeatures": context, "actions": actions})


@settings(max_examples=150)
@given(table=st.dictionaries(st.sampled_from(PolicySettings.__struct_fields__), VALUES, max_size=4))
def test_any_settings(table: dict[str, Any]) -> None:
    house = House.open(MemoryStore())
    try:
        house.put_policy("new", PolicySettings.from_dict(json.loads(json.dumps(table))))
    except ServiceError:
        return
    assert house.policy("new").version == 1
