"""What uvicorn's protocol leaves open: bounds on heads, on connections, and on patience.

uvicorn waits for ever for the first bytes, the rest of a head or the rest of a body, and its
parser takes heads of any length. A few slow or half-open clients could hold every connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Limits
from .problems import Problem, problem_bytes

_BUSY = Problem(503, "too_many_connections", "Too many connections", "try again in a second")
_LONG = Problem(431, "head_too_long", "Request head too long", "send fewer or shorter headers")
_SLOW = Problem(408, "too_slow", "Request too slow", "the request did not arrive in time")


class BoundedProtocol(HttpToolsProtocol):
    """An HTTP/1.1 connection that is allowed so much, and no more.

    Times are looked at once per second (`sweep`) instead of by a timer per request.
    """

    limits = Limits()  # of the class: uvicorn makes the instances

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or send it away where there are too many."""
        super().connection_made(transport)
        self.head_bytes = 0  # since the last head was complete
        self.arriving_since: float | None = self.loop.time()  # None: the request is all there
        if len(self.connections) > self.limits.connections:
            self.refuse(_BUSY)

    def data_received(self, data: bytes) -> None:
        """Parse; but not a head without end."""
        if self.transport.is_closing():
            return
        if self.arriving_since is None:
            self.arriving_since = self.loop.time()
        self.head_bytes += len(data)
        super().data_received(data)
        if self.head_bytes > self.limits.head_bytes and not self.transport.is_closing():
            self.refuse(_LONG)

    def on_headers_complete(self) -> None:
        """A head is complete: what follows is its body, which the application bounds."""
        self.head_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Bytes of a body are none of a head."""
        self.head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is all there."""
        self.head_bytes, self.arriving_since = 0, None
        super().on_message_complete()

    def overdue(self, now: float) -> bool:
        """Whether a request has been arriving for too long; a silent connection counts."""
        since = self.arriving_since
        return since is not None and now - since > self.limits.arrival_seconds

    def refuse(self, problem: Problem) -> None:
        """Say why, unless an answer has begun, and close."""
        cycle: Any = self.cycle  # None before the first request, whatever its annotation says
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(problem_bytes(problem))
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, with a problem document like every other refusal."""
        self.refuse(Problem(400, "not_http", "Not HTTP", "the bytes that came are not HTTP/1.1"))


def sweep(connections: set[Any], now: float) -> int:
    """Close the connections whose requests take too long to arrive, and return how many."""
    slow = [c for c in connections if isinstance(c, BoundedProtocol) and c.overdue(now)]
    for connection in slow:
        connection.refuse(_SLOW)
    return len(slow)
