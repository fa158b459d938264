"""A client of one HTTP connection, without a network; h11 parses the answers."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any

import h11

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

# The answer to each request, and whether it has a body.
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
    """The other end of a connection; it keeps everything that is written."""

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


@lru_cache(maxsize=16)
def app_of(house: House, limits: Limits) -> App:
    upkeep = Upkeep(house, folder=None, keep_days=None)
    return make_app(house, keyring=Keyring(), limits=limits, upkeep=upkeep)


async def settled(app: App, wire: Wire) -> None:
    """Run the event loop until nothing more happens."""
    before = -1
    while len(wire.written) != before or app.committer._waiting:
        before = len(wire.written)
        for _ in range(4):
            await asyncio.sleep(0)


def talk(house: House, *pieces: bytes, limits: Limits | None = None) -> tuple[Wire, App]:
    """The bytes that a client receives if it sends these pieces and stays connected."""
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
    """Status and body of the answers to requests with these methods."""
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
