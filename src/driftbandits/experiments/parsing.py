"""From a table of settings to what it describes, with errors that name the place in the file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

Made = TypeVar("Made")
Maker = Callable[..., Made]


class SettingsError(ValueError):
    """Settings that do not make an experiment; the message says which and why."""


def table_at(place: str, value: Any) -> dict[str, Any]:
    """A copy of the table ``value``; what is none is refused."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{place} must be a table, got {value!r}")
    return dict(value)


def make(place: str, maker: Maker[Made], table: Mapping[str, Any], **known: Any) -> Made:
    """What ``maker`` makes of a table, and of what is ``known`` from elsewhere."""
    check_keys(place, maker, table, known=known)
    with errors_at(place):
        return maker(**table, **known)


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Let errors about values say in which table these are."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # An error of a kind of its own says by itself what it is about.
        if type(error) not in (TypeError, ValueError):
            raise
        raise SettingsError(f"{place}: {error}") from None


def check_keys(
    place: str, maker: Maker[Any], table: Mapping[str, Any], *, known: Collection[str] = ()
) -> None:
    """Refuse a table with a key that ``maker`` does not take, or without one that it needs.

    What is ``known`` from elsewhere is no key.
    """
    arguments = inspect.signature(maker).parameters
    keys = [name for name in arguments if name not in known]
    for key in table:
        if key not in keys:
            raise SettingsError(f"{place}: unknown key {key!r}; it takes {', '.join(keys)}")
    for key in keys:
        if key not in table and arguments[key].default is inspect.Parameter.empty:
            raise SettingsError(f"{place}: the key {key} is missing")
