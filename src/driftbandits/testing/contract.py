"""Run the checks of a contract on a user's object, and report the broken promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Subject = TypeVar("Subject")


class ContractError(AssertionError):
    """A broken promise."""


def require(kept: object, promise: str) -> None:
    """Raise `ContractError` with the ``promise`` unless it was kept.

    This is not an ``assert``, because Python skips those under ``-O``.
    """
    if not kept:
        raise ContractError(promise)


def hold(subject: Subject, checks: Sequence[Callable[[Subject], None]], *, name: str) -> None:
    """Run every check on ``subject``, and list all failures in one `ContractError`."""
    failures = list[tuple[str, Exception]]()
    for check in checks:
        try:
            check(subject)
        except Exception as error:
            failures.append((check.__name__, error))
    if failures:
        lines = [f"{check}: {_told(error)}" for check, error in failures]
        broken = "\n- ".join([f"{name} breaks {len(failures)} of {len(checks)} promises:", *lines])
        raise ContractError(broken) from failures[0][1]


def _told(error: Exception) -> str:
    """The message, with the type of the error unless it is a broken promise."""
    return str(error) if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
