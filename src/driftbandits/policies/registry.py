"""The policies that are offered, by the names that the literature gives them."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from typing import TypeVar

from ..core.storage import StateFileError, read_state
from .base import Policy

PolicyClass = TypeVar("PolicyClass", bound=type[Policy])

_REGISTRY: dict[str, type[Policy]] = {}


def register(label: str, summary: str) -> Callable[[PolicyClass], PolicyClass]:
    """Name a policy as the literature does, and list it among those that are offered."""

    def decorate(policy: PolicyClass) -> PolicyClass:
        policy.label, policy.summary = label, summary
        _REGISTRY[label] = policy
        return policy

    return decorate


def registered() -> dict[str, type[Policy]]:
    """Every policy that is offered, by the name it has in the literature.

    Each module of this package is imported, so that a new file is all that a new policy needs.
    """
    for module in pkgutil.iter_modules(importlib.import_module(__package__).__path__):
        importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_REGISTRY.items()))


def load(path: str | os.PathLike[str]) -> Policy:
    """The policy that ``save`` wrote to ``path``: it goes on, bit for bit, where it left off."""
    header, arrays = read_state(path)
    classes = {policy.__name__: policy for policy in registered().values()}
    name = header.get("policy")
    if not isinstance(name, str) or name not in classes:
        raise StateFileError(f"{os.fspath(path)} holds a policy unknown to this release: {name!r}")
    try:
        policy = classes[name](**header["config"])
        policy.restore(arrays)
    except (TypeError, ValueError, KeyError) as error:
        raise StateFileError(f"{os.fspath(path)} does not hold a valid {name}: {error}") from error
    return policy
