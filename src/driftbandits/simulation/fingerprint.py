"""What a run is made of, as data: for the record, and to tell one run from another."""

from __future__ import annotations

import builtins
import hashlib
import json
import platform
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np

from .._version import __version__
from ..policies import Policy

_SMALL = 64


def describe(value: Any) -> Any:
    """``value`` as JSON can hold it; large arrays and functions by their hash."""
    if isinstance(value, Policy):
        return {"policy": type(value).__name__, **{k: describe(v) for k, v in value.config.items()}}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: describe(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        if value.size <= _SMALL:
            return value.tolist()
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "sha256": digest}
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if callable(value):
        return _describe_function(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)


def versions() -> dict[str, str]:
    """What computed it."""
    return {
        "driftbandits": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "code": _sources_digest()[:16],
    }


def fingerprint(description: Any) -> str:
    """A short name for a description; different descriptions have different ones."""
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _sources_digest() -> str:
    """Hash of all sources of the package: numbers may depend on any of them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _describe_function(function: Any) -> dict[str, Any]:
    """A function by its name, the values it has captured, and all code of one's own."""
    module = getattr(function, "__module__", "")
    name = getattr(function, "__qualname__", repr(function))
    captured = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    digest = hashlib.sha256()
    for part in (*_own_sources(), *_typed_in(function, {})):
        digest.update(part)
    return {
        "function": f"{module}.{name}",
        "sha256": digest.hexdigest(),
        "captured": [describe(value) if value is not function else name for value in captured],
        "defaults": describe(list(getattr(function, "__defaults__", None) or ())),
    }


def _own_sources() -> Iterator[bytes]:
    """Files of the loaded modules that are neither Python's nor installed.

    A function of somebody's own may call any of them.
    """
    paths = sysconfig.get_paths()
    others = {Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    names = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for file in sorted(Path(name).resolve() for name in names if name is not None):
        if file.suffix == ".py" and file.exists() and others.isdisjoint(file.parents):
            yield file.read_bytes()


def _typed_in(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """Code and constants that were typed at a prompt or in a notebook, and so have no file.

    From ``value`` on to all that its code names.
    """
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if id(value) in seen or getattr(module, "__file__", None) or module is builtins:
        return
    seen[id(value)] = value  # which also keeps it, and so its id
    if isinstance(value, (bool, int, float, str, bytes)):
        yield repr(value).encode()
    for part in vars(value).values() if isinstance(value, type) else ():
        yield from _typed_in(getattr(part, "__func__", part), seen)
    code = getattr(value, "__code__", None)
    for inner in _codes(code) if code is not None else ():
        yield inner.co_code
        for name in inner.co_names:
            yield name.encode()
            yield from _typed_in(value.__globals__.get(name), seen)
        for constant in inner.co_consts:
            yield b"" if isinstance(constant, CodeType) else repr(constant).encode()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A piece of code, and those of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
