"""Units: groups of neighbouring rows that are predicted together; batches never split them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from .batch import Batch, Ints
from .leverage import Leverage
from .passes import Clock, Stretch, stretch
from .reading import LogReader
from .rows import LARGEST

Cut = Callable[[Stretch, bool], Ints]

# Rows of a unit; the level counts as constant within a unit.
UNIT = 16


def of_size(size: int) -> Cut:
    """Units of ``size`` rows; the last unit of the log may be shorter."""

    def cut(rows: Stretch, last: bool) -> Ints:
        whole = len(rows) // size * size
        ends = np.arange(0, whole + 1, size)
        return np.append(ends, len(rows)) if last and whole < len(rows) else ends

    return cut


def of_same_time(rows: Stretch, last: bool) -> Ints:
    """Units of rows with the same time, such as the arms of one test in an aggregated log."""
    starts = np.flatnonzero(np.diff(rows.time, prepend=np.nan) != 0)
    return np.append(starts, len(rows)) if last else starts


def is_aggregated(log: LogReader) -> bool:
    """Whether rows of the first batch stand for several decisions each."""
    first: Batch | None = next(iter(log.batches()), None)
    return first is not None and bool((first.count != 1.0).any())


def longest(batch: Batch) -> float:
    """Norm of the longest vector of a batch, leaving out vectors that are too large to be valid."""
    squares = np.einsum("ij,ij->i", batch.vectors, batch.vectors)
    return float(np.sqrt(squares[squares < LARGEST**2].max(initial=0.0)))


class Stretches:
    """The batches of a log as rows in whole units, with the bounds of the units."""

    def __init__(self, log: LogReader, *, clock: str, cut: Cut) -> None:
        self._log, self._cut = log, cut
        self._tick, self._leverage = Clock(clock, log.rate), Leverage(log.width)
        self._held: Stretch | None = None
        self.longest = 0.0  # norm of the longest action that was offered so far

    def of(self, batches: Iterable[Batch]) -> Iterator[tuple[Stretch, Ints]]:
        """Whole units of the next batches; the rest of a batch waits for the next batch."""
        scales = self._log.scales()
        for batch in batches:
            self.longest = max(self.longest, longest(batch))
            rows = stretch(batch, self._tick(batch), scales, self._leverage)
            rows = rows if self._held is None else self._held.then(rows)
            ends = self._cut(rows, False)
            whole = int(ends[-1]) if len(ends) else 0
            self._held = rows.part(slice(whole, None))
            if len(ends) > 1:
                yield rows.part(slice(0, whole)), ends
        held, self._held = self._held, None
        if held is not None and len(held):
            yield held, self._cut(held, True)
