"""The head of a request: its first line and its headers."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import httptools

Headers: TypeAlias = list[tuple[bytes, bytes]]


class Head(NamedTuple):
    """What is known of a request before its body.

    Attributes:
        method: GET, POST and so on.
        path: As it was sent, with its percent signs.
        query: What follows the question mark.
        headers: Names in small letters, and values, in order.
    """

    method: str
    path: bytes
    query: bytes
    headers: Headers


def path_and_query(url: bytes) -> tuple[bytes, bytes]:
    """The two parts of a request's target; ValueError where it names no path.

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
