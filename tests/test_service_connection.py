"""The limits of one connection: sizes, times, its headers, and its end."""

from __future__ import annotations

import asyncio

import pytest

from driftbandits.service.house import House
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.protocol import Connection
from service_wire import (
    BODY,
    CHUNKED,
    DECIDE,
    HEAD,
    HEALTH,
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


# --- headers about the connection


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


# --- time limits


def looked_at(house: House, seconds: float, *pieces: bytes, unread: bool = False) -> Wire:
    """The connection after a client has sent pieces and then waited for some seconds."""
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
    limits = Limits(drain_seconds=1.0)  # for a separate application, because it shuts down
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
