"""Change points, and which of them policies detected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..simulation.results import Result

# A path with more changes than this is drawn as gradual drift.
_MOST_CHANGES = 20
_BINS = 60


@dataclass(frozen=True)
class Noticed:
    """How one policy noticed one change.

    Attributes:
        policy: Label of the policy.
        change: First round with the new parameter.
        rate: Share of the replications with a detection before the next change.
        round: Mean round of the first such detection; NaN if there is none.
    """

    policy: str
    change: int
    rate: float
    round: float


def change_points(result: Result) -> tuple[int, ...]:
    """Rounds that begin with a jump; empty for gradual drift."""
    points = tuple(int(t) for t in result.config.get("change_points", ()) if t <= result.horizon)
    return points if len(points) <= _MOST_CHANGES else ()


def noticed(result: Result) -> list[Noticed]:
    """One entry per change and policy that detected anything, in order."""
    ends = (*change_points(result)[1:], np.inf)
    rows = []
    for policy in result.detecting:
        for start, end in zip(change_points(result), ends, strict=False):
            first = _first_in(result, policy, start, end)
            mean = float(first.mean()) if first.size else float("nan")
            rows.append(Noticed(policy, start, first.size / result.replications, mean))
    return rows


def false_alarm_rate(result: Result, policy: str) -> float:
    """Share of the replications in which ``policy`` detects before anything has changed."""
    first_change = min(change_points(result), default=np.inf)
    return _first_in(result, policy, 0, first_change).size / result.replications


def histogram(result: Result) -> tuple[Array, dict[str, Array]]:
    """Edges of the bins over all rounds, and the detections in each, by policy."""
    edges = np.linspace(0.0, result.horizon, _BINS + 1)
    rounds = {policy: _rounds_of(result, policy)[:, 1] for policy in result.detecting}
    return edges, {policy: np.histogram(r, bins=edges)[0] for policy, r in rounds.items()}


def _rounds_of(result: Result, policy: str) -> Array:
    """Rows [replication, round] of a policy's detections."""
    mine = result.detections[:, 0] == result.policies.index(policy)
    return np.asarray(result.detections[mine, 1:])


def _first_in(result: Result, policy: str, start: float, end: float) -> Array:
    """First detection in [start, end) of each replication that has one."""
    rows = _rounds_of(result, policy)
    rows = rows[(rows[:, 1] >= start) & (rows[:, 1] < end)]
    return np.array([rows[rows[:, 0] == n, 1].min() for n in np.unique(rows[:, 0])])
