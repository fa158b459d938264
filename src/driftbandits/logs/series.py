"""Series of means over time, and evidence for their drift, calibrated by random signs per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..core.arrays import Array
from .passes import Pass, Stretch, single_units

# Rows whose values are simulated at once.
AT_ONCE = 2048
# Neighbours on each side from which a row's noise is measured.
_NEAR = 4

Moved = Callable[[slice], Array]


def series(time: Array, arrival: Array, clock: Array, values: Array) -> Stretch:
    """Rows with the constant vector 1, so that ``values`` are predicted by their mean."""
    n = len(time)
    return Stretch(
        time=time,
        arrival=arrival,
        clock=clock,
        vectors=np.ones((n, 1)),
        blocks=np.zeros(n, dtype=np.int64),
        count=np.ones(n),
        reward=values,
    )


def random_signs(
    generator: np.random.Generator, rows: int, count: int
) -> Iterator[tuple[slice, Array]]:
    """One sign per row and simulated series, in parts of shape (≤ 2048, count)."""
    for start in range(0, rows, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, rows))
        draws = generator.integers(0, 2, (part.stop - start, count))
        yield part, np.asarray(draws * 2.0 - 1.0, dtype=np.float64)


def evidence_of(
    rows: Stretch,
    noise: Array,
    lanes: Array,
    count: int,
    generator: Callable[[], np.random.Generator],
    moved: Moved | None = None,
) -> Array:
    """Evidence of M memories for the series and for ``count`` simulated ones, (M, 1 + count).

    A simulated series is the mean plus each row's own ``noise`` (n, series) times a random sign.
    All columns of the series share the signs, and their evidence is summed. ``moved`` returns the
    numbers to add to given rows of the simulated series.
    """
    evidence = np.zeros((len(lanes), count + 1))
    for j, mean in enumerate(rows.reward.mean(axis=0)):
        one = Pass(lanes, width=1, blocks=1, series=count + 1)
        for part, signs in random_signs(generator(), len(rows), count):
            mine = rows.part(part)
            drawn = mean + noise[part, j : j + 1] * signs
            if moved is not None:
                drawn += moved(part)
            reward = np.concatenate([mine.reward[:, j : j + 1], drawn], axis=1)
            one.take(Stretch(**{**vars(mine), "reward": reward}), single_units(len(mine)))
        evidence += one.state.evidence
    return evidence


def from_neighbours(values: Array) -> Array:
    """Deviations (n, series) from the mean of up to 9 neighbours, scaled to the spread of one row.

    With k neighbours, including the row itself, a deviation has 1 − 1/k of a row's variance.
    """
    values, at = values - values.mean(axis=0), np.arange(len(values))
    low, high = np.maximum(at - _NEAR, 0), np.minimum(at + _NEAR + 1, len(values))
    sums = np.cumsum(np.concatenate([np.zeros((1, values.shape[1])), values]), axis=0)
    size = (high - low)[:, None].astype(np.float64)
    deviation = values - (sums[high] - sums[low]) / size
    return np.asarray(deviation * np.sqrt(size / np.maximum(size - 1.0, 1.0)))
