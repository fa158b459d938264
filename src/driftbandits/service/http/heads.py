"""The head of a request: its first line and its headers."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import httptools

Headers: TypeAlias = list[tuple[bytes, bytes]]


class Head(NamedTuple):
    """The first line and the headers of a request.

    Attributes:
        method: GET, POST and so on.
        path: The path as sent, not decoded.
        query: The text after the question mark.
        headers: Lower-case names and values, in order.
    """

    method: str
    path: bytes
    query: bytes
    headers: Headers


def path_and_query(url: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request's target; an error if the target is not valid.

    Examples:
        >>> path_and_query(b"/v1/policies?limit=3"), path_and_query(b"http://a.org/healthz")
        ((b'/v1/policies', b'limit=3'), (b'/healthz', b''))
    """
    if not url.isascii():
        raise ValueError("the target of a request must be ASCII")
    if url.startswith(b"/") and b"#" not in url:
        path, _, query = url.partition(b"?")
        return path, query
    parsed = httptools.parse_url(url)
    return parsed.path or b"/", parsed.query or b""
