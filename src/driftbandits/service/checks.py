"""What no journal can hold is refused before anything changes."""

from __future__ import annotations

from .errors import BadRequest
from .journal.records import AnyRecord, encode

LONGEST_ID = 256


def check_id(name: str, value: str) -> None:
    """Refuse a name that is too short or long, or that no journal can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{name} must be a text that UTF-8 can encode, got {value!r}") from None
    if not 1 <= len(value) <= LONGEST_ID:
        raise BadRequest(f"{name} must be a text of 1 to {LONGEST_ID} characters, got {value!r}")


def check_written(record: AnyRecord) -> None:
    """Refuse what no journal can hold, before anything has changed."""
    try:
        encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadRequest(f"the command cannot be written down: {error}") from None
