"""Answers as the bytes of HTTP/1.1."""

from __future__ import annotations

import http
import time
from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache

from .routing import Answer

# On every answer: the type is what it says, and nothing is kept on the way.
_COMMON = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
_CLOSE = b"connection: close\r\n"


def answer_bytes(answer: Answer, *, without_body: bool = False, closes: bool = False) -> bytes:
    """A whole answer; ``without_body`` for HEAD, ``closes`` where nothing comes after it."""
    body = answer.body
    head = _opening(answer.status, answer.media if body else b"") + _date(int(time.time()))
    if answer.status != 204:  # RFC 9110 forbids the length of nothing
        head += b"content-length: %d\r\n" % len(body)
    if answer.headers:
        head += _lines(answer.headers)
    if closes:
        head += _CLOSE
    return head + b"\r\n" + (b"" if without_body else body)


def endless_head(status: int, media: bytes) -> bytes:
    """The head of an answer without a length: it ends when the connection does."""
    return _opening(status, media) + _date(int(time.time())) + _CLOSE + b"\r\n"


def _lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


@lru_cache(maxsize=256)
def _opening(status: int, media: bytes) -> bytes:
    """The lines that answers of a status and a type have in common."""
    line = b"HTTP/1.1 %d %s\r\n" % (status, http.HTTPStatus(status).phrase.encode())
    return line + _COMMON + (_lines([(b"content-type", media)]) if media else b"")


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return b"date: %s\r\n" % formatdate(second, usegmt=True).encode()
