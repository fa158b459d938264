"""What a run is made of, as data: for the record, and to tell one run from another."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numba
import numpy as np

from .._compile import package_digest
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
    return value


def versions() -> dict[str, str]:
    """What computed it."""
    return {
        "driftbandits": version("driftbandits"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "code": package_digest()[:16],
    }


def fingerprint(description: Any) -> str:
    """A short name for a description; different descriptions have different ones."""
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _describe_function(function: Any) -> dict[str, str]:
    name = (
        f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
    )
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    return {"function": name, "sha256": hashlib.sha256(source.encode()).hexdigest()}
