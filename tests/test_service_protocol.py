"""One HTTP connection, byte by byte: whole, split, pipelined, cut off, nonsensical, too much.

Answers are read by h11, which knows HTTP from elsewhere.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits.service.house import House
from driftbandits.service.http.app import App
from driftbandits.service.http.keys import Keyring
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.protocol import Connection
from driftbandits.service.http.server import make_app
from driftbandits.service.http.upkeep import Upkeep
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.policy_settings import PolicySettings
from service_running import PLAIN

BODY = b'{"actions": [{"id": "a", "features": {"kind": "a"}}]}'
HEAD = b"POST /v1/policies/plain/decisions HTTP/1.1\r\nhost: localhost\r\n"
DECIDE = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
CHUNKED = (
    HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"5;name=value\r\n%s\r\n%x\r\n%s\r\n0\r\ntrailer: 1\r\n\r\n"
    % (BODY[:5], len(BODY) - 5, BODY[5:])
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LOOK = b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
NOWHERE = b"GET /nowhere?a=b HTTP/1.1\r\nhost: localhost\r\n\r\n"
WITH_BODY = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc"
BAD_JSON = HEAD + b"content-length: 1\r\n\r\n{"
FOREIGN = HEALTH.replace(b"localhost", b"example.org")

# What a request is answered with, and whether a body belongs to it.
REQUESTS: dict[bytes, tuple[bytes, int]] = {
    DECIDE: (b"POST", 200),
    CHUNKED: (b"POST", 200),
    HEALTH: (b"GET", 200),
    LOOK: (b"HEAD", 200),
    NOWHERE: (b"GET", 404),
    WITH_BODY: (b"GET", 200),
    BAD_JSON: (b"POST", 400),
    FOREIGN: (b"GET", 403),
}


class Wire(asyncio.Transport):
    """The other end of a connection: keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed, self.ended, self.reading = b"", False, False, True

    def write(self, data: Any) -> None:
        assert not self.closed
        assert not self.ended
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def made_house() -> House:
    house = House.open(MemoryStore(), snapshot_every=0)
    house.put_policy("plain", PolicySettings.from_dict(PLAIN))
    house.commit()
    return house


@pytest.fixture(scope="module")
def house() -> House:
    return made_house()


def app_of(house: House, limits: Limits) -> App:
    upkeep = Upkeep(house, folder=None, keep_days=None)
    return make_app(house, keyring=Keyring(), limits=limits, upkeep=upkeep)


async def settled(app: App, wire: Wire) -> None:
    """Let everything happen that can."""
    before = -1
    while len(wire.written) != before or app.committer._waiting:
        before = len(wire.written)
        for _ in range(4):
            await asyncio.sleep(0)


def talk(house: House, *pieces: bytes, limits: Limits | None = None) -> tuple[Wire, App]:
    """What a client gets that sends these pieces, and stays."""
    limits = limits or Limits()
    app, wire = app_of(house, limits), Wire()

    async def run() -> None:
        connection = Connection(app, set(), limits)
        connection.connection_made(wire)
        for piece in pieces:
            if not wire.closed:
                connection.data_received(piece)
        await settled(app, wire)
        connection.connection_lost(None)
        assert app.vitals.under_way == 0

    asyncio.run(run())
    return wire, app


def answers(written: bytes, methods: list[bytes]) -> list[tuple[int, bytes]]:
    """Status and body of the answers to requests of these methods."""
    client = h11.Connection(h11.CLIENT)
    client.receive_data(written)
    found = list[tuple[int, bytes]]()
    for method in methods:
        client.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
        client.send(h11.EndOfMessage())
        status, body = 0, b""
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            assert event is not h11.NEED_DATA, "an answer is missing"
            assert not isinstance(event, h11.ConnectionClosed)
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
        found.append((status, body))
        if client.their_state is not h11.DONE:
            break
        client.start_next_cycle()
    assert not client.trailing_data[0] or client.their_state is h11.MUST_CLOSE
    return found


def alike(written: bytes, methods: list[bytes]) -> list[tuple[int, bytes]]:
    """The answers without what differs from call to call."""
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


# --- nonsense


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


# --- sizes


@pytest.mark.parametrize(
    "stream",
    [
        HEALTH[:-2] + b"x: " + b"y" * 2000 + b"\r\n\r\n",
        HEALTH[:-2] + b"x: y\r\n" * 300 + b"\r\n",
        b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ],
    ids=["one header", "many headers", "path"],
)
@pytest.mark.parametrize("size", [10_000, 100], ids=["at once", "in pieces"])
def test_a_long_head_is_refused(house: House, stream: bytes, size: int) -> None:
    pieces = [stream[n : n + size] for n in range(0, len(stream), size)]
    wire, _ = talk(house, *pieces, limits=Limits(head_bytes=1000))
    assert wire.written.startswith(b"HTTP/1.1 431 ")
    assert b"connection: close\r\n" in wire.written
    assert wire.ended


def test_headers_behind_the_body_are_bounded_too(house: House) -> None:
    trailers = [CHUNKED[:-2], *[b"t: %s\r\n" % (b"y" * 90)] * 30]
    wire, _ = talk(house, *trailers, limits=Limits(head_bytes=1000))
    assert wire.written.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "stream",
    [HEAD + b"content-length: 5000\r\n\r\n", HEAD + b"transfer-encoding: chunked\r\n\r\nfff\r\n"],
    ids=["told", "found"],
)
def test_a_long_body_is_refused_before_it_is_whole(house: House, stream: bytes) -> None:
    wire, _ = talk(house, stream, b"x" * 2000, limits=Limits(body_bytes=1000))
    assert wire.written.startswith(b"HTTP/1.1 413 ")
    assert wire.written.count(b"HTTP/1.1 ") == 1
    assert wire.ended


def test_a_body_that_nobody_reads_is_not_kept(house: House) -> None:
    stream = (
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000\r\n\r\n" + b"x" * 5000
    )
    wire, _ = talk(house, stream + HEALTH, limits=Limits(body_bytes=1000))
    assert [status for status, _ in answers(wire.written, [b"GET", b"GET"])] == [200, 200]


# --- what clients may say about the connection


@pytest.mark.parametrize(
    "stream",
    [
        HEALTH[:-2] + b"connection: close\r\n\r\n",
        HEALTH.replace(b"1.1", b"1.0"),
        HEALTH[:-2] + b"connection: upgrade\r\nupgrade: h2c\r\n\r\n",
    ],
    ids=["close", "1.0", "upgrade"],
)
def test_the_last_request_of_a_connection(house: House, stream: bytes) -> None:
    wire, _ = talk(house, stream + HEALTH, HEALTH)
    assert wire.written.startswith(b"HTTP/1.1 200 ")
    assert wire.written.count(b"HTTP/1.1 ") == 1
    assert b"connection: close\r\n" in wire.written
    assert wire.ended


def test_a_client_that_waits_for_leave_gets_it(house: House) -> None:
    head = HEAD + b"Expect: 100-Continue\r\ncontent-length: %d\r\n\r\n" % len(BODY)
    wire, _ = talk(house, head)
    assert wire.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    wire, _ = talk(house, head, BODY)
    assert answers(wire.written, [b"POST"])[0][0] == 200
    wire, _ = talk(house, head.replace(b"localhost", b"example.org"))
    assert wire.written.startswith(b"HTTP/1.1 403 ")
    assert wire.ended


@pytest.mark.parametrize(
    ("target", "status"),
    [(b"http://localhost/healthz", 200), (b"/healthz#part", 200), (b"*", 404), (b"/%ff", 400)],
)
def test_targets(house: House, target: bytes, status: int) -> None:
    request = b"GET %s HTTP/1.1\r\nhost: localhost\r\n\r\n" % target
    assert answers(talk(house, request)[0].written, [b"GET"])[0][0] == status


def test_a_client_that_has_finished_sending_gets_its_answer(house: House) -> None:
    limits, wire = Limits(), Wire()
    app = app_of(house, limits)

    async def run() -> None:
        connection = Connection(app, set(), limits)
        connection.connection_made(wire)
        connection.data_received(DECIDE)
        assert connection.eof_received() is True
        await settled(app, wire)
        assert wire.closed

    asyncio.run(run())
    assert answers(wire.written, [b"POST"])[0][0] == 200


# --- patience


def looked_at(house: House, seconds: float, *pieces: bytes, unread: bool = False) -> Wire:
    """The connection of a client that sends pieces and then does nothing for some seconds."""
    limits, wire = Limits(arrival_seconds=20.0, idle_seconds=75.0), Wire()
    app = app_of(house, limits)

    async def run() -> None:
        connection = Connection(app, set(), limits)
        connection.connection_made(wire)
        for piece in pieces:
            connection.data_received(piece)
        if unread:
            connection.pause_writing()
        await settled(app, wire)
        connection.look(asyncio.get_running_loop().time() + seconds)
        await settled(app, wire)
        connection.connection_lost(None)
        assert app.vitals.under_way == 0

    asyncio.run(run())
    return wire


@pytest.mark.parametrize("pieces", [[], [DECIDE[:30]], [DECIDE[:-5]], [HEALTH, DECIDE[:-5]]])
def test_a_request_must_arrive_in_time(house: House, pieces: list[bytes]) -> None:
    assert b" 408 " not in looked_at(house, 19.0, *pieces).written
    late = looked_at(house, 21.0, *pieces)
    assert b"HTTP/1.1 408 " in late.written
    assert late.ended


def test_a_silent_connection_is_closed_without_a_word(house: House) -> None:
    assert not looked_at(house, 74.0, HEALTH).closed
    silent = looked_at(house, 76.0, HEALTH)
    assert silent.closed
    assert silent.written.count(b"HTTP/1.1 ") == 1


def test_who_does_not_read_is_sent_away(house: House) -> None:
    stuck = looked_at(house, 19.0, HEALTH, HEALTH, unread=True)
    assert not stuck.closed
    assert looked_at(house, 21.0, HEALTH, HEALTH, unread=True).closed


def test_after_the_last_answer_the_connection_lingers_and_closes(house: House) -> None:
    assert not looked_at(house, 1.0, b"\x00").closed
    assert looked_at(house, 3.0, b"\x00").closed


def test_draining_waits_for_what_has_begun(house: House) -> None:
    limits = Limits()
    app = app_of(house, limits)

    async def run() -> None:
        wires = [Wire() for _ in range(4)]
        connections = [Connection(app, set(), limits) for _ in wires]
        beginnings = [b"", HEALTH, DECIDE[:20], DECIDE[:-3]]
        for connection, wire, piece in zip(connections, wires, beginnings, strict=True):
            connection.connection_made(wire)
            connection.data_received(piece)
        app.draining = True
        assert [connection.drain() for connection in connections] == [False, False, True, True]
        assert [wire.closed for wire in wires] == [True, True, False, False]
        connections[2].data_received(DECIDE[20:])
        connections[3].data_received(DECIDE[-3:])
        await settled(app, wires[2])
        for wire in wires[2:]:
            assert answers(wire.written, [b"POST"])[0][0] == 200
            assert b"connection: close\r\n" in wire.written
        assert not any(connection.drain() for connection in connections)

    asyncio.run(run())


def test_no_request_runs_for_a_client_that_has_gone(house: House) -> None:
    limits, wire = Limits(), Wire()
    app = app_of(house, limits)

    async def run() -> None:
        connection = Connection(app, set(), limits)
        connection.connection_made(wire)
        before = house.policy("plain").decisions
        connection.data_received(DECIDE * 3)  # the first runs, two wait for its answer
        wire.closed = True
        connection.connection_lost(None)
        await settled(app, wire)
        assert house.policy("plain").decisions == before + 1
        assert app.vitals.under_way == 0

    asyncio.run(run())
    assert wire.written == b""
