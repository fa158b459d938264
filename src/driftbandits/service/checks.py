"""Refuses values that cannot be written to a journal, before anything changes."""

from __future__ import annotations

from .errors import BadRequest
from .journal.records import AnyRecord, encode

LONGEST_ID = 256


def check_id(name: str, value: str) -> None:
    """Refuse an id that is empty, too long, or not encodable as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{name} must be a text that UTF-8 can encode, got {value!r}") from None
    if not 1 <= len(value) <= LONGEST_ID:
        raise BadRequest(f"{name} must be a text of 1 to {LONGEST_ID} characters, got {value!r}")


def check_written(record: AnyRecord) -> None:
    """Refuse a record that cannot be encoded."""
    try:
        encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadRequest(f"the command cannot be written down: {error}") from None
