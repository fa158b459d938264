"""The identity of compiled code: a hash of all code and constants that it is made of.

It is the key of cached machine code. A name is not enough. Two kernels with one name may come from
a factory with different constants, or from two versions of a file. Two states with one name may
hold their arrays in a different order.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import os
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.types import Type as NumbaType

_PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"

# Names identify what these packages provide; numba's version is part of every cache file.
_KNOWN = {"builtins", "cmath", "math", "numba", "numpy", "operator"}

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)


def identity(values: Iterable[object]) -> str | None:
    """Hash of ``values``: functions with all that they call, classes, and constants.

    Returns None if two different things could get the same hash: such code is not cached.
    """
    digest = hashlib.sha256()
    try:
        for piece in _pieces(tuple(values), {}):
            digest.update(f"{len(piece)}:".encode() + piece)
    except _UnknownError:
        return None
    return digest.hexdigest()


class _UnknownError(Exception):
    """A value that cannot be told apart from others of its kind."""


def _pieces(value: Any, seen: dict[int, int]) -> Iterator[bytes]:
    """Bytes that identify ``value``, in an order that does not depend on the process."""
    value = getattr(
        value, "py_func", getattr(value, "_defn", value)
    )  # the Python function behind compiled code or an intrinsic
    yield type(value).__name__.encode()
    if isinstance(value, _PLAIN):
        yield repr(value).encode()
    elif isinstance(value, (tuple, list)):
        yield str(len(value)).encode()
        for entry in value:
            yield from _pieces(entry, seen)
    elif isinstance(value, (frozenset, set)):
        yield from sorted(b"".join(_pieces(entry, seen)) for entry in value)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, NumbaType):
        yield str(value).encode()
    elif isinstance(value, types.CodeType):
        yield from _code(value, seen)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, type):
        yield from _class(value, seen)
    else:
        yield from _by_name(value)


def _by_name(value: Any) -> Iterator[bytes]:
    """A module, or a function of a known package."""
    module = value.__name__ if isinstance(value, types.ModuleType) else _home(value)
    if not isinstance(value, types.ModuleType) and module.split(".")[0] not in _KNOWN:
        raise _UnknownError
    yield f"{module}.{getattr(value, '__qualname__', value.__name__)}".encode()


def _home(value: Any) -> str:
    if not isinstance(getattr(value, "__name__", None), str):
        raise _UnknownError
    return getattr(value, "__module__", None) or type(value).__module__


def _class(value: type, seen: dict[int, int]) -> Iterator[bytes]:
    yield f"{value.__module__}.{value.__qualname__}".encode()
    if issubclass(value, enum.Enum):
        for member in value:
            yield from _pieces((member.name, member.value), seen)
    elif hasattr(value, "_fields"):
        yield from _pieces(value._fields, seen)
    elif value.__module__.split(".")[0] not in _KNOWN:
        raise _UnknownError


def _function(function: types.FunctionType, seen: dict[int, int]) -> Iterator[bytes]:
    code = function.__code__
    yield f"{function.__module__}.{function.__qualname__}:{code.co_firstlineno}".encode()
    if function.__module__.split(".")[0] in _KNOWN:
        return
    if id(function) in seen:
        yield str(seen[id(function)]).encode()
        return
    seen[id(function)] = len(seen)
    yield from _pieces((_cells(function), function.__defaults__), seen)
    # The files of this package are part of every stamp.
    if not code.co_filename.startswith(_PACKAGE):
        yield from _code(code, seen)
        for name in sorted(_global_names(code)):
            if name in function.__globals__:
                yield from _global(name, function, seen)


def _cells(function: types.FunctionType) -> tuple[Any, ...]:
    """The values that a closure was made with."""
    try:
        return tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError as error:  # a cell that is still empty
        raise _UnknownError from error


def _global(name: str, function: types.FunctionType, seen: dict[int, int]) -> Iterator[bytes]:
    value = function.__globals__[name]
    yield name.encode()
    yield from _pieces(value, seen)
    if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] not in _KNOWN:
        for attribute in sorted(set(_names(function.__code__)) & vars(value).keys()):
            yield attribute.encode()
            yield from _pieces(vars(value)[attribute], seen)


def _code(code: types.CodeType, seen: dict[int, int]) -> Iterator[bytes]:
    yield code.co_code
    yield code.co_exceptiontable
    yield from _pieces((code.co_names, code.co_varnames, code.co_freevars), seen)
    yield from _pieces(code.co_consts, seen)


def _global_names(code: types.CodeType) -> set[str]:
    """Names of the globals that code reads, including the functions inside it."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return own.union(*(_global_names(inner) for inner in _inner(code)))


def _names(code: types.CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(inner) for inner in _inner(code)))


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
