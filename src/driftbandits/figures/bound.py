"""Theoretical regret bounds as curves, from the settings in a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..simulation.results import Result
from ..theory.bounds import d_linucb_bound, sw_linucb_bound

_COMMON = ("dim", "ridge", "noise", "delta", "theta_bound", "action_bound")
# The bound for each class of policies, and the setting that only this class has.
_THEOREMS: dict[str, tuple[Callable[..., float], str]] = {
    "DLinUCB": (d_linucb_bound, "gamma"),
    "SWLinUCB": (sw_linucb_bound, "window"),
}


def bounded(result: Result) -> tuple[str, ...]:
    """Labels of the policies that have a bound."""
    return tuple(p for p in result.policies if _settings(result, p).get("policy") in _THEOREMS)


def bound_curve(result: Result, policy: str) -> Array:
    """The paper's regret bound for ``policy`` at every recorded round, shape (C,)."""
    if policy not in bounded(result):
        known = ", ".join(bounded(result)) or "none"
        raise ValueError(f"policy must be one with a regret bound ({known}), got {policy!r}")
    settings = _settings(result, policy)
    theorem, own = _THEOREMS[settings["policy"]]
    values = {name: settings[name] for name in (*_COMMON, own)}
    budget = float(result.config["budget"])
    return np.array(
        [theorem(horizon=int(t), budget=budget, **values) for t in result.regret_rounds]
    )


def _settings(result: Result, policy: str) -> dict[str, Any]:
    settings = result.config.get("policies", {}).get(policy)
    return settings if isinstance(settings, dict) else {}
