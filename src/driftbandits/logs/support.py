"""Policies that play actions which the logger never played: the log cannot evaluate them.

Weights w = π(a|x)/p have the mean 1 if the logger could have played all actions that a policy
plays. If an action was never played, no row shows what it earns: IPS counts it as 0, and a model
has only its prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from .batch import Batch, Ints
from .moments import WEIGHT, Moments

# Share of a policy's plays that may be missing, and standard errors beyond which it is not chance.
_LITTLE, _ERRORS = 0.01, 4.0
_NAMED = 5


@dataclass(frozen=True)
class Missing:
    """Actions that a policy plays but the log never did: their share of its plays, their names."""

    share: float
    names: tuple[str, ...]

    def __str__(self) -> str:
        rest = len(self.names) - _NAMED
        names = ", ".join(self.names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        return f"{self.share:.2%} of its plays are actions that the log never played ({names})"


class Support:
    """Plays per action, of the logger and of every policy, added up batch by batch."""

    def __init__(self) -> None:
        self._logged = np.zeros(0)
        self._wanted: dict[str, Array] = {}

    def log(self, rows: Batch) -> None:
        """Further rows, as they were logged."""
        self._logged = _added(self._logged, rows.labels[rows.played], rows.count)

    def plays(self, policy: str, actions: int) -> Array:
        """Plays of a policy per action, for ``actions`` actions seen so far; callers add to it."""
        known = self._wanted.get(policy, np.zeros(0))
        self._wanted[policy] = np.pad(known, (0, max(0, actions - len(known))))
        return self._wanted[policy]

    def missing(self, policy: str, names: tuple[str, ...]) -> Missing:
        """Actions that a policy plays but the log never did."""
        wanted = self._wanted.get(policy, np.zeros(0))
        logged = np.pad(self._logged, (0, max(0, len(wanted) - len(self._logged))))
        lacking = np.flatnonzero((wanted > 0.0) & (logged[: len(wanted)] == 0.0))
        order = lacking[np.argsort(-wanted[lacking], kind="stable")]
        share = float(wanted[lacking].sum() / max(wanted.sum(), 1e-300))
        return Missing(share, tuple(names[k] for k in order))


def _added(sums: Array, labels: Ints, weights: Array) -> Array:
    more: Array = np.bincount(labels, weights=weights, minlength=len(sums)).astype(np.float64)
    more[: len(sums)] += sums
    return more


def lacks(moments: Moments, missing: Missing) -> bool:
    """Whether missing actions show in the weights: their mean is below 1 by more than chance."""
    if moments.weights == 0.0:
        return True
    weight = moments.mean(np.eye(6)[WEIGHT])
    return missing.share > _LITTLE and not weight.mean + _ERRORS * weight.error >= 1.0


def mean_weight(moments: Moments) -> float | None:
    """The mean of the weights if it differs from 1 by more than chance, else None.

    If it differs, the logger could not have played all actions of the policy, or propensities are
    wrong. A mean that is too small may only lack rare plays, which its estimated error misses. So
    the error is at least that of weights with mean 1 and maximum ``largest``, whose variance is at
    most largest − 1.
    """
    weight = moments.mean(np.eye(6)[WEIGHT])
    rare = np.sqrt(max(moments.largest - 1.0, 0.0) / moments.count)
    error = max(weight.error, rare) if weight.mean < 1.0 else weight.error
    off = abs(weight.mean - 1.0)
    return weight.mean if off > max(_LITTLE, _ERRORS * error) else None
