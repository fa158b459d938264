"""Problem documents (RFC 9457), which tell people and programs what is wrong with a request."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import ServiceError

MEDIA_TYPE = b"application/problem+json"
RETRY_AFTER_SECONDS = 1

_encode = msgspec.json.Encoder().encode


class Problem(Exception):  # noqa: N818 - the name that RFC 9457 gives it
    """A refusal of a request.

    Attributes:
        status: Status code of HTTP.
        code: Short name that never changes; it is part of the ``type``.
        title: The kind of problem.
        detail: What is wrong with this request.
        field: Path to the wrong value, such as ``$.actions[3].id``; "" if no value is wrong.
    """

    def __init__(self, status: int, code: str, title: str, detail: str, *, field: str = "") -> None:
        super().__init__(f"{title}: {detail}")
        self.status, self.code, self.title, self.detail = status, code, title, detail
        self.field = field

    def document(self) -> dict[str, Any]:
        """The members of the document."""
        document = {
            "type": f"urn:driftbandits:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return {**document, "field": self.field} if self.field else document


def of_service(error: ServiceError) -> Problem:
    """The problem of an error that the house raised."""
    return Problem(error.status, error.code, error.title, error.detail)


def of_value(error: msgspec.ValidationError, code: str = "bad_value") -> Problem:
    """The problem of a body that is correct JSON with wrong values.

    Examples:
        >>> import msgspec
        >>> try:
        ...     msgspec.json.decode(b'{"a": [1, "x"]}', type=dict[str, list[int]])
        ... except msgspec.ValidationError as error:
        ...     problem = of_value(error)
        >>> problem.detail, problem.field
        ('Expected `int`, got `str`', '$[...][1]')
    """
    detail, _, place = str(error).partition(" - at `")
    return Problem(422, code, "Value not understood", detail, field=place.removesuffix("`") or "$")


def headers_of(problem: Problem) -> list[tuple[bytes, bytes]]:
    """Headers that go with a problem."""
    headers = [(b"content-type", MEDIA_TYPE)]
    if problem.status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_SECONDS))
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="driftbandits"'))
    return headers
