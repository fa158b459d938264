"""A pass over a log for several memories: rows in order, each reward learned when it arrives."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..core.arrays import Array
from .batch import Batch, Ints, Mask
from .lanes import START, Rows, State, walk
from .leverage import Leverage

# Each feature is scaled to a mean square of 1, so this ridge weighs as much as one row.
RIDGE = 1.0
# Stretches of the log from which standard errors of evidence differences are computed.
_STRETCHES = 64
# Largest number of rows per call, and of numbers in their errors: these stay in the cache.
_PIECE, _NUMBERS = 8192, 1 << 20
_TRACE = 2048


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows as a pass needs them: played vectors, clock, rewards in several series."""

    time: Array  # (n,), seconds
    arrival: Array  # (n,), seconds
    clock: Array  # (n,), decisions, or hours in units of decisions
    vectors: Array  # (n, w), scaled
    blocks: Ints  # (n,)
    count: Array  # (n,), number of decisions times the leverage weight
    reward: Array  # (n, S)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def known(self) -> Mask:
        """Rows with a reward, shape (n,)."""
        return np.isfinite(self.reward[:, 0])

    def part(self, rows: slice | Mask | Ints) -> Stretch:
        """Some of the rows."""
        return Stretch(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def then(self, other: Stretch) -> Stretch:
        """These rows, followed by others."""
        return Stretch(
            **{
                f.name: np.concatenate([getattr(self, f.name), getattr(other, f.name)])
                for f in fields(self)
            }
        )


class Clock:
    """The clock on which memories are measured.

    ``decisions``: the clock moves by one per decision. ``hours``: it moves with time, at
    ``rate`` decisions per hour, so that memories have the same size on both clocks.
    """

    def __init__(self, kind: str, rate: float) -> None:
        if kind not in ("decisions", "hours"):
            raise ValueError(f"clock must be one of decisions, hours, got {kind!r}")
        self.kind, self.rate = kind, rate
        self.done = 0.0

    def __call__(self, batch: Batch) -> Array:
        """Clock of the rows of the next batch, shape (n,)."""
        if self.kind == "hours":
            return batch.time / 3600.0 * self.rate
        ends = self.done + np.cumsum(batch.count)
        self.done = float(ends[-1])
        return np.asarray(ends - batch.count)


def stretch(batch: Batch, clock: Array, scales: Array, leverage: Leverage) -> Stretch:
    """The rows of the next batch with one series: their logged rewards."""
    batch = batch.judged()
    played = batch.played
    vectors = batch.vectors[played] / scales
    return Stretch(
        time=batch.time,
        arrival=batch.arrival,
        clock=clock,
        vectors=vectors,
        blocks=batch.blocks[played],
        count=batch.count * leverage(vectors),
        reward=batch.reward[:, None],
    )


class Pass:
    """Prequential evidence of M memories over S series of rewards.

    Args:
        memories: Memories 1/(1 − γ) in units of the clock, shape (M,); infinity never forgets.
        width: Length w of a vector within its block.
        blocks: Number of blocks.
        series: Number S of series of rewards; the first is the log's own.
        instant: Learn each reward right after its decision, even if it came later.
        noise: Memory of the noise level s² in rows, the same for all lanes. With a short memory,
            quiet and noisy times count equally.
        widths: Whether the uncertainty aᵀV⁻¹a of a prediction counts. If noise differs between
            contexts, the wide bounds of a short memory imitate it, which is not drift.
    """

    def __init__(
        self,
        memories: Array,
        *,
        width: int,
        blocks: int,
        series: int = 1,
        instant: bool = False,
        noise: float = np.inf,
        widths: bool = True,
    ) -> None:
        lanes = len(memories)
        self.rates = np.where(np.isinf(memories), 0.0, -np.log1p(-1.0 / memories))
        self.instant, self._kept, self._widths = instant, 1.0 - 1.0 / noise, widths
        self.state = State(
            gram=np.zeros((blocks, width, width, lanes)),
            moment=np.zeros((blocks, width, lanes, series)),
            clock=np.full(blocks, -np.inf),
            squares=np.zeros((lanes, series)),
            evidence=np.zeros((lanes, series)),
            closeness=np.zeros(lanes),
            due=np.zeros(1),
            scored=np.zeros(1),
        )
        self._waiting: Stretch | None = None
        self._errors = np.zeros((0, lanes, series))
        self.trace, self.closer = Trace(lanes), Trace(lanes)

    @property
    def evidence(self) -> Array:
        """Log-evidence of each memory for the logged rewards, shape (M,)."""
        return self.state.evidence[:, 0]

    @property
    def unscored(self) -> str:
        """Why no reward could be predicted, for an error message."""
        learned = int(self.state.due[0])
        if learned < START:
            return f"10 rewards that came before later decisions; only {learned} did"
        return "rewards that differ; all known rewards are equal"

    @property
    def gains(self) -> Array:
        """Evidence of the best memory minus evidence of never forgetting, per series (S,)."""
        return np.asarray(self.state.evidence.max(axis=0) - self.state.evidence[-1])

    def theta(self, lane: int) -> Array:
        """Estimates of the logged rewards with one memory, shape (B, w)."""
        upper = self.state.gram[..., lane]
        gram = np.triu(upper) + np.swapaxes(np.triu(upper, 1), 1, 2)
        gram = gram + RIDGE * np.eye(upper.shape[1])
        moment = self.state.moment[..., lane, 0]
        return np.asarray(np.linalg.solve(gram, moment[..., None])[..., 0])

    def take(self, rows: Stretch, ends: Ints) -> None:
        """Predict and learn further rows; ``ends`` (U + 1,) bound the units, from 0 to n."""
        at, most = 0, min(_PIECE, _NUMBERS // self.state.evidence.size)
        while at < len(ends) - 1:
            to = max(at + 1, int(np.searchsorted(ends, ends[at] + most, "right")) - 1)
            self._take(rows.part(slice(ends[at], ends[to])), ends[at : to + 1] - ends[at])
            at = to

    def _take(self, rows: Stretch, ends: Ints) -> None:
        waiting = rows.part(slice(0, 0)) if self._waiting is None else self._waiting
        both, start = waiting.then(rows), len(waiting)
        error = np.concatenate([self._errors, np.zeros((len(rows), *self._errors.shape[1:]))])
        order, due = self._order(both, start, ends)
        if np.isinf(self.state.clock).any():
            self.state.clock[np.isinf(self.state.clock)] = rows.clock[0]
        arrays = Rows(
            np.ascontiguousarray(both.vectors),
            both.blocks,
            both.clock,
            both.count,
            np.ascontiguousarray(both.reward),
            error,
        )
        trace, closer = np.empty((2, len(ends) - 1, len(self.rates)))
        known = rows.known
        learned = walk(
            self.state,
            arrays,
            start,
            ends,
            known,
            order,
            due,
            self.rates,
            RIDGE,
            self._kept,
            self._widths,
            trace,
            closer,
        )
        left = order[learned:]
        self._waiting, self._errors = both.part(left), error[left]
        self.trace.add(rows.time[ends[1:] - 1], trace)
        self.closer.add(rows.time[ends[1:] - 1], closer)

    def _order(self, both: Stretch, start: int, ends: Ints) -> tuple[Ints, Ints]:
        """Rows in the order of learning, and for each the start of the first unit that uses it."""
        n = len(both) - start
        when = np.searchsorted(both.time[start:], both.arrival, "left")
        unit_end = ends[np.searchsorted(ends, np.arange(n), "right")]
        earliest = np.concatenate([np.zeros(start, dtype=np.int64), unit_end])
        due = earliest if self.instant else np.maximum(when, earliest)
        due = np.append(ends, n + 1)[np.searchsorted(ends, np.minimum(due, n), "left")]
        candidates = np.flatnonzero(np.isfinite(both.arrival) & both.known)
        order = candidates[np.lexsort((both.arrival[candidates], due[candidates]))]
        return order.astype(np.int64), due[order].astype(np.int64)


class Trace:
    """Evidence over time, thinned to a bounded number of points."""

    def __init__(self, lanes: int) -> None:
        self.times = np.zeros(0)
        self.values = np.zeros((0, lanes))
        self._stride, self._seen = 1, 0

    def add(self, times: Array, values: Array) -> None:
        """Further points; if there are too many, every other one is dropped."""
        where = np.arange(self._seen, self._seen + len(times))
        keep = where % self._stride == 0
        self._seen += len(times)
        self.times = np.concatenate([self.times, times[keep]])
        self.values = np.concatenate([self.values, values[keep]])
        while len(self.times) > _TRACE:
            self.times, self.values = self.times[::2], self.values[::2]
            self._stride *= 2

    def errors(self, lane: int) -> Array:
        """Standard errors of the differences in evidence to one memory, shape (M,).

        From the sums over 64 stretches of the log, since neighbouring scores are not independent,
        and under heavy tails a few rows dominate. NaN if there are fewer than two stretches.
        """
        every = max(1, len(self.times) // _STRETCHES)
        ahead = (self.values - self.values[:, [lane]])[::every]
        gains = np.diff(ahead, axis=0)
        if len(gains) < 2:
            return np.full(self.values.shape[1], np.nan)
        return np.asarray(np.sqrt(len(gains)) * gains.std(axis=0, ddof=1))


def single_units(rows: int, size: int = 1) -> Ints:
    """Bounds of units of ``size`` rows."""
    return np.append(np.arange(0, rows, size), rows).astype(np.int64)
