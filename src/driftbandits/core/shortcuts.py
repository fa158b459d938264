"""What numba does again and again while it compiles, done once.

The code that comes out is the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_NumbaFunction: Any = BaseFunction
_NumbaFlags: Any = ConfigStack


@contextmanager
def shortcuts(target: Any) -> Iterator[None]:
    """Take them while compiling for ``target``; the compiler's lock must be held."""
    target.refresh()  # what was imported since the last time counts
    with ExitStack() as stack:
        stack.enter_context(_without_collections())
        stack.enter_context(_replaced(target, "load_additional_registries", _known(target)))
        stack.enter_context(_replaced(_NumbaFunction, "get_call_type", _remembering()))
        yield


@contextmanager
def _without_collections() -> Iterator[None]:
    """Without looking for garbage: compiling makes millions of objects, and hardly any of it.

    Looking through them again and again takes a seventh of the time.
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
    """With another attribute, of an object or a class."""
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name) if before is None else setattr(owner, name, before)


def _known(target: Any) -> Callable[[], None]:
    """`load_additional_registries`, without importing once more all that may have some.

    numba calls it a thousand times: whenever it makes code that handles an array.
    """

    def load() -> None:
        for registry in tuple(target._registries):
            target.install_registry(registry)

    return load


def _remembering() -> Callable[..., Any]:
    """`get_call_type`: what a built-in function or operator means for the types of its arguments.

    numba tries one candidate after the other, and asks the same for every ``array[i]`` (measured:
    1.5 of 10 s, and of 5,204 questions 268 differ). Compiler flags belong to the question, since
    some answers are functions that are compiled with them.
    """
    find = _NumbaFunction.get_call_type
    found: dict[Any, list[tuple[dict[str, Any], Any, Any]]] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = _NumbaFlags.top_or_none()
        # Those that are set. numba compares all of them, by name, and hashes the names alone.
        chosen = flags._values if flags else {}
        answers = found.setdefault((self.key, args, tuple(kws.items())), [])
        for before, signature, implementation in answers:
            if before == chosen:
                self._impl_keys[signature.args] = implementation
                return signature
        signature = find(self, context, args, kws)
        # A copy: the compiler may change its own.
        answers.append((dict(chosen), signature, self._impl_keys[signature.args]))
        return signature

    return get_call_type
