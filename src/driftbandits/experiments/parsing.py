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
    """Let errors about values name the table that the values are in; "" is the whole file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # An error of a kind of its own says by itself what it is about.
        if type(error) not in (TypeError, ValueError):
            raise
        raise SettingsError(f"{place}: {error}" if place else str(error)) from None


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
            raise SettingsError(f"{place}: the key {key} is missing; it takes {', '.join(keys)}")


def check_integers(place: str, value: Any) -> None:
    """Refuse integers beyond 64 bits, anywhere in a table: TOML has none, and arrays neither."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_integers(f"{place}.{key}" if place else str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_integers(place, item)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise SettingsError(f"{place} must be an integer of 64 bits, got {value}")


def labels_of(name: str, classes: Mapping[str, type[Any]]) -> list[str]:
    """Labels that ``name`` stands for: itself, or those of the policies of this class.

    Examples:
        >>> from driftbandits import DLinUCB, registered
        >>> labels_of("DLinUCB", registered()), labels_of("dLinUCB", registered())
        (['D-LinUCB'], ['dLinUCB'])
    """
    if name in classes:
        return [name]
    found = [label for label, policy in classes.items() if policy.__name__ == name]
    if not found:
        raise SettingsError(f"policy must be one of {', '.join(classes)}, got {name!r}")
    return found
