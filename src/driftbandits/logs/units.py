"""Units: groups of neighbouring rows that are predicted together, whole within every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .batch import Batch, Ints
from .log import Log, Progress
from .passes import Clock, Stretch, stretch

Cut = Callable[[Stretch, bool], Ints]

# Rows of a unit within which the level counts as constant.
UNIT = 16


def of_size(size: int) -> Cut:
    """Units of ``size`` rows; the last of the log may be shorter."""

    def cut(rows: Stretch, last: bool) -> Ints:
        whole = len(rows) // size * size
        ends = np.arange(0, whole + 1, size)
        return np.append(ends, len(rows)) if last and whole < len(rows) else ends

    return cut


def of_same_time(rows: Stretch, last: bool) -> Ints:
    """Rows of the same time, as the arms of one test in an aggregated log."""
    starts = np.flatnonzero(np.diff(rows.time, prepend=np.nan) != 0)
    return np.append(starts, len(rows)) if last else starts


def is_aggregated(log: Log) -> bool:
    """Whether rows stand for several decisions each, seen from the first batch."""
    first: Batch | None = next(iter(log.batches()), None)
    return first is not None and bool((first.count != 1.0).any())


def stretches(
    log: Log, *, clock: str, cut: Cut, progress: Progress | None = None
) -> Iterator[tuple[Stretch, Ints]]:
    """The rows of a log in whole units, with the bounds of these."""
    tick, scales = Clock(clock, log.rate), log.scales()
    held: Stretch | None = None
    for batch in log.batches(progress=progress):
        rows = stretch(batch, tick(batch), scales)
        rows = rows if held is None else held.then(rows)
        ends = cut(rows, False)
        if len(ends) > 1:
            yield rows.part(slice(0, int(ends[-1]))), ends
        held = rows.part(slice(int(ends[-1]) if len(ends) else 0, None))
    if held is not None and len(held):
        yield held, cut(held, True)
