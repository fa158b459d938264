"""The policies on offer, by their names in the literature."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from ..core.arrays import Array
from ..core.storage import StateFileError, read_state
from .base import Policy, rebuilt

PolicyClass = TypeVar("PolicyClass", bound=type[Policy])

_REGISTRY: dict[str, type[Policy]] = {}


def register(label: str, summary: str) -> Callable[[PolicyClass], PolicyClass]:
    """Give a policy class its name in the literature, and list it among the policies on offer.

    Labels and class names must be unique: files name the class, settings name the label. A class
    that is defined again, as in a notebook, replaces its earlier definition.
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
    """Module and name of a class; they stay the same if it is defined again."""
    return f"{policy.__module__}.{policy.__qualname__}"


def registered() -> dict[str, type[Policy]]:
    """Every policy on offer, by its name in the literature.

    Each module of this package is imported. So a new policy needs nothing but a new file.
    """
    _import_all()
    return dict(sorted(_REGISTRY.items()))


@cache
def _import_all() -> None:
    """Import each module of this package, once."""
    folder = importlib.import_module(__package__).__path__
    for module in pkgutil.walk_packages(folder, f"{__package__}."):
        importlib.import_module(module.name)


def load(path: str | os.PathLike[str]) -> Policy:
    """The policy that ``save`` wrote to ``path``: it goes on, bit for bit, where it left off.

    Import the module of your own policy first: a file never causes an import.

    Raises:
        StateFileError: The file is damaged, or holds no policy that is known here.
        OSError: The file cannot be read.
    """
    header, arrays = read_state(path)
    if "agent" in header:
        raise StateFileError(f"{os.fspath(path)} holds an agent; driftbandits.Agent.load reads it")
    try:
        return policy_from(header, arrays)
    except StateFileError as error:
        raise StateFileError(f"{os.fspath(path)} {error}") from error


def policy_from(header: Mapping[str, Any], arrays: dict[str, Array]) -> Policy:
    """The policy from a header and arrays that `Policy.content` made."""
    kind = _class_of(header)
    if kind is None:
        raise StateFileError(
            f"holds a policy unknown to this release: {header.get('policy')!r} "
            f"of module {header.get('module')!r}; import the module of a policy of your own first"
        )
    try:
        return rebuilt(kind, header["config"], arrays)
    except Exception as error:  # a forged header can fail in any way
        raise StateFileError(f"does not hold a valid {kind.__name__}: {error!s}") from error


def _class_of(header: Mapping[str, Any]) -> type[Policy] | None:
    """The class that a file names, if it is defined here."""
    name, module = header.get("policy"), header.get("module")
    offered = registered().values()
    if module is None:  # written by release 0.1.0
        known = list(offered)
    else:
        # Since the save, a module of this package, or the user's script, may have been renamed.
        ours = _is_shipped(str(module))
        known = [kind for kind in _subclasses(Policy) if _is_shipped(kind.__module__) == ours]
    named = [kind for kind in known if kind.__name__ == name]
    exact = [kind for kind in named if kind.__module__ == module]
    # If a class was defined again, as in a notebook, the last definition counts.
    return next(reversed(exact or named), None)


def _is_shipped(module: str) -> bool:
    return module.partition(".")[0] == __package__.partition(".")[0]


def _subclasses(kind: type[Any]) -> Iterator[type[Policy]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)
