"""How the package compiles: one set of numba options and one disk cache.

Mathematics is written as kernels: plain functions over arrays and named tuples, compiled by
`kernel`. Python calls entry points. `entry_point` makes them from a template and a policy's
kernels; only entry points are cached on disk. With ``NUMBA_DISABLE_JIT=1`` kernels and entry points
stay plain Python functions, for a debugger.
"""

from __future__ import annotations

import hashlib
import os
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import NullCache

from .disk_cache import disk_cache
from .identity import identity
from .linking import KernelDispatcher, Kind
from .suites import EntryPoint, Member, Suite

_PACKAGE = Path(__file__).parent.parent

# False with NUMBA_DISABLE_JIT=1.
COMPILING = not cast(Any, numba.config).DISABLE_JIT

Function = TypeVar("Function", bound=Callable[..., Any])

# Floating-point operations stay as they are written. Otherwise their last bits would depend on the
# function that a kernel is copied into, and a replay would not give the same bits as the calls.
# Loops along rows take most of the time; they may fuse a product with the addition after it
# (`row_kernel`).
# Division by zero follows numpy, without a branch.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}


# Counting references to arrays, and handing named tuples from call to call, costs more than the
# arithmetic of a small kernel (measured: 1.2 µs per round instead of 0.3 µs at d = 2, K = 50). A
# kernel needs neither if it allocates nothing and calls no kernel that does.
_LEAN: dict[str, Any] = {**_OPTIONS, "_nrt": False, "forceinline": False}


def kernel(function: Function) -> Function:
    """Compile a function that other compiled functions call."""
    return _kernel(function, _OPTIONS, Kind.ANY)


def _kernel(function: Function, options: dict[str, Any], kind: Kind) -> Function:
    if not COMPILING:
        return function
    plain = cast(types.FunctionType, function)
    cached = plain.__code__.co_filename.startswith(f"{_PACKAGE}{os.sep}")
    return cast(
        Function,
        KernelDispatcher(
            plain,
            options,
            kind,
            cache=lambda: disk_cache(plain, package_digest()) if cached else NullCache(),
        ),
    )


def lean_kernel(function: Function) -> Function:
    """Compile a function that other compiled functions call and that allocates no array.

    It consists of loops and arithmetic, and calls only lean kernels: ``raise``, closures,
    comprehensions, array expressions and other kernels are refused.
    """
    return _kernel(function, _LEAN, Kind.LEAN)


def rare_kernel(function: Function) -> Function:
    """Compile a lean kernel that runs seldom: as one short function that is never inlined.

    Otherwise its loops would be copied into every caller and unrolled there (measured: a twentieth
    of the time to compile).
    """
    return _kernel(function, _LEAN, Kind.RARE)


def row_kernel(function: Function) -> Function:
    """Compile a lean kernel for a loop along rows; sums stay in the order they are written.

    It must not read or write through one argument what it writes through another.
    """
    return _kernel(function, {**_LEAN, "fastmath": {"contract"}}, Kind.APART)


def precise_kernel(function: Function) -> Function:
    """Compile a row kernel whose floating-point operations must stay exactly as written."""
    return _kernel(function, _LEAN, Kind.APART)


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call what ``function`` generates; see `numba.extending.intrinsic`."""
    return cast(Callable[..., Any], numba.extending.intrinsic(function))


def entry_point(template: Callable[..., Any], label: str, **names: object) -> Callable[..., Any]:
    """Compile ``template`` for calls from Python, with its global ``names`` bound.

    Functions passed as arguments would defeat numba's disk cache. So the template is copied, with
    the policy's kernels among its globals. The copy's name holds a hash of these kernels.
    """
    bound, cached = _bound(template, label, names)
    if not COMPILING:
        return bound
    compiled = EntryPoint(bound, _OPTIONS)
    if cached:
        compiled._cache = disk_cache(bound, package_digest())
    return compiled


def entry_suite(
    templates: Mapping[str, tuple[Callable[..., Any], tuple[Any, ...]]],
    label: str,
    **names: object,
) -> dict[str, Callable[..., Any]]:
    """Entry points by name, of templates by name, each with the types of its arguments.

    The first call of any of them compiles all of them together.
    """
    pairs = [_bound(template, label, names) for template, _ in templates.values()]
    if not COMPILING:
        return {name: bound for name, (bound, _) in zip(templates, pairs, strict=True)}
    members = [Member(bound, _OPTIONS) for bound, _ in pairs]
    cache: Any = NullCache()
    if all(cached for _, cached in pairs):
        cache = disk_cache(pairs[0][0], package_digest(), suite=True)
        for member in members:
            member._cache = disk_cache(member.py_func, package_digest())
    Suite(members, [types for _, types in templates.values()], cache)
    return dict(zip(templates, members, strict=True))


def stored(call: Any) -> bool:
    """Whether the disk has the code of an entry point, compiled from the present sources.

    Also True if nothing is compiled or nothing can be cached: then there is nothing to wait for.
    """
    suite = getattr(call, "suite", None)
    files = getattr(getattr(call if suite is None else suite, "_cache", None), "_cache_file", None)
    return files is None or files.current()


def _bound(
    template: Callable[..., Any], label: str, names: Mapping[str, object]
) -> tuple[types.FunctionType, bool]:
    """A copy of ``template`` with ``names`` among its globals, and whether it can be cached."""
    plain = getattr(template, "py_func", template)
    bound = types.FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    if not COMPILING:
        return bound, False
    made_of = identity(names.values())
    bound.__qualname__ = f"{plain.__qualname__}_{label}_{(made_of or 'unknown')[:16]}"
    # A function typed at a prompt is not cached: each of its versions would leave a file behind.
    return bound, made_of is not None and all(map(_has_file, names.values()))


def _has_file(value: object) -> bool:
    """Whether ``value`` is a function from a file, or no function at all."""
    plain = getattr(value, "py_func", value)
    return not isinstance(plain, types.FunctionType) or Path(plain.__code__.co_filename).exists()


@cache
def package_digest() -> str:
    """Hash of the sources of all parts with kernels; cached code is valid while it stays.

    A part is hashed as a whole, since kernels contain constants from files without kernels.
    """
    texts = {file: file.read_bytes() for file in sorted(_PACKAGE.rglob("*.py"))}
    parts = {_part(file) for file, text in texts.items() if b"compiling import" in text}
    digest = hashlib.sha256()
    for file, text in texts.items():
        if _part(file) in parts:
            digest.update(text)
    return digest.hexdigest()


def _part(file: Path) -> str:
    """The folder or file right below the package that ``file`` belongs to."""
    return file.relative_to(_PACKAGE).parts[0]
