"""Faster compiling: numba repeats some work many times, and writes long code for short things.

What the compiled code computes stays the same, to the bit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

from .array_values import basic_indexing, make_array, make_view

_NumbaFunction: Any = BaseFunction
_NumbaFlags: Any = ConfigStack


@contextmanager
def shortcuts(target: Any) -> Iterator[None]:
    """Use the shortcuts while compiling for ``target``; the caller holds the compiler's lock."""
    target.refresh()  # load the registries of modules imported since the last time
    with ExitStack() as stack:
        stack.enter_context(_without_collections())
        for context in (target, target.typing_context):
            stack.enter_context(_replaced(context, "refresh", _refresh_if_grown(context)))
        stack.enter_context(_replaced(target, "load_additional_registries", _known(target)))
        stack.enter_context(_replaced(target, "get_abi_sizeof", cache(target.get_abi_sizeof)))
        stack.enter_context(_replaced(_NumbaFunction, "get_call_type", _remembering()))
        stack.enter_context(_replaced(arrayobj, "basic_indexing", basic_indexing))
        stack.enter_context(_replaced(arrayobj, "make_array", make_array))
        stack.enter_context(_replaced(arrayobj, "make_view", make_view))
        yield


@contextmanager
def _without_collections() -> Iterator[None]:
    """Turn off garbage collection.

    Compiling makes millions of objects, and hardly any garbage. Searching through them again and
    again takes a seventh of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _replaced(owner: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    """Replace an attribute of an object or a class for a while."""
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name) if before is None else setattr(owner, name, before)


def _known(target: Any) -> Callable[[], None]:
    """A `load_additional_registries` that installs known registries, and imports nothing again.

    numba calls it a thousand times: whenever it makes code that handles an array.
    """

    def load() -> None:
        for registry in tuple(target._registries):
            target.install_registry(registry)

    return load


def _refresh_if_grown(context: Any) -> Callable[[], None]:
    """A `refresh` that looks for new definitions only if a registry has more of them than before.

    numba refreshes before each function, and after each look-up that fails (measured: 0.8 of 10 s).
    """
    refresh, last = context.refresh, -1

    def refresh_if_grown() -> None:
        nonlocal last
        size = _definitions(context)
        if size != last:
            refresh()
            last = _definitions(context)

    return refresh_if_grown


def _definitions(context: Any) -> int:
    """Number of definitions in the registries that ``context`` knows."""
    lists = (part for registry in context._registries for part in vars(registry).values())
    return sum(len(part) for part in lists if isinstance(part, list))


def _remembering() -> Callable[..., Any]:
    """A `get_call_type` that remembers its answers.

    It finds the implementation of a built-in function or operator for given argument types. numba
    tries one candidate after the other, and does so again for every ``array[i]`` (measured: 1.5 of
    10 s; only 268 of 5,204 calls differ). Compiler flags are part of the key, since some
    implementations are functions compiled with these flags.
    """
    find = _NumbaFunction.get_call_type
    found: dict[Any, list[tuple[dict[str, Any], Any, Any]]] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = _NumbaFlags.top_or_none()
        # Only the flags that are set. numba would compare all flags, by name, and its hash covers
        # only the names.
        chosen = flags._values if flags else {}
        answers = found.setdefault((self.key, args, tuple(kws.items())), [])
        for before, signature, implementation in answers:
            if before == chosen:
                self._impl_keys[signature.args] = implementation
                return signature
        signature = find(self, context, args, kws)
        # A copy: the compiler may change its own flags later.
        answers.append((dict(chosen), signature, self._impl_keys[signature.args]))
        return signature

    return get_call_type
