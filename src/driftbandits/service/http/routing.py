"""Finds the endpoint of a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from .keys import Caller, Role
from .problems import MEDIA_TYPE, Problem, headers_of

JSON = b"application/json"

_encode = msgspec.json.Encoder().encode


class Call(NamedTuple):
    """A request as an endpoint sees it.

    Attributes:
        names: The segments of the path that match ``{…}``, in order.
        body: Bytes of the body; empty if the endpoint takes none.
        query: The text after the question mark.
        caller: Who asks.
    """

    names: tuple[str, ...]
    body: bytes
    query: bytes
    caller: Caller


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes
    media: bytes = JSON
    headers: Sequence[tuple[bytes, bytes]] = ()


Endpoint = Callable[[Call], Answer]
SlowEndpoint = Callable[[Call], Awaitable[Answer]]
Refusal = Callable[[Problem], Answer]


def json_answer(value: Any, status: int = 200) -> Answer:
    """An answer in JSON."""
    return Answer(status, _encode(value))


def problem_answer(problem: Problem) -> Answer:
    """A refusal as a problem document."""
    return Answer(problem.status, _encode(problem.document()), MEDIA_TYPE, headers_of(problem)[1:])


class Query(NamedTuple):
    """A parameter after the question mark; its value is a whole number."""

    name: str
    default: int
    least: int
    most: int
    about: str


class Route(NamedTuple):
    """A method, a path, their endpoint, and the texts for the OpenAPI description.

    Attributes:
        method: GET, POST, PUT or DELETE. GET also answers HEAD.
        path: The path, with ``{name}`` for a variable segment.
        role: Lowest role that may call; None if no key is needed.
        endpoint: The function that answers.
        about: One sentence.
        takes: Type of the body; None if no body is read.
        gives: Type of the answer; None if the answer is not JSON.
        status: Status of a successful answer.
        media: Media type of a successful answer.
        queries: The parameters after the question mark.
        refusals: Status codes of problems that are specific to the route.
        slow: Whether the endpoint is a coroutine that lets others run.
        refusal: Turns a problem into an answer.
    """

    method: str
    path: str
    role: Role | None
    endpoint: Any
    about: str
    takes: Any = None
    gives: Any = None
    status: int = 200
    media: bytes = JSON
    queries: tuple[Query, ...] = ()
    refusals: tuple[int, ...] = ()
    slow: bool = False
    refusal: Refusal = problem_answer


class _Node:
    """A node in the tree of paths."""

    __slots__ = ("children", "methods", "other")

    def __init__(self) -> None:
        self.children: dict[bytes, _Node] = {}
        self.other: _Node | None = None  # a variable segment
        self.methods: dict[str, Route] = {}


class Router:
    """Finds the route of a request, segment by segment."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._root = _Node()
        for route in routes:
            node = self._root
            for segment in route.path.split("/")[1:]:
                node = _child(node, segment)
            node.methods[route.method] = route
            if route.method == "GET":
                node.methods["HEAD"] = route
        # Most requests have one of a few paths: the decisions of each policy.
        self.find = lru_cache(maxsize=512)(self._find)

    def _find(self, method: str, raw_path: bytes) -> tuple[Route, tuple[str, ...]]:
        """The route, and the variable segments of the path.

        Segments are split before they are decoded: a ``%2F`` in a name is part of the name.
        """
        node: _Node | None = self._root
        names: list[str] = []
        for segment in raw_path.split(b"/")[1:]:
            assert node is not None
            known = node.children.get(segment)
            if known is None:
                known = node.children.get(_plain(segment))
            if known is None:
                known = node.other
                names.append(_name(segment))
            node = known
            if node is None:
                raise _not_found()
        if node is None or not node.methods:
            raise _not_found()
        route = node.methods.get(method)
        if route is None:
            raise NotAllowed(node.methods)
        return route, tuple(names)


class NotAllowed(Problem):
    """The path exists, but not with this method."""

    def __init__(self, methods: Mapping[str, Route]) -> None:
        self.allow = ", ".join(sorted(methods))
        super().__init__(
            405, "method_not_allowed", "Method not allowed", f"this path takes {self.allow}"
        )


def _not_found() -> Problem:
    return Problem(404, "not_found", "No such path", "see /openapi.json for all paths")


def _child(node: _Node, segment: str) -> _Node:
    if segment.startswith("{"):
        if node.other is None:
            node.other = _Node()
        return node.other
    return node.children.setdefault(segment.encode(), _Node())


def _plain(segment: bytes) -> bytes:
    """A percent-decoded segment; a client may write a colon as ``%3A``."""
    return unquote_to_bytes(segment) if b"%" in segment else segment


def _name(segment: bytes) -> str:
    if not segment:
        raise _not_found()
    try:
        return _plain(segment).decode()
    except UnicodeDecodeError:
        raise Problem(400, "bad_path", "Path not understood", "a name is not UTF-8") from None


def query_values(query: bytes, known: Sequence[Query]) -> list[int]:
    """The values of the ``known`` parameters, in their order."""
    given = dict[str, str]()
    for pair in filter(None, query.decode("latin-1").split("&")):
        name, _, text = pair.partition("=")
        if name not in {entry.name for entry in known}:
            names = ", ".join(entry.name for entry in known) or "nothing"
            raise _bad_query(name, f"unknown; this path takes {names}")
        given[name] = text
    return [_number(entry, given.get(entry.name)) for entry in known]


def _number(entry: Query, text: str | None) -> int:
    if text is None:
        return entry.default
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise _bad_query(entry.name, f"must be a whole number, got {text[:40]!r}")
    if not entry.least <= int(text) <= entry.most:
        raise _bad_query(entry.name, f"must lie in [{entry.least}, {entry.most}], got {text}")
    return int(text)


def _bad_query(name: str, rule: str) -> Problem:
    return Problem(422, "bad_query", "Query not understood", f"{name}: {rule}", field=name[:40])
