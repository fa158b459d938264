"""The application: admits, routes, runs, and answers once everything is durable."""

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
    """A request on its way to an answer.

    Attributes:
        head: Its head.
        start: When the head had come.
        route: What answers it; None where nothing does.
        names: What the path has in the places that vary.
        caller: Who asks.
        refusal: The answer, where the head alone settles it.
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
        """Whether anybody will look at the body."""
        return self.refusal is None and self.route is not None and self.route.takes is not None


Reply = Callable[[Request, Answer | Stream], None]


class App:
    """Answers requests to one house.

    A request is opened when its head has come, and then run with its body, or dropped. Every
    endpoint runs to its end without a pause, in the order in which requests come. What it changed
    is committed at the end of the tick, and only then its answer leaves. Answers that changed
    nothing wait as well if anything is pending, because they may tell of it.
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
        """The request of a head: who answers it, or why nobody does."""
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
        """A request that never became one, and the problem with it."""
        self.vitals.under_way += 1
        request = Request(Head("", b"", b"", []))
        request.refusal = problem_answer(problem)
        return request

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something run beside the requests, to its end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self, request: Request) -> None:
        """Forget a request that nobody waits for, and that was not run."""
        self.vitals.under_way -= 1

    def run(self, request: Request, body: bytes, reply: Reply) -> None:
        """Carry a request out; ``reply`` gets the answer once all it tells is durable."""
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
        """Carry out a request that lets others run meanwhile."""
        try:
            answer: Answer | Stream = await route.endpoint(call)
        except Exception as error:
            answer = self._refusal(error, route)
        except asyncio.CancelledError:
            self.drop(request)
            raise
        self._reply(request, answer, reply)

    def _reply(self, request: Request, answer: Answer | Stream, reply: Reply) -> None:
        """Answer when everything so far is durable."""

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
