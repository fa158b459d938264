"""One HTTP/1.1 connection: turns bytes into requests, and answers into bytes.

httptools parses. This module limits the length of heads and bodies, the time that a request takes
to arrive, the time without a request, and the time that answers stay unread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import cast

import httptools

from .app import App, Request
from .bodies import too_long
from .heads import Head, Headers, path_and_query
from .limits import Limits
from .problems import Problem
from .routing import Answer, problem_answer
from .streams import MEDIA_TYPE as EVENTS_TYPE
from .streams import Stream
from .writing import answer_bytes, endless_head

_CROWD = Problem(503, "too_many_connections", "Too many connections", "try again in a second")
_LONG = Problem(431, "head_too_long", "Request head too long", "send fewer or shorter headers")
_SLOW = Problem(408, "too_slow", "Request too slow", "the request did not arrive in time")
_NOT_HTTP = Problem(400, "not_http", "Not HTTP", "the request is not HTTP/1.1")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

# Seconds for which bytes are still accepted after the last answer. If the socket closed at once,
# the kernel could reset the connection, and the client might never see the answer.
_LINGER = 2.0


class Connection(asyncio.Protocol):
    """A connection with limits.

    Requests run one at a time, so that answers are in order. A request that arrives while another
    runs has to wait, and meanwhile nothing more is read. `look` checks time limits once per second,
    so that no request needs a timer.

    Args:
        app: The application that answers.
        others: All connections of the server; this one adds and removes itself.
        limits: The limits.
    """

    def __init__(self, app: App, others: set[Connection], limits: Limits) -> None:
        self._app, self._others, self._limits = app, others, limits
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport = cast(asyncio.Transport, None)
        # The arriving request.
        self._url, self._headers, self._head_bytes = b"", Headers(), 0
        self._pieces, self._body_bytes = list[bytes](), 0
        self._arriving: Request | None = None
        self._expects = False  # the client waits for "100 Continue" before it sends the body
        self._unparsed = 0  # bytes since the parser last completed a part
        # Complete requests, and whether one of them runs.
        self._waiting = deque[tuple[Request, bytes]]()
        self._running = self._starting = self._paused = False
        self._last = False  # no further request is accepted
        self._finished = False  # the client sends nothing more
        # Times; None means that the time does not apply.
        self._since: float | None = self._loop.time()  # when a request began to arrive
        self._quiet = 0.0  # when the latest answer was sent
        self._unread: float | None = None  # when answers began to pile up
        self._ended: float | None = None  # when the final answer was sent

    # --- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or refuse it if there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        self._others.add(self)
        if len(self._others) > self._limits.connections:
            self._last = True
            self._transport.write(answer_bytes(problem_answer(_CROWD), closes=True))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the requests that have not run."""
        self._others.discard(self)
        self._last = True
        self._give_up()
        for request, _ in self._waiting:
            self._app.drop(request)
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        """Parse, and run the complete requests."""
        if self._last:
            return
        self._unparsed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # answered like a request without an upgrade
            self._last = True
        except httptools.HttpParserError:
            if not self._last:
                self._refuse(_NOT_HTTP)
        if not self._last and self._unparsed > self._limits.head_bytes:
            self._refuse(_LONG)
        self._start()

    def eof_received(self) -> bool:
        """The client sends nothing more. Returns whether an answer must still be sent."""
        self._last = self._finished = True
        self._give_up()
        return self._running or bool(self._waiting)

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        self._unread = self._loop.time()

    def resume_writing(self) -> None:
        """The client reads its answers again."""
        self._unread = None
        self._start()

    # --- called by the parser

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._since is None:
            self._since = self._loop.time()
        self._url, self._headers, self._head_bytes = b"", [], 0
        self._pieces, self._body_bytes, self._expects = [], 0, False

    def on_url(self, url: bytes) -> None:
        """A piece of the first line."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer. Trailers are ignored."""
        self._head_bytes += len(name) + len(value) + 4  # with ": " and the end of the line
        if self._arriving is None:
            name = name.lower()
            self._headers.append((name, value))
            if name == b"expect":
                self._expects = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        """The head is complete: find the route."""
        self._unparsed = 0
        if self._last:
            return
        if self._head_bytes + len(self._url) > self._limits.head_bytes:
            self._refuse(_LONG)
            return
        path, query = path_and_query(self._url)  # an error here ends the parser
        method = self._parser.get_method().decode("ascii")
        self._arriving = self._app.open(Head(method, path, query, self._headers))
        refusal = self._arriving.refusal
        if refusal is not None and (self._expects or refusal.status == 413):
            self._refuse_with(self._arriving)
        elif self._expects and not self._running and not self._waiting:
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._unparsed = 0
        if self._arriving is None or not self._arriving.takes_body:
            return
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            self._arriving.refusal = problem_answer(too_long(self._limits))
            self._refuse_with(self._arriving)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """The request is complete; it runs when the parser is done."""
        request, self._unparsed = self._arriving, 0
        if request is None or self._last:
            return
        parser, pieces = self._parser, self._pieces
        self._arriving = self._since = None
        self._waiting.append((request, pieces[0] if len(pieces) == 1 else b"".join(pieces)))
        if not parser.should_keep_alive() or parser.get_http_version() == "1.0":
            self._last = True

    # --- requests and answers

    def _start(self) -> None:
        """Run the waiting requests, one after the other."""
        if self._starting:
            return
        self._starting = True
        while self._waiting and not self._running and self._unread is None:
            self._running = True
            self._app.run(*self._waiting.popleft(), self._answer)
        self._starting = False
        if bool(self._waiting) != self._paused and not self._transport.is_closing():
            self._paused = not self._paused
            if self._paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _answer(self, request: Request, answer: Answer | Stream) -> None:
        """Send an answer, and start the next request."""
        self._running = False
        transport = self._transport
        if transport.is_closing():
            return
        without_body = request.head.method == "HEAD"
        if isinstance(answer, Stream):
            transport.write(endless_head(answer.status, EVENTS_TYPE))
            self._last, self._running = True, not without_body
            if without_body:
                transport.close()
            else:
                self._app.keep(answer.run(transport))
            return
        closes = self._last_answer
        transport.write(answer_bytes(answer, without_body=without_body, closes=closes))
        self._quiet = self._loop.time()
        if closes:
            self._end()
        elif self._waiting:
            self._start()

    @property
    def _last_answer(self) -> bool:
        """Whether this is the last answer on the connection."""
        if self._waiting:
            return False
        return self._last or (self._app.draining and self._arriving is None)

    def _refuse(self, problem: Problem) -> None:
        """Answer with a problem after the waiting requests, and accept no more requests."""
        self._give_up()
        self._refuse_with(self._app.refused(problem))

    def _refuse_with(self, request: Request) -> None:
        """Answer a request without reading its rest, and accept no more requests."""
        self._arriving, self._last = None, True
        self._pieces = []
        self._waiting.append((request, b""))

    def _give_up(self) -> None:
        """Forget the arriving request."""
        self._since = None
        if self._arriving is not None:
            self._app.drop(self._arriving)
            self._arriving = None

    def _end(self) -> None:
        """Send end-of-file; the connection closes later, when the client has read the answers."""
        self._last, self._ended = True, self._loop.time()
        if self._finished or not self._transport.can_write_eof():
            self._transport.close()
        else:
            self._transport.write_eof()

    # --- called by the server

    def look(self, now: float) -> bool:
        """Close the connection if a time limit has passed. Returns whether the client was slow."""
        limits = self._limits
        if self._ended is not None:
            sent = self._transport.get_write_buffer_size() == 0
            if now - self._ended > (_LINGER if sent else limits.arrival_seconds):
                self._transport.abort()
            return False
        if self._unread is not None and now - self._unread > limits.arrival_seconds:
            self._transport.abort()
            return True
        if self._running or self._waiting:
            return False
        if self._since is not None:
            if now - self._since > limits.arrival_seconds:
                self._refuse(_SLOW)
                self._start()
                return True
        elif now - self._quiet > limits.idle_seconds:
            self._transport.close()
        return False

    def drain(self) -> bool:
        """Close unless a request is arriving or an answer must be sent; then return True."""
        begun = self._arriving is not None or (self._unparsed > 0 and not self._last)
        sending = self._transport.get_write_buffer_size() > 0
        if begun or sending or self._running or self._waiting:
            return True
        self._transport.close()
        return False

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()
