"""Encodes answers as HTTP/1.1."""

from __future__ import annotations

import http
import time
from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache

from .routing import Answer

# Headers of every answer: clients must not guess the type, and nobody may cache the answer.
_COMMON = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
_CLOSE = b"connection: close\r\n"


def answer_bytes(answer: Answer, *, without_body: bool = False, closes: bool = False) -> bytes:
    """A whole answer; ``without_body`` for HEAD, ``closes`` if it is the last answer."""
    body = answer.body
    head = _opening(answer.status, answer.media if body else b"") + _date(int(time.time()))
    if answer.status != 204:  # RFC 9110 forbids Content-Length with status 204
        head += b"content-length: %d\r\n" % len(body)
    if answer.headers:
        head += _lines(answer.headers)
    if closes:
        head += _CLOSE
    return head + b"\r\n" + (b"" if without_body else body)


def endless_head(status: int, media: bytes) -> bytes:
    """The head of an answer without a length; the answer ends when the connection closes."""
    return _opening(status, media) + _date(int(time.time())) + _CLOSE + b"\r\n"


def _lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


@lru_cache(maxsize=256)
def _opening(status: int, media: bytes) -> bytes:
    """The lines that all answers with this status and type share."""
    line = b"HTTP/1.1 %d %s\r\n" % (status, http.HTTPStatus(status).phrase.encode())
    return line + _COMMON + (_lines([(b"content-type", media)]) if media else b"")


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return b"date: %s\r\n" % formatdate(second, usegmt=True).encode()
