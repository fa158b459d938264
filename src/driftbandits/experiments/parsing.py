"""Build objects from tables of settings, with errors that name the place in the file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

Made = TypeVar("Made")
Maker = Callable[..., Made]


class SettingsError(ValueError):
    """Settings that do not describe a valid experiment; the message says which and why."""


def table_at(place: str, value: Any) -> dict[str, Any]:
    """A copy of the table ``value``, or an error if it is not a table."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{place} must be a table, got {value!r}")
    return dict(value)


def make(place: str, maker: Maker[Made], table: Mapping[str, Any], **known: Any) -> Made:
    """Call ``maker`` with the keys of a table and the ``known`` values from elsewhere."""
    check_keys(place, maker, table, known=known)
    with errors_at(place):
        return maker(**table, **known)


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Add the place of the table to errors about its values; "" is the whole file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # The messages of more specific errors already say what they are about.
        if type(error) not in (TypeError, ValueError):
            raise
        raise SettingsError(f"{place}: {error}" if place else str(error)) from None


def check_keys(
    place: str, maker: Maker[Any], table: Mapping[str, Any], *, known: Collection[str] = ()
) -> None:
    """Raise an error if ``maker`` does not know a key of the table, or needs a missing one.

    Arguments ``known`` from elsewhere are not keys.
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
    """Raise an error for integers beyond 64 bits in a table: TOML and arrays cannot hold them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_integers(f"{place}.{key}" if place else str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check_integers(place, item)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise SettingsError(f"{place} must be an integer of 64 bits, got {value}")


def labels_of(name: str, classes: Mapping[str, type[Any]]) -> list[str]:
    """The label ``name`` itself, or the labels of all policies of the class ``name``.

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
