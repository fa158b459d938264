"""How long a policy takes to recover from a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..environments import Environment
from ..simulation import even_rounds

# A policy has recovered when its regret is at most this share of the regret of random play.
SHARE = 0.5
# Only changes followed by at least this many rounds without another change count.
CALM = 300


class Recovery(NamedTuple):
    """Recovery times after the changes of an environment."""

    rounds: float  # mean over the changes; no recovery counts as all rounds until the next change
    unfinished: int  # number of changes without recovery
    changes: int


def checkpoints(environment: Environment) -> tuple[int, ...]:
    """Rounds after which to record the regret: 60 even ones, and denser ones after changes."""
    rounds = set(even_rounds(environment.horizon, 60))
    for change, length in _calms(environment.change_points, environment.horizon):
        rounds.update(change - 1 + lag for lag in _lags(length))
    return tuple(sorted(rounds))


def recovery(
    rounds: Array, regret: Array, random: Array, change_points: Sequence[int]
) -> Recovery | None:
    """Recovery times, from the mean regrets (C,) of a policy and of random play.

    The recovery time after a change is the first lag such that, from there to the next checkpoint,
    the policy's regret grows by at most half of the growth for random play. None if no change is
    followed by 300 rounds without another change.
    """
    column = {int(t): c for c, t in enumerate(rounds)}
    times, unfinished = [], 0
    for change, length in _calms(change_points, int(rounds[-1])):
        lags = _lags(length)
        at = [column[change - 1 + lag] for lag in lags]
        back = np.diff(regret[at]) <= SHARE * np.diff(random[at])
        unfinished += not back.any()
        times.append(lags[int(np.argmax(back))] if back.any() else length)
    return Recovery(float(np.mean(times)), unfinished, len(times)) if times else None


def _calms(change_points: Sequence[int], horizon: int) -> Iterator[tuple[int, int]]:
    """Changes followed by a calm of at least `CALM` rounds, and the length of the calm."""
    points = [point for point in change_points if point <= horizon]
    for change, end in pairwise([*points, horizon + 1]):
        if end - change >= CALM:
            yield change, end - change


def _lags(length: int) -> list[int]:
    """0, 10, 20, 30, 40, 60, 80, 110, …, in factors of about √2, and last the length."""
    steps = 10 * np.round(2.0 ** (np.arange(40) / 2)).astype(int)
    return [0, *(int(lag) for lag in np.unique(steps) if lag < length), length]
