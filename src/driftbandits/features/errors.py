"""Errors that say what is wrong with a value."""

from __future__ import annotations

import reprlib

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


class FeatureError(ValueError):
    """A context or an action that a declaration cannot encode.

    The message has the name, the rule and the value.

    Attributes:
        feature: Name of the feature, or None if the whole input is wrong.
        action: Id of the action, or None if the context is wrong.
    """

    def __init__(self, message: str, *, feature: str | None = None, action: object = None) -> None:
        super().__init__(message)
        self.feature = feature
        self.action = action


class Rejected(Exception):  # noqa: N818 - a signal inside the package, never an error of its own
    """A value breaks a rule. Code that knows the feature's name turns this into `FeatureError`."""


def short(value: object) -> str:
    """``value`` as Python writes it, shortened if it is long."""
    return _SHORT.repr(value)
