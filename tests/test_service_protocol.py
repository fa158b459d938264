"""Requests on one connection: whole, split at any byte, pipelined, and mixed with garbage."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits.service.house import House
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.protocol import Connection
from service_wire import (
    BAD_JSON,
    CHUNKED,
    DECIDE,
    HEAD,
    HEALTH,
    LOOK,
    REQUESTS,
    Wire,
    answers,
    app_of,
    made_house,
    settled,
    talk,
)


@pytest.fixture(scope="module")
def house() -> House:
    return made_house()


def alike(written: bytes, methods: list[bytes]) -> list[tuple[int, bytes]]:
    """The answers without the parts that differ from call to call."""
    differs = rb"\"event_id\":\"e\d+\"|\"round\":[\d.]+"
    return [(status, re.sub(differs, b"", body)) for status, body in answers(written, methods)]


# --- split and pipelined


def test_all_kinds_of_requests_are_answered_in_order(house: House) -> None:
    wire, _ = talk(house, b"".join(REQUESTS))
    found = answers(wire.written, [method for method, _ in REQUESTS.values()])
    assert [status for status, _ in found] == [status for _, status in REQUESTS.values()]
    assert b'"action":"a"' in found[0][1]
    assert b'"action":"a"' in found[1][1]
    assert found[3][1] == b""
    assert wire.reading
    assert not wire.closed


def test_splitting_at_any_byte_changes_nothing(house: House) -> None:
    requests = [DECIDE, CHUNKED, LOOK, BAD_JSON, HEALTH]
    stream, methods = b"".join(requests), [REQUESTS[request][0] for request in requests]
    whole = alike(talk(house, stream)[0].written, methods)
    assert len(whole) == len(requests)
    for place in range(1, len(stream)):
        assert alike(talk(house, stream[:place], stream[place:])[0].written, methods) == whole
    one_by_one = [stream[n : n + 1] for n in range(len(stream))]
    assert alike(talk(house, *one_by_one)[0].written, methods) == whole


@settings(max_examples=100, deadline=None)
@given(requests=st.lists(st.sampled_from(list(REQUESTS)), min_size=1, max_size=12), data=st.data())
def test_any_pipeline_in_any_pieces(house: House, requests: list[bytes], data: Any) -> None:
    stream = b"".join(requests)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    wire, _ = talk(house, *pieces)
    found = answers(wire.written, [REQUESTS[request][0] for request in requests])
    assert [status for status, _ in found] == [REQUESTS[request][1] for request in requests]


def test_what_waits_is_not_read_beyond(house: House) -> None:
    limits, wire = Limits(), Wire()
    app = app_of(house, limits)

    async def run() -> None:
        connection = Connection(app, set(), limits)
        connection.connection_made(wire)
        connection.data_received(DECIDE * 3)
        assert wire.written == b""  # nothing is durable yet
        assert not wire.reading
        await settled(app, wire)
        assert wire.reading
        connection.connection_lost(None)

    asyncio.run(run())
    assert len(answers(wire.written, [b"POST"] * 3)) == 3


# --- garbage


@settings(max_examples=300, deadline=None)
@given(
    start=st.sampled_from([b"", HEAD, DECIDE[:40], CHUNKED[:-9], HEALTH]),
    noise=st.binary(max_size=200),
    rest=st.sampled_from([b"", DECIDE, b"\r\n\r\n"]),
    cut=st.integers(0, 200),
)
def test_nonsense_is_refused_or_awaited(
    house: House, start: bytes, noise: bytes, rest: bytes, cut: int
) -> None:
    stream = start + noise + rest
    wire, app = talk(house, stream[:cut], stream[cut:])
    assert wire.written == b"" or wire.written.startswith(b"HTTP/1.1 ")
    assert not any(status >= 500 for _, _, status in app.vitals.requests)


@settings(max_examples=300, deadline=None)
@given(
    request=st.sampled_from(list(REQUESTS)),
    changes=st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=3)), max_size=4),
)
def test_a_request_with_bytes_changed_breaks_nothing(
    house: House, request: bytes, changes: list[tuple[int, bytes]]
) -> None:
    changed = bytearray(request)
    for place, piece in changes:
        changed[place % len(changed) : place % len(changed) + 1] = piece
    _, app = talk(house, bytes(changed), HEALTH)
    assert not any(status >= 500 for _, _, status in app.vitals.requests)


def test_a_refusal_comes_after_the_answers_before_it(house: House) -> None:
    wire, _ = talk(house, DECIDE + b"\x00nonsense\r\n\r\n" + HEALTH)
    assert [status for status, _ in answers(wire.written, [b"POST", b"GET"])] == [200, 400]
    assert wire.ended
    assert wire.written.count(b"HTTP/1.1 ") == 2
