"""Labelled data as a bandit: guess the label of a row, and learn only whether the guess fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from benchmarks.measure import Array

from driftbandits.core.randomness import stream
from driftbandits.environments import (
    ActionSequence,
    ActionSet,
    Block,
    Environment,
    Kronecker,
    Noise,
    ParameterPath,
    Trajectory,
)
from driftbandits.environments.noise import NoiseSequence


@dataclass(frozen=True, kw_only=True)
class Labelled(Environment):
    """Reward 1 for a label that fits the row, and 0 otherwise; regret counts the mistakes.

    Every label has its own model: action k is e_k ⊗ x. No linear model is true, so the parameter is
    zero and the means are set directly. A replication is an order of the rows, repeated when all
    rows have been used; ``actions`` has the rows in the order of the data.

    Attributes:
        rows: Features x, shape (n, p).
        fits: Whether a label fits a row, shape (n, K).
        changes: Rounds at which the meanings of the labels shift by one.
        in_order: Whether rows keep the order of the data, from a random start; if not, the order is
            random.
    """

    rows: Array
    fits: Array
    changes: tuple[int, ...] = ()
    in_order: bool = False
    path: ParameterPath = field(init=False)
    actions: ActionSet = field(init=False)
    noise: Noise = field(init=False)

    def __post_init__(self) -> None:
        actions = self._guesses(np.arange(self.horizon) % len(self.rows))
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "path", Trajectory(np.zeros((1, actions.dim))))
        object.__setattr__(self, "noise", NoiseSequence(np.zeros(self.horizon), 0.0))
        super().__post_init__()

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds within the horizon at which the meanings of the labels shift."""
        return tuple(change for change in self.changes if change <= self.horizon)

    def blocks(self, *, seed: int, replication: int, stops: Iterable[int] = ()) -> Iterator[Block]:
        """Draw a replication in blocks. No block crosses one of the ``stops``."""
        order = self._order(stream(seed, "rows", replication))
        fits = self.fits[order].astype(float)
        for change in self.changes:
            fits[change - 1 :] = np.roll(fits[change - 1 :], 1, axis=1)
        ordered = Environment(
            path=self.path,
            actions=self._guesses(order),
            noise=self.noise,
            horizon=self.horizon,
            delays=self.delays,
        )
        for block in ordered.blocks(seed=seed, replication=replication, stops=stops):
            rewards = fits[block.first - 1 : block.last]
            yield block._replace(means=rewards, best=rewards.max(axis=1))

    def _order(self, generator: np.random.Generator) -> npt.NDArray[np.int64]:
        count = len(self.rows)
        if self.in_order:
            return (generator.integers(count) + np.arange(self.horizon)) % count
        passes = -(-self.horizon // count)
        return np.concatenate([generator.permutation(count) for _ in range(passes)])[: self.horizon]

    def _guesses(self, order: npt.NDArray[np.int64]) -> Kronecker:
        """The actions, one per label, for the rows in this order."""
        contexts = ActionSequence(self.rows[order][:, None])
        return Kronecker(contexts=contexts, arms=self.fits.shape[1])
