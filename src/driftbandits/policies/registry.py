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
    """Name a policy as the literature does, and list it among those that are offered.

    Labels and class names are unique: files name the class, settings the label. The same class
    defined again, as in a notebook, takes the place of its former self.
    """

    def decorate(policy: PolicyClass) -> PolicyClass:
        origin = _origin(policy)
        others = {name: other for name, other in _REGISTRY.items() if _origin(other) != origin}
        for name, other in others.items():
            if name == label or other.__name__ == policy.__name__:
                raise ValueError(
                    f"a policy must have a label and a class name of its own, got {label!r} for "
                    f"{origin}; {name!r} is {_origin(other)}"
                )
        for former in _REGISTRY.keys() - others.keys():
            del _REGISTRY[former]
        policy.label, policy.summary = label, summary
        _REGISTRY[label] = policy
        return policy

    return decorate


def _origin(policy: type[Policy]) -> str:
    """Where a class comes from, which its definition run again keeps."""
    return f"{policy.__module__}.{policy.__qualname__}"


def registered() -> dict[str, type[Policy]]:
    """Every policy that is offered, by the name it has in the literature.

    Each module of this package is imported, so that a new file is all that a new policy needs.
    """
    folder = importlib.import_module(__package__).__path__
    for module in pkgutil.walk_packages(folder, f"{__package__}."):
        importlib.import_module(module.name)
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
