"""The parts of an environment that a TOML file can describe, by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..environments import (
    ActionsInUnits,
    Bernoulli,
    Bounded,
    Catalogue,
    ClippedCube,
    FixedDelay,
    Gaussian,
    GeometricDelay,
    Kronecker,
    Launches,
    Missing,
    PathInUnits,
    Periodic,
    PiecewiseConstant,
    RandomJumps,
    RandomWalk,
    Rotation,
    Rotting,
    Sales,
    SignFlips,
    Sphere,
    Swing,
    SwitchingArm,
    Trajectory,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)
from .parsing import SettingsError, make, table_at

Kinds = Mapping[str, Callable[..., Any]]

# The kinds of each part, by the name of the part in `Environment`.
PARTS: Mapping[str, Kinds] = {
    "path": {
        "piecewise-constant": PiecewiseConstant,
        "rotation": Rotation,
        "periodic": Periodic,
        "random-walk": RandomWalk,
        "trajectory": Trajectory,
        "random-jumps": RandomJumps,
        "sign-flips": SignFlips,
        "switching-arm": SwitchingArm,
        "rotting": Rotting,
        "swing": Swing,
        "wander": Wander,
        "with-level": WithLevel,
        "in-units": PathInUnits,
    },
    "actions": {
        "clipped-cube": ClippedCube,
        "sphere": Sphere,
        "catalogue": Catalogue,
        "canonical-basis": canonical_basis,
        "kronecker": Kronecker,
        "launches": Launches,
        "with-intercept": WithIntercept,
        "in-units": ActionsInUnits,
    },
    "noise": {
        "gaussian": Gaussian,
        "bounded": Bounded,
        "bernoulli": Bernoulli,
        "sales": Sales,
    },
    "delays": {
        "fixed": FixedDelay,
        "geometric": GeometricDelay,
        "missing": Missing,
    },
}

# Options that are parts themselves: the possible kinds, by kind and key.
_WITHIN = {
    ("kronecker", "contexts"): "actions",
    ("with-intercept", "actions"): "actions",
    ("in-units", "actions"): "actions",
    ("in-units", "path"): "path",
    ("with-level", "path"): "path",
    ("with-level", "level"): "path",
    ("missing", "delays"): "delays",
}


def part(place: str, name: str, table: Any) -> Any:
    """The part ``name`` of an environment, from the table at ``place``."""
    kinds, options = PARTS[name], table_at(place, table)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise SettingsError(f"{place}.kind must be one of {', '.join(kinds)}, got {kind!r}")
    if isinstance(options.get("change_points"), list):
        options["change_points"] = tuple(options["change_points"])
    for key, value in options.items():
        if (kind, key) in _WITHIN:
            options[key] = part(f"{place}.{key}", _WITHIN[kind, key], value)
    return make(place, kinds[kind], options)
