"""What a run is made of, as data: for the record, and to tell one run from another."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np

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
        "driftbandits": version("driftbandits"),
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
    """A function by its name, the file that defines it, and the values it has captured."""
    module = getattr(function, "__module__", "")
    name = getattr(function, "__qualname__", repr(function))
    captured = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    try:
        source = Path(inspect.getfile(function)).read_bytes()
    except (OSError, TypeError):
        source = b""
    return {
        "function": f"{module}.{name}",
        "sha256": hashlib.sha256(source).hexdigest(),
        "captured": [describe(value) if value is not function else name for value in captured],
        "defaults": describe(list(getattr(function, "__defaults__", None) or ())),
    }
