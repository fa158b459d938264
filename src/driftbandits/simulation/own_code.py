"""Describe functions and classes that users wrote: in files, at a prompt, or at run time.

A name is not enough, because the code behind it may change. So the description of code contains
a hash of all source files that are neither Python's nor installed, the compiled form, the captured
values, and the current global values that the code uses.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

Describe = Callable[[Any], Any]

_WRAPPERS = (staticmethod, classmethod, property, functools.cached_property)
CODE_TYPES = (
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    ModuleType,
    type,
    functools.partial,
    np.ufunc,
    *_WRAPPERS,
)
_BOOKKEEPING = (GetSetDescriptorType, MemberDescriptorType)


def name_of(value: Any) -> str:
    """Module and name of a class or a function."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)
    return f"{_module_of(value)}.{name}"


def is_shipped(value: Any) -> bool:
    """Whether a class or function belongs to this package."""
    return _module_of(value).partition(".")[0] == __package__.partition(".")[0]


def is_own(value: Any) -> bool:
    """Whether a user wrote this code: it is not Python's, not installed, not of this package."""
    return not is_shipped(value) and _is_own_module(_module_of(value))


class Own:
    """Describes each piece of code once, and refers to it by a number after that."""

    def __init__(self, describe: Describe, sources: str) -> None:
        self._describe = describe
        self._sources = sources
        self._seen: dict[int, tuple[int, Any]] = {}

    def code(self, value: Any) -> Any:
        """The description of a function, class or module, or of a wrapper around one."""
        if id(value) in self._seen:
            return {"code": self._seen[id(value)][0]}
        self._seen[id(value)] = (len(self._seen), value)  # the reference keeps the id valid
        if isinstance(value, functools.partial):
            parts = [value.func, value.args, value.keywords]
            return {"partial": [self._describe(part) for part in parts]}
        if isinstance(value, MethodType):
            return {"method": self.code(value.__func__), "of": self._describe(value.__self__)}
        if isinstance(value, BuiltinFunctionType):
            owner = value.__self__
            bound = {} if isinstance(owner, ModuleType) else {"of": self._describe(owner)}
            return {"function": name_of(value), **bound}
        if isinstance(value, _WRAPPERS):
            return {type(value).__name__: [self._describe(part) for part in _wrapped(value)]}
        if isinstance(value, ModuleType):
            return {"module": value.__name__}
        if not is_own(value):
            captured = self._captured(value) if isinstance(value, FunctionType) else {}
            return {"name": name_of(value), "file": _file_digest(_module_of(value)), **captured}
        described = self._class(value) if isinstance(value, type) else self._function(value)
        return {"name": name_of(value), "sources": self._sources, **described}

    def _class(self, kind: type) -> dict[str, Any]:
        members = {
            name: self._describe(member)
            for name, member in vars(kind).items()
            if not isinstance(member, _BOOKKEEPING)
            and name != "_abc_impl"
            and (not name.startswith("__") or isinstance(member, CODE_TYPES))
        }
        return {"members": members, "bases": [self.code(base) for base in kind.__bases__]}

    def _function(self, function: FunctionType) -> dict[str, Any]:
        return {
            "compiled": [self._compiled(code) for code in _codes(function.__code__)],
            "uses": dict(self._uses(function)),
            **self._captured(function),
        }

    def _captured(self, function: FunctionType) -> dict[str, Any]:
        cells = [_content(cell) for cell in function.__closure__ or ()]
        defaults = [function.__defaults__, function.__kwdefaults__]
        return {"captured": self._describe(cells), "defaults": self._describe(defaults)}

    def _compiled(self, code: CodeType) -> list[Any]:
        constants = [item for item in code.co_consts if not isinstance(item, CodeType)]
        digest = hashlib.sha256(code.co_code).hexdigest()
        unloaded = [{"undescribed": f"module {name}"} for name in _unloaded(code)]
        return [digest, list(code.co_names), self._describe(constants), *unloaded]

    def _uses(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        """Global values that a function names, and attributes it may read from users' modules."""
        names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
        for name in names:
            value = function.__globals__.get(name)
            if isinstance(value, ModuleType) and is_own(value):
                for attribute in names:
                    if attribute in vars(value):
                        yield f"{name}.{attribute}", self._describe(vars(value)[attribute])
            elif name in function.__globals__ and not isinstance(value, ModuleType):
                yield name, self._describe(value)


def _module_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None) or "builtins")


def _is_own_module(name: str) -> bool:
    if name.startswith("_cython_"):  # types of Cython functions of libraries
        return False
    module = sys.modules.get(name)
    if module is None:
        return True  # typed at a prompt, or created at run time
    file = getattr(module, "__file__", None)
    if file is not None:
        return _is_own_file(str(file))
    spec = getattr(module, "__spec__", None)
    return spec is None or spec.origin not in ("built-in", "frozen")


@cache
def _is_own_file(name: str) -> bool:
    return _installed().isdisjoint(Path(name).resolve().parents)


@cache
def _installed() -> set[Path]:
    """Folders of Python's standard library and of installed packages."""
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [site.getusersitepackages(), *site.getsitepackages()]
    return {Path(folder).resolve() for folder in folders}


def own_sources() -> str:
    """Hash of the files of all loaded modules that are neither Python's nor installed.

    A user's function may call any of them.
    """
    digest = hashlib.sha256()
    names = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    for name in sorted(name for name in names if name is not None and name.endswith(".py")):
        if _is_own_file(name) and Path(name).exists():
            digest.update(Path(name).read_bytes())
    return digest.hexdigest()


def _file_digest(module: str) -> str:
    """Hash of the file of an installed module; empty if it has no Python file."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file.endswith(".py") else ""


def _unloaded(code: CodeType) -> Iterator[str]:
    """Modules that a function will import when it runs and that a user may have written."""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and step.argval not in sys.modules:
            name = str(step.argval)
            try:
                spec = importlib.util.find_spec(name)
            except (ImportError, ValueError):
                spec = None
            if spec is None or spec.origin is None or _is_own_file(spec.origin):
                yield name


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and the code objects of all functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return None


def _wrapped(value: Any) -> list[Any]:
    names = ("__func__", "func", "fget", "fset", "fdel")
    return [getattr(value, name) for name in names if hasattr(value, name)]
