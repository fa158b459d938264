"""A decorator that lets one thread at a time call an object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Lockable(Protocol):
    _lock: RLock


Owner = TypeVar("Owner", bound=_Lockable)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def locked(
    method: Callable[Concatenate[Owner, Given], Answer],
) -> Callable[Concatenate[Owner, Given], Answer]:
    """Hold the object's lock during a method, so that no thread sees a half-made change."""

    @wraps(method)
    def call(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with self._lock:
            return method(self, *args, **kwargs)

    return call
