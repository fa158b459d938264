"""Decides which snapshots to keep."""

from __future__ import annotations

from collections.abc import Sequence

_DAY = 86_400.0
_NEWEST = 2  # the second one is used if the first is damaged


def superfluous(made: Sequence[tuple[int, float]], *, base: int) -> list[int]:
    """Numbers of the snapshots to drop; ``made`` has (number, time) with the newest first.

    These stay: the newest two, the last one of each earlier day, and ``base``, the snapshot
    directly before the oldest kept record.

    >>> superfluous([(9, 90_000.0), (8, 89_000.0), (7, 88_000.0), (3, 500.0), (2, 400.0)], base=0)
    [7, 2]
    """
    days, gone = set[float](), list[int]()
    for place, (number, time) in enumerate(made):
        day = time // _DAY
        if place >= _NEWEST and day in days and number != base:
            gone.append(number)
        days.add(day)
    return gone


def base_for(made: Sequence[tuple[int, float]], before: float) -> int | None:
    """Number of the newest snapshot that is older than ``before``; None if there is none."""
    return next((number for number, time in made if time < before), None)
