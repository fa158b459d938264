"""The application: admits, routes and runs requests, and answers when changes are durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..errors import JournalError, ServiceError
from ..house import House
from .admission import Admission
from .bodies import check_length
from .committing import Committer, end_process
from .heads import Head
from .keys import ANYONE, Caller, Keyring
from .limits import Limits
from .problems import Problem, of_service
from .routing import Answer, Call, NotAllowed, Route, Router, problem_answer
from .streams import Stream
from .vitals import Vitals

_log = logging.getLogger("driftbandits.service")

_BUSY = Problem(503, "busy", "Too many requests under way", "try again in a second")
_BROKEN = Problem(500, "internal_error", "Internal error", "see the log of the server")
_DECIDING = "/v1/policies/{policy}/decisions"


class Request:
    """A request that has no answer yet.

    Attributes:
        head: Its head.
        start: When the head was complete.
        route: The route that answers it; None if there is none.
        names: The segments of the path that match ``{…}``.
        caller: Who asks.
        refusal: The answer, if the head alone decides that the request is refused.
    """

    __slots__ = ("caller", "head", "names", "refusal", "route", "start")

    def __init__(self, head: Head) -> None:
        self.head, self.start = head, time.perf_counter()
        self.route: Route | None = None
        self.names: tuple[str, ...] = ()
        self.caller: Caller = ANYONE
        self.refusal: Answer | None = None

    @property
    def takes_body(self) -> bool:
        """Whether the body will be read."""
        return self.refusal is None and self.route is not None and self.route.takes is not None


Reply = Callable[[Request, Answer | Stream], None]


class App:
    """Answers requests to one house.

    A request is opened when its head is complete, and then run with its body, or dropped.
    Endpoints run without a pause, in the order of the requests; slow ones let others run. Changes
    are committed at the end of the tick, and the answer is sent after that. If a commit is pending,
    answers that changed nothing wait too, because they may show uncommitted changes.
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
        self._tasks = set[asyncio.Task[None]]()

    def open(self, head: Head) -> Request:
        """Make a request from its head, with its route or with the reason for a refusal."""
        self.vitals.under_way += 1
        request = Request(head)
        try:
            request.route, request.names = self._router.find(head.method, head.path)
            request.caller = self._admission.admit(request.route.role, head.headers)
            if self.vitals.under_way > self._limits.requests and request.route.role is not None:
                raise _BUSY
            if request.route.takes is not None:
                check_length(head.headers, self._limits)
        except Exception as error:
            request.refusal = self._refusal(error, request.route)
        return request

    def refused(self, problem: Problem) -> Request:
        """A placeholder for a request that could not be read; it answers with ``problem``."""
        self.vitals.under_way += 1
        request = Request(Head("", b"", b"", []))
        request.refusal = problem_answer(problem)
        return request

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end, beside the requests."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self, request: Request) -> None:
        """Forget a request that was not run, because nobody waits for its answer."""
        self.vitals.under_way -= 1

    def run(self, request: Request, body: bytes, reply: Reply) -> None:
        """Carry out a request; ``reply`` gets the answer when all changes are durable."""
        if request.refusal is not None:
            self._reply(request, request.refusal, reply)
            return
        route = request.route
        assert route is not None
        call = Call(request.names, body, request.head.query, request.caller)
        if route.slow:
            self.keep(self._run_slowly(request, route, call, reply))
            return
        try:
            answer: Answer | Stream = route.endpoint(call)
        except Exception as error:
            answer = self._refusal(error, route)
        self._reply(request, answer, reply)

    async def _run_slowly(self, request: Request, route: Route, call: Call, reply: Reply) -> None:
        """Carry out a request while other requests run."""
        try:
            answer: Answer | Stream = await route.endpoint(call)
        except Exception as error:
            answer = self._refusal(error, route)
        except asyncio.CancelledError:
            self.drop(request)
            raise
        self._reply(request, answer, reply)

    def _reply(self, request: Request, answer: Answer | Stream, reply: Reply) -> None:
        """Answer when all changes so far are durable."""

        def settled() -> None:
            self.vitals.under_way -= 1
            path = "" if request.route is None else request.route.path
            self.vitals.requests[request.head.method, path, answer.status] += 1
            if path == _DECIDING:
                self.vitals.decisions.add(time.perf_counter() - request.start)
            reply(request, answer)

        if self._house.pending:
            self.committer.then(settled)
        else:
            settled()

    def _refusal(self, error: Exception, route: Route | None) -> Answer:
        """The answer to a request that raised an error."""
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
