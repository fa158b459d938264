"""The ASGI application: admits, routes, runs, and answers once everything is durable."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from ..errors import JournalError, ServiceError
from ..house import House
from .admission import Admission
from .asgi import Receive, Scope, Send
from .bodies import Disconnected, read_body
from .committing import Committer, end_process
from .keys import Keyring
from .limits import Limits
from .problems import Problem, of_service
from .routing import Answer, Call, NotAllowed, Route, Router, problem_answer
from .streams import Stream
from .vitals import Vitals

_log = logging.getLogger("driftbandits.service")

# On every answer: the type is what it says, and nothing is kept on the way.
_COMMON = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_BUSY = Problem(503, "busy", "Too many requests under way", "try again in a second")
_BROKEN = Problem(500, "internal_error", "Internal error", "see the log of the server")


class App:
    """Answers requests to one house.

    Every endpoint runs to its end without a pause, in the order in which requests come. What it
    changed is committed at the end of the tick, and only then its answer leaves. Answers that
    changed nothing wait as well if anything is pending, because they may tell of it.
    """

    def __init__(
        self,
        house: House,
        *,
        keyring: Keyring,
        limits: Limits,
        vitals: Vitals,
        routes: Sequence[Route],
    ) -> None:
        self.vitals, self.draining = vitals, False
        self.committer = Committer(house, measured=vitals.commit)
        self._house, self._limits = house, limits
        self._admission = Admission(keyring)
        self._router = Router(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        start, vitals = time.perf_counter(), self.vitals
        vitals.under_way += 1
        route: Route | None = None
        answer: Answer | Stream
        try:
            try:
                route, names = self._router.find(scope["method"], scope["raw_path"])
                answer = await self._answer(route, names, scope, receive)
            except Disconnected:
                return
            except Exception as error:
                answer = self._refusal(error, route)
            if self._house.pending:
                await self.committer.durable()
        finally:
            vitals.under_way -= 1
        path = "" if route is None else route.path
        vitals.requests[scope["method"], path, answer.status] += 1
        if path == "/v1/policies/{policy}/decisions":
            vitals.decisions.add(time.perf_counter() - start)
        if isinstance(answer, Stream):
            await answer.run(receive, send, _COMMON)
        else:
            await _send(answer, send)

    async def _answer(
        self, route: Route, names: tuple[str, ...], scope: Scope, receive: Receive
    ) -> Answer | Stream:
        caller = self._admission.admit(route.role, scope["headers"])
        if self.vitals.under_way > self._limits.requests and route.role is not None:
            raise _BUSY
        body = b""
        if route.takes is not None:
            body = await read_body(receive, scope["headers"], self._limits)
        call = Call(names, body, scope["query_string"], caller)
        answer: Answer | Stream = await route.endpoint(call) if route.slow else route.endpoint(call)
        return answer

    def _refusal(self, error: Exception, route: Route | None) -> Answer:
        """The answer to a request that went wrong."""
        if isinstance(error, JournalError):
            end_process(error)
        if isinstance(error, ServiceError):
            problem = of_service(error)
        elif isinstance(error, Problem):
            problem = error
        else:
            _log.error("a request failed: %s", type(error).__name__, exc_info=error)
            problem = _BROKEN
        answer = problem_answer(problem) if route is None else route.refusal(problem)
        if isinstance(error, NotAllowed):
            return answer._replace(headers=[*answer.headers, (b"allow", error.allow.encode())])
        return answer


async def _send(answer: Answer, send: Send) -> None:
    headers: list[Any] = [(b"content-length", b"%d" % len(answer.body)), *_COMMON]
    if answer.body:
        headers.append((b"content-type", answer.media))
    headers += answer.headers
    if answer.status == 204:
        headers = headers[1:]  # RFC 9110 forbids the length of nothing
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
