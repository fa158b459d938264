"""Server-sent events: sends a value once per second until the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

MEDIA_TYPE = b"text/event-stream"
_PERIOD = 1.0  # seconds


class Stream(NamedTuple):
    """An endless answer.

    Attributes:
        value: Returns the next value, as one line of JSON.
        ended: Whether the server is shutting down.
    """

    value: Callable[[], bytes]
    ended: Callable[[], bool]
    status: int = 200

    async def run(self, transport: asyncio.WriteTransport) -> None:
        """Send until the client or the server ends; a slow client misses some values."""
        while not (transport.is_closing() or self.ended()):
            if transport.get_write_buffer_size() == 0:
                transport.write(b"data: " + self.value() + b"\n\n")
            await asyncio.sleep(_PERIOD)
        transport.close()
