"""Bad input gets a problem document that names the error, and nothing else happens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from driftbandits.service.http.limits import Limits
from service_running import OFFERED, connected

DECIDE = "/v1/policies/plain/decisions"
LIMITS = Limits(body_bytes=20_000, head_bytes=4_000, depth=6, actions=10, batch=5)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with connected(limits=LIMITS) as client:
        yield client


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document, after checking the fields that all of them need."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    document: dict[str, Any] = answer.json()
    assert document["status"] == status
    assert document["type"].startswith("urn:driftbandits:problem:")
    assert document["title"]
    assert document["detail"]
    return document


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, "$", "actions"),
        ({"actions": "a"}, "$.actions", "array"),
        ({"actions": ["a", 3]}, "$.actions[1]", "int"),
        ({"actions": [{"features": {}}]}, "$.actions[0]", "id"),
        ({"actions": [{"id": "a", "feature": {}}]}, "$.actions[0]", "feature"),
        ({"actions": ["a"], "contxt": {}}, "$", "contxt"),
        ({"actions": ["a"], "defer": "yes"}, "$.defer", "bool"),
        ({"actions": ["a"], "event_id": 7}, "$.event_id", "int"),
        ({"actions": ["a"] * 11}, "$.actions", "at most 10"),
        ([], "$", "object"),
    ],
)
def test_a_wrong_value_is_named(http: httpx.Client, body: Any, field: str, words: str) -> None:
    document = problem(http.post(DECIDE, json=body), 422)
    assert document["field"] == field
    assert words in document["detail"]


@pytest.mark.parametrize(
    "body",
    [
        {"actions": []},
        {"actions": ["a", "a"]},
        {"actions": OFFERED, "exclude": ["a", "b", "c"]},
        {"actions": [{"id": "a", "features": {"kind": 3.5}}]},
        {"actions": [{"id": "a", "features": {"unheard": 1}}]},
        {"actions": OFFERED, "context": {"unheard": 1}},
        {"actions": OFFERED, "event_id": ""},
        {"actions": OFFERED, "event_id": "x" * 3000},
    ],
)
def test_what_the_policy_cannot_use_is_refused(http: httpx.Client, body: Any) -> None:
    before = http.get("/v1/policies/plain").json()
    problem(http.post(DECIDE, json=body), 422)
    assert http.get("/v1/policies/plain").json() == before


@pytest.mark.parametrize(
    "body", [b"", b"{", b"{'a': 1}", b'{"actions": ["\xff"]}', b'{"actions": [1e999]}', b"NaN"]
)
def test_what_is_not_json_is_refused(http: httpx.Client, body: bytes) -> None:
    assert http.post(DECIDE, content=body).status_code in (400, 422)


@pytest.mark.parametrize("value", ["1e999", "-1e999", "NaN", '"1"', "null", "true", "[1]"])
def test_a_reward_must_be_a_finite_number(http: httpx.Client, value: str) -> None:
    http.post(DECIDE, json={"actions": OFFERED, "event_id": "finite"})
    answer = http.post("/v1/decisions/finite/reward", content=f'{{"reward": {value}}}')
    assert answer.status_code in (400, 422)
    assert http.post("/v1/decisions/finite/reward", json={"reward": 1}).status_code == 200


def test_a_long_body_is_refused_by_its_header_and_by_its_length(http: httpx.Client) -> None:
    long = json.dumps({"actions": ["a"], "context": {"x": "y" * 30_000}}).encode()
    assert problem(http.post(DECIDE, content=long), 413)
    pieces = (long[start : start + 1000] for start in range(0, len(long), 1000))
    assert problem(http.post(DECIDE, content=pieces), 413)  # chunked: no length in the header


def test_a_deep_body_is_refused(http: httpx.Client) -> None:
    for depth in (7, 500, 9_000):
        body = '{"actions": ["a"], "context": {"x": ' + "[" * depth + "]" * depth + "}}"
        assert problem(http.post(DECIDE, content=body), 422)["title"] == "Body nested too deeply"
    for depth in (10, 9_000):
        body = "[" * depth
        assert http.post(DECIDE, content=body).status_code in (400, 422)


def test_a_body_as_deep_as_allowed_is_read(http: httpx.Client) -> None:
    body = {"actions": [{"id": "a", "features": {"kind": "a"}}] * 3, "context": {"x": [[["y"]]]}}
    document = problem(http.post(DECIDE, json=body), 422)
    assert "deep" not in document["title"]


def test_a_batch_has_a_size(http: httpx.Client) -> None:
    entries = [{"event_id": "e", "reward": 1.0}] * 6
    assert "5" in problem(http.post("/v1/rewards:batch", json={"rewards": entries}), 422)["detail"]
    body = {"decisions": [{"actions": ["a"]}] * 6}
    assert problem(http.post(f"{DECIDE}:batch", json=body), 422)["field"] == "$.decisions"


def test_a_wrong_entry_refuses_its_batch(http: httpx.Client) -> None:
    before = http.get("/v1/policies/plain").json()
    body = {"decisions": [{"actions": OFFERED}, {"actions": 3}]}
    assert (
        problem(http.post(f"{DECIDE}:batch", json=body), 422)["field"] == "$.decisions[1].actions"
    )
    assert http.get("/v1/policies/plain").json() == before


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"learner": "Nobody"}, "learner must be one of"),
        ({"wait": -1}, "wait"),
        ({"floor": 2}, "floor"),
        ({"colour": "red"}, "colour"),
        ({"features": {"context": {"x": {"kind": "odd"}}}}, "kind must be one of"),
        ({"config": {"dim": 3}}, "dim"),
    ],
)
def test_wrong_settings_are_named(http: httpx.Client, settings: Any, words: str) -> None:
    assert words in problem(http.put("/v1/policies/new", json=settings), 422)["detail"]
    assert http.get("/v1/policies/new").status_code == 404


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=5000", "afer=1"])
def test_a_wrong_query_is_named(http: httpx.Client, query: str) -> None:
    document = problem(http.get(f"/v1/policies/plain/events?{query}"), 422)
    assert document["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/policies/",
        "/v1/policies/plain/decisions/",
        "/v1//policies",
        "/v2/policies",
        "/dashboard/..%2f..%2fhouse.py",
        "/dashboard/%2e%2e/app.py",
        "/etc/passwd",
        "/v1/policies/..%2f..%2fetc%2fpasswd",
    ],
)
def test_there_are_no_other_paths(http: httpx.Client, path: str) -> None:
    problem(http.get(path), 404)


def test_a_name_that_is_not_utf8_is_refused(http: httpx.Client) -> None:
    problem(http.get("/v1/policies/%ff"), 400)


def test_another_method_is_told_which_there_are(http: httpx.Client) -> None:
    answer = http.patch("/v1/policies/plain")
    problem(answer, 405)
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PUT"


def test_nothing_gets_into_a_header(http: httpx.Client) -> None:
    name = "x%0d%0aset-cookie:%20stolen=1"
    for answer in (
        http.get(f"/v1/policies/{name}"),
        http.post(f"/v1/decisions/{name}/activate"),
        http.put(f"/v1/policies/{name}", json={"learner": "\r\nset-cookie: stolen=1"}),
    ):
        assert answer.status_code in (404, 422)
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8080"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"host": "127.0.0.1.evil.example"},
    ],
)
def test_without_keys_pages_from_elsewhere_are_refused(
    http: httpx.Client, headers: dict[str, str]
) -> None:
    problem(http.get("/v1/policies", headers=headers), 403)


def raw(http: httpx.Client, request: bytes) -> bytes:
    """The answer to bytes that no client would send."""
    place = urlsplit(str(http.base_url))
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=20) as sock:
        sock.sendall(request)
        received = b""
        while piece := sock.recv(65536):
            received += piece
    return received


def test_a_head_without_end_is_refused(http: httpx.Client) -> None:
    answer = raw(http, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"x-a: b\r\n" * 1000)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert raw(http, b"GET /" + b"a" * 10_000).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "request_",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_refused(http: httpx.Client, request_: bytes) -> None:
    answer = raw(http, request_)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer
    assert http.get("/healthz").status_code == 200
