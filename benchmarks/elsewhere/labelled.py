"""Data with labels as a bandit: a row comes, a label is guessed, and only that guess is judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from driftbandits.environments import ActionSet, Block, DrawnActions, Environment, Noise
from driftbandits.environments import noise as noises
from driftbandits.environments.paths import ParameterPath, Trajectory
from driftbandits.randomness import stream

from ..measure import Array

_BLOCK = 250  # rounds that are drawn at a time


@dataclass(frozen=True, kw_only=True)
class Labelled(Environment):
    """Reward 1 for a label that fits the row, 0 for another; regret counts rows that went wrong.

    Every label has a model of its own: action k is e_k ⊗ x. No linear model is true, so there is
    no parameter. A replication is an order of the rows, which come again when all have come.

    Attributes:
        rows: Features x, shape (n, p).
        fits: Whether a label fits a row, shape (n, K).
        changes: Rounds from which on each label means the next one.
        in_order: Whether rows come in their own order, from a random one on, instead of any order.
    """

    rows: Array
    fits: Array
    changes: tuple[int, ...] = ()
    in_order: bool = False
    path: ParameterPath = field(init=False)
    actions: ActionSet = field(init=False)
    noise: Noise = field(default=noises.Bounded(0.5), init=False)

    def __post_init__(self) -> None:
        labels = self.fits.shape[1]
        dim = labels * self.rows.shape[1]
        object.__setattr__(self, "path", Trajectory(np.zeros((1, dim))))
        actions = DrawnActions(function=self._no_drawing, dim=dim, count=labels)
        object.__setattr__(self, "actions", actions)
        super().__post_init__()

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds within the horizon from which on labels mean others."""
        return tuple(change for change in self.changes if change <= self.horizon)

    def blocks(self, *, seed: int, replication: int, stops: Iterable[int] = ()) -> Iterator[Block]:
        """Draw a replication, in blocks that end at ``stops`` at the latest."""
        order = self._order(stream(seed, "rows", replication))
        fits = self.fits[order].astype(float)
        for change in self.changes:
            fits[change - 1 :] = np.roll(fits[change - 1 :], 1, axis=1)
        longest = float(np.linalg.norm(self.rows, axis=1).max())
        ends = sorted({*stops, *range(_BLOCK, self.horizon, _BLOCK), self.horizon})
        start = 0
        for end in (end for end in ends if end <= self.horizon):
            rewards, size = fits[start:end], end - start
            yield Block(
                first=start + 1,
                actions=self._columns(self.rows[order[start:end]]),
                parameters=np.zeros((size, self.dim)),
                means=rewards,
                best=rewards.max(axis=1),
                noise=np.zeros((size, 1)),
                longest=longest,
            )
            start = end

    def _order(self, generator: np.random.Generator) -> npt.NDArray[np.int64]:
        count = len(self.rows)
        if self.in_order:
            return (generator.integers(count) + np.arange(self.horizon)) % count
        passes = -(-self.horizon // count)
        return np.concatenate([generator.permutation(count) for _ in range(passes)])[: self.horizon]

    def _columns(self, rows: Array) -> Array:
        """e_k ⊗ x for every label k, shape (n, d, K)."""
        labels = self.fits.shape[1]
        blocks = np.einsum("np,jk->njpk", rows, np.eye(labels))
        return np.ascontiguousarray(blocks.reshape(len(rows), self.dim, labels))

    def _no_drawing(self, round: int, generator: np.random.Generator) -> Array:
        raise NotImplementedError("rows are drawn with their labels, by `blocks`")
