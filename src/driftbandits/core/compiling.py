"""How the package compiles: one set of numba options and one disk cache.

Mathematics is written as kernels: plain functions over arrays and named tuples, compiled by
`kernel`. What Python calls are entry points, made from a template and a policy's kernels by
`entry_point`; only these are cached on disk. With ``NUMBA_DISABLE_JIT=1`` both are the plain
Python functions, for a debugger.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler import Compiler

_PACKAGE = Path(__file__).parent.parent

# False with NUMBA_DISABLE_JIT=1.
COMPILING = not cast(Any, numba.config).DISABLE_JIT

Function = TypeVar("Function", bound=Callable[..., Any])

# Contraction and reassociation let sums use vector instructions; NaN and infinity keep their
# meaning, since validation relies on it. Division by zero follows numpy, without a branch.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
}


# Counting references to arrays, and handing named tuples from call to call, costs more than the
# arithmetic of a small kernel (measured: 1.2 µs a round instead of 0.3 µs at d = 2, K = 50). A
# kernel that allocates nothing, nor calls one that does, needs neither.
_LEAN: dict[str, Any] = {**_OPTIONS, "_nrt": False, "forceinline": True}


def kernel(function: Function) -> Function:
    """Compile a function that other compiled functions call."""
    return cast(Function, numba.njit(**_OPTIONS)(function))


def lean_kernel(function: Function) -> Function:
    """Compile a function that other compiled functions call and that allocates no array."""
    return cast(Function, numba.njit(**_LEAN)(function))


def inline_kernel(function: Function) -> Function:
    """Compile a lean kernel as part of those that call it, and not by itself.

    For functions of parameters and state that do little: handing over a named tuple of ten arrays
    takes a second to compile, wherever it happens.
    """
    return cast(Function, numba.njit(**{**_OPTIONS, "_nrt": False, "inline": "always"})(function))


def large_kernel(function: Function) -> Function:
    """Compile a lean kernel that is called and not copied to where it is called from.

    For those whose work outweighs a call, and whose copies would take long to compile.
    """
    return cast(Function, numba.njit(**{**_LEAN, "forceinline": False})(function))


class _Apart(Compiler):
    """numba's compiler, told that what is written through one argument is read through no other.

    Otherwise every loop begins by comparing addresses, which in rows of twenty numbers takes as
    long as the arithmetic. numba has the flag, but no option for it.
    """

    def define_pipelines(self) -> Any:
        """The passes that numba runs, with the flag set."""
        self.state.flags.noalias = True
        return cast(Any, super()).define_pipelines()


_APART: dict[str, Any] = {**_LEAN, "pipeline_class": _Apart}


def row_kernel(function: Function) -> Function:
    """Compile a lean kernel for a loop along rows, whose sums stay in the order they are written.

    What it writes through one argument it must not touch through another.
    """
    return cast(Function, numba.njit(**{**_APART, "fastmath": {"contract"}})(function))


def precise_kernel(function: Function) -> Function:
    """Compile a row kernel whose floating-point operations must stay exactly as written."""
    return cast(Function, numba.njit(**{**_APART, "fastmath": False})(function))


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call what ``function`` generates; see `numba.extending.intrinsic`."""
    return cast(Callable[..., Any], numba.extending.intrinsic(function))


def entry_point(template: Callable[..., Any], label: str, **names: object) -> Callable[..., Any]:
    """Compile ``template`` for calls from Python, with its global ``names`` bound.

    Functions passed as arguments would defeat numba's disk cache, so the template is copied with
    the policy's kernels among its globals, under a name of its own.
    """
    plain = getattr(template, "py_func", template)
    bound = types.FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    functions = _functions(names.values())
    sources = _sources_outside(functions)
    bound.__qualname__ = f"{plain.__qualname__}_{label}_{_digest(functions, sources)[:16]}"
    # What was typed at a prompt has no file to tell one version of it from the next.
    cached = all(source.exists() for source in sources)
    compiled = numba.njit(cache=cached, **_OPTIONS)(bound)
    if cached and compiled is not bound:
        # numba's stamp covers the template's file alone; a kernel edited elsewhere would go on
        # running as it was.
        compiled._cache._cache_file._source_stamp = package_digest()
    return cast(Callable[..., Any], compiled)


def _functions(values: Iterable[object]) -> list[types.FunctionType]:
    """The plain functions among what a template's names are bound to."""
    plain = [getattr(value, "py_func", value) for value in values]
    return [function for function in plain if isinstance(function, types.FunctionType)]


def _sources_outside(functions: Iterable[types.FunctionType]) -> list[Path]:
    """Files outside this package that kernels come from: policies of somebody else's."""
    files = {Path(function.__code__.co_filename) for function in functions}
    return sorted(file for file in files if _PACKAGE not in file.parents)


@cache
def package_digest() -> str:
    """Hash of every source file that has kernels: what the disk cache is valid for."""
    files = sorted(_PACKAGE.rglob("*.py"))
    return _digest([], [file for file in files if b"compiling import" in file.read_bytes()])


def _digest(functions: Iterable[types.FunctionType], files: Iterable[Path]) -> str:
    """Hash of which functions are meant, and of what is in files."""
    digest = hashlib.sha256()
    for function in functions:
        where = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
        digest.update(where.encode())
    for file in files:
        digest.update(file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()
