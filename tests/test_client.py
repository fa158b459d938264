"""The client with the real service, and with a service that fails in every way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from driftbandits.client import AsyncClient, Client, Refused, Unreachable
from driftbandits.service.http.keys import Key, hashed, new_key
from service_running import OFFERED, PLAIN, serving

SECRET = new_key()
ACTIONS = {entry["id"]: entry["features"] for entry in OFFERED}
Answering = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(keys=[Key(name="all", role="admin", hash=hashed(SECRET))]) as server:
        yield server.url


def test_a_decision_and_its_reward(url: str) -> None:
    with Client(url, key=SECRET, timeout=30.0) as client:
        decision = client.decide("plain", ACTIONS, context={}, event_id="with client")
        assert decision.action in ACTIONS
        assert decision.ranking[0] == decision.action
        assert not decision.fallback
        assert client.decide("plain", OFFERED, event_id="with client").repeated
        assert client.reward(decision, 1.0) == "learned"
        assert client.reward("with client", 1.0) == "duplicate"
        later = client.decide("plain", ACTIONS, defer=True, exclude=["a"])
        assert client.activate(later) == "activated"


def test_policies_and_actions(url: str) -> None:
    with Client(url, key=SECRET, timeout=30.0) as client:
        assert client.put_policy("a/b", PLAIN)["name"] == "a/b"
        client.put_action("a/b", "x", {"kind": "a"})
        assert client.decide("a/b", ["x"]).action == "x"
        assert client.diagnostics("a/b")


def test_the_same_without_waiting(url: str) -> None:
    async def talk() -> None:
        async with AsyncClient(url, key=SECRET, timeout=30.0) as client:
            decisions = await asyncio.gather(*(client.decide("plain", ACTIONS) for _ in range(5)))
            assert len({decision.event_id for decision in decisions}) == 5
            assert await client.reward(decisions[0], 0.5) == "learned"
            later = await client.decide("plain", ACTIONS, defer=True)
            assert await client.activate(later) == "activated"
            await client.put_policy("async", PLAIN)
            await client.put_action("async", "x", {"kind": "a"})
            assert await client.diagnostics("async")
            with pytest.raises(Refused):
                await client.diagnostics("nobody")

    asyncio.run(talk())


def test_a_refusal_says_why(url: str) -> None:
    with Client(url, key=SECRET, timeout=30.0) as client, pytest.raises(Refused) as refused:
        client.decide("nobody", ACTIONS)
    assert refused.value.status == 404
    assert refused.value.problem["type"].endswith("unknown_policy")
    with Client(url, key="wrong") as client, pytest.raises(Refused, match="Key unknown"):
        client.decide("plain", ACTIONS, fallback="a")  # a wrong key does not mean unreachable


class Failing:
    """A service that fails a few times before it answers; it remembers the requests."""

    def __init__(self, *failures: Exception | httpx.Response) -> None:
        self.failures, self.bodies = list(failures), list[dict[str, object]]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        answer = {"event_id": self.bodies[-1]["event_id"], "action": "a", "propensity": 1.0}
        answer |= {"ranking": ["a"], "round": 1.0, "policy_version": 1, "mode": "live"}
        return httpx.Response(200, json={**answer, "repeated": len(self.bodies) > 1})


def client_of(service: Answering, retries: int = 2) -> Client:
    transport = httpx.MockTransport(service)
    return Client("http://service", retries=retries, pause=0.001, transport=transport)


def test_retries_carry_the_same_event_id() -> None:
    service = Failing(httpx.ReadTimeout("late"), httpx.Response(503, headers={"retry-after": "0"}))
    decision = client_of(service).decide("plain", ["a"])
    assert len(service.bodies) == 3
    assert {body["event_id"] for body in service.bodies} == {decision.event_id}


def test_an_unreachable_service_raises_or_falls_back() -> None:
    down = httpx.ConnectError("down")
    with pytest.raises(Unreachable, match=r"3 times.*ConnectError"):
        client_of(Failing(down, down, down)).decide("plain", ["a", "b"])
    service = Failing(down, down, down)
    client = client_of(service)
    decision = client.decide("plain", ["a", "b"], fallback="b")
    assert (decision.action, decision.propensity, decision.fallback) == ("b", None, True)
    # The service may have chosen "a"; then a reward for "b" would be learned for the wrong action.
    assert client.reward(decision, 1.0) == "not_decided"
    assert client.activate(decision) == "not_decided"
    assert len(service.bodies) == 3


def test_a_fallback_must_be_offered() -> None:
    with pytest.raises(ValueError, match="fallback must be one of the actions, got 'z'"):
        client_of(Failing()).decide("plain", ["a"], fallback="z")


def test_a_refusal_is_not_repeated() -> None:
    service = Failing(httpx.Response(409, json={"title": "no", "detail": "other body"}))
    with pytest.raises(Refused, match="no: other body"):
        client_of(service).decide("plain", ["a"])
    assert len(service.bodies) == 1


def test_answers_that_are_no_problem_documents_are_refusals_too() -> None:
    for response in (httpx.Response(404, text="proxy"), httpx.Response(400, json=[1])):
        with pytest.raises(Refused):
            client_of(Failing(response)).decide("plain", ["a"])
