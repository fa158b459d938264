"""Server-sent events: a value once per second, for as long as somebody listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

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

    async def run(self, transport: asyncio.WriteTransport) -> None:
        """Send until the client goes away or the server ends; a slow client misses some."""
        while not (transport.is_closing() or self.ended()):
            if transport.get_write_buffer_size() == 0:
                transport.write(b"data: " + self.value() + b"\n\n")
            await asyncio.sleep(_PERIOD)
        transport.close()
