"""Server-sent events: a value once per second, for as long as somebody listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .asgi import Receive, Send

MEDIA_TYPE = b"text/event-stream"
_PERIOD = 1.0  # seconds


class Stream(NamedTuple):
    """An answer without end.

    Attributes:
        value: Gives what is sent next, as one line of JSON.
        ended: Whether the server wants to end.
    """

    value: Callable[[], bytes]
    ended: Callable[[], bool]
    status: int = 200

    async def run(
        self, receive: Receive, send: Send, headers: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Send until the client goes away or the server ends."""
        start = {"type": "http.response.start", "status": self.status}
        await send({**start, "headers": [*headers, (b"content-type", MEDIA_TYPE)]})
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while not (gone.done() or self.ended()):
                event = b"data: " + self.value() + b"\n\n"
                await send({"type": "http.response.body", "body": event, "more_body": True})
                await asyncio.wait({gone}, timeout=_PERIOD)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()


async def _gone(receive: Receive) -> None:
    """Return when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
