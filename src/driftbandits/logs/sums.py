"""Sums of a log for several memories, computed in pieces that merge exactly.

    V = Σ w_j a_j a_jᵀ     Ṽ = Σ w_j² a_j a_jᵀ/count_j     b = Σ w_j r_j a_j     Σ w_j r_j²     n

with w_j = count_j γ^(c − c_j). Two pieces merge by moving the earlier one to the later clock:
V ← γ^gap V + V', and γ^{2 gap} for Ṽ. The sums do not depend on the pieces or the order of merging.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array, whole
from ..core.compiling import entry_point
from .batch import Ints
from .periods import Periods
from .reading import LogReader, Progress


def _add_rows(
    vectors: Array,
    blocks: Ints,
    rows: Ints,
    rewards: Array,
    weights: Array,
    squared_weights: Array,
    gram: Array,
    squared: Array,
    moment: Array,
) -> None:
    """Add Σ w a aᵀ, Σ w² a aᵀ/count and Σ w r a to zeros.

    Compiled, because the threads of BLAS would compete with the threads of the reader.
    """
    width = vectors.shape[1]
    for i in range(rows.size):
        x, at = vectors[rows[i]], blocks[rows[i]] * width
        for j in range(width):
            once, twice = weights[i] * x[j], squared_weights[i] * x[j]
            moment[at + j] += once * rewards[i]
            for k in range(j + 1):
                gram[at + j, at + k] += once * x[k]
                squared[at + j, at + k] += twice * x[k]
    for j in range(gram.shape[0]):
        for k in range(j):
            gram[k, j], squared[k, j] = gram[j, k], squared[j, k]


add_rows = entry_point(_add_rows, "logs_sums")


@dataclass(frozen=True)
class Sums:
    """Weighted sums at a clock, for G discounts.

    Attributes:
        gammas: Discounts per decision, shape (G,).
        clock: Decisions since the beginning of the log, at which the weights hold.
        rows: Number of rewards.
        gram: V without ridge, shape (G, d, d).
        gram_squared: Ṽ without ridge, shape (G, d, d).
        moment: b, shape (G, d).
        squares: Σ w r², shape (G,).
    """

    gammas: Array
    clock: float
    rows: int
    gram: Array
    gram_squared: Array
    moment: Array
    squares: Array

    @classmethod
    def of(
        cls, gammas: Array, actions: Array, rewards: Array, clock: Array, count: Array, end: float
    ) -> Sums:
        """Sums of rows: actions (n, d), rewards (n,), clocks (n,), counts (n,), as of ``end``."""
        rows = np.arange(len(rewards))
        blocks = np.zeros(len(rewards), dtype=np.int64)
        return cls.of_rows(gammas, actions, blocks, 1, rows, rewards, clock, count, end)

    @classmethod
    def of_rows(
        cls,
        gammas: Array,
        vectors: Array,
        blocks: Ints,
        count_of_blocks: int,
        rows: Ints,
        rewards: Array,
        clock: Array,
        count: Array,
        end: float,
    ) -> Sums:
        """Like `of`, for actions e_block ⊗ x; x are entries ``rows`` (n,) of vectors (m, w)."""
        dim, memories = count_of_blocks * vectors.shape[1], len(gammas)
        gram, squared = np.zeros((2, memories, dim, dim))
        moment, squares = np.zeros((memories, dim)), np.zeros(memories)
        for g in range(memories):
            faded = gammas[g] ** (end - clock)
            add_rows(
                np.ascontiguousarray(vectors),
                blocks,
                rows,
                rewards,
                count * faded,
                count * faded**2,
                gram[g],
                squared[g],
                moment[g],
            )
            squares[g] = ((count * faded) * rewards**2).sum()
        return cls(gammas, float(end), len(rewards), gram, squared, moment, squares)

    def at(self, clock: float) -> Sums:
        """The same sums, faded to a later clock."""
        kept = self.gammas ** (clock - self.clock)
        return Sums(
            self.gammas,
            clock,
            self.rows,
            self.gram * kept[:, None, None],
            self.gram_squared * kept[:, None, None] ** 2,
            self.moment * kept[:, None],
            self.squares * kept,
        )

    def merged(self, other: Sums) -> Sums:
        """The sums of both, at the later clock."""
        if not np.array_equal(self.gammas, other.gammas):
            raise ValueError(f"gammas must be equal, got {self.gammas} and {other.gammas}")
        clock = max(self.clock, other.clock)
        a, b = self.at(clock), other.at(clock)
        return Sums(
            self.gammas,
            clock,
            a.rows + b.rows,
            a.gram + b.gram,
            a.gram_squared + b.gram_squared,
            a.moment + b.moment,
            a.squares + b.squares,
        )

    def theta(self, ridge: float = 1.0) -> Array:
        """Estimates (V + ridge·I)⁻¹ b, shape (G, d)."""
        regular = self.gram + ridge * np.eye(self.gram.shape[1])
        return np.asarray(np.linalg.solve(regular, self.moment[..., None])[..., 0])


def sums(
    log: LogReader,
    *,
    memories: Any = (np.inf,),
    period: str | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> dict[str, Sums]:
    """Sums of a log per period; without ``period``, under the single key ``all``.

    Args:
        log: The log. Rows without a reward are left out.
        memories: Memories in decisions; infinity never forgets.
        period: Period of the sums; see `value`. Sums can be merged to longer periods.
        workers: Number of threads; it changes no digit.
        progress: Called with the number of rows done.
    """
    whole("workers", workers, least=1)
    gammas = 1.0 - 1.0 / np.asarray(memories, dtype=np.float64)
    periods = None
    if period is not None:
        span = log.span()
        periods = Periods.named(period, span=span[1] - span[0], dated=log.dated)
    done, found = 0.0, dict[str, Sums]()
    with ThreadPoolExecutor(workers) as threads:
        pieces = deque[Future[tuple[str, Sums]]]()
        for batch in log.batches(progress=progress):
            clock = done + np.cumsum(batch.count)
            done = float(clock[-1])
            known = batch.known
            keys = np.zeros(len(batch), np.int64) if periods is None else periods.of(batch.time)
            for key in np.unique(keys):
                label = "all" if periods is None else periods.label(int(key))
                rows = np.flatnonzero(known & (keys == key)) if periods or not known.all() else None
                pieces.append(threads.submit(_piece, log, batch, rows, gammas, clock, label))
            # Limits the number of unfinished pieces in memory.
            _merge(pieces, found, most=2 * workers)
        _merge(pieces, found, most=0)
    return dict(sorted(found.items()))


def _piece(
    log: LogReader, batch: Any, rows: Ints | None, gammas: Array, clock: Array, label: str
) -> tuple[str, Sums]:
    part = slice(None) if rows is None else rows
    piece = Sums.of_rows(
        gammas,
        batch.vectors,
        batch.blocks,
        log.blocks,
        batch.played[part],
        batch.reward[part],
        clock[part],
        batch.count[part],
        float(clock[-1]),
    )
    return label, piece


def _merge(pieces: deque[Future[tuple[str, Sums]]], found: dict[str, Sums], *, most: int) -> None:
    """Merge pieces in the order of the log until at most ``most`` are left."""
    while len(pieces) > most:
        label, piece = pieces.popleft().result()
        found[label] = piece if label not in found else found[label].merged(piece)
