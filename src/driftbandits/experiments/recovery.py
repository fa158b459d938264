"""How long a policy takes to recover from a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..environments import Environment
from ..simulation import even_rounds

# A policy has recovered when it loses at most this share of what playing at random loses.
SHARE = 0.5
# Only changes that are followed by this many rounds of calm are looked at.
CALM = 300


class Recovery(NamedTuple):
    """Recovery times after the changes of an environment."""

    rounds: float  # mean over the changes; one that never ends counts as the calm's whole length
    unfinished: int  # after how many changes it did not recover
    changes: int


def checkpoints(environment: Environment) -> tuple[int, ...]:
    """Rounds after which to write down the regret: 60 even ones, and closer after changes."""
    rounds = set(even_rounds(environment.horizon, 60))
    for change, length in _calms(environment.change_points, environment.horizon):
        rounds.update(change - 1 + lag for lag in _lags(length))
    return tuple(sorted(rounds))


def recovery(
    rounds: Array, regret: Array, random: Array, change_points: Sequence[int]
) -> Recovery | None:
    """Recovery from the mean regrets (C,) of a policy and of playing at random.

    After each change, the first lag from which, up to the next checkpoint, the policy loses at
    most half of what random play loses in the same rounds. None where no change has a calm of
    300 rounds after it.
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
    """Changes with calm after them, and its length."""
    points = [point for point in change_points if point <= horizon]
    for change, end in pairwise([*points, horizon + 1]):
        if end - change >= CALM:
            yield change, end - change


def _lags(length: int) -> list[int]:
    """0, then 10, 20, 30, 40, 60, 80, 110, …: steps of about √2, in tens, up to the length."""
    steps = 10 * np.round(2.0 ** (np.arange(40) / 2)).astype(int)
    return [0, *(int(lag) for lag in np.unique(steps) if lag < length), length]
