"""A simulator built from a log: its contexts, smoothed parameters, and residual noise.

Its answers come from the model, not from the log: they can be wrong if rewards are not linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array, whole
from ..core.blocks import Block
from ..core.randomness import stream
from ..environments import ActionSequence, Environment, Trajectory
from ..environments.noise import NoiseSequence
from .batch import Ints
from .memory import memory as find_memory
from .reading import LogReader
from .schema import CannotAnswer

# Largest number of rounds of a quick model, and of numbers in its arrays.
_ROUNDS, _NUMBERS = 10_000, 8_000_000


@dataclass(frozen=True, kw_only=True)
class LogModel(Environment):
    """An `Environment` that was fitted to a log.

    Attributes:
        memory: Memory of the smoothed parameters in decisions, in both directions of time.
        note: A caution to show with every number from the model.
    """

    memory: float
    note: str = (
        "From a model fitted to the log (linear rewards, smoothed parameters, resampled "
        "residuals), not from the log itself."
    )

    def block(self) -> Block:
        """All rounds, to play at once."""
        assert isinstance(self.actions, ActionSequence)
        assert isinstance(self.path, Trajectory)
        assert isinstance(self.noise, NoiseSequence)
        sets, theta = self.actions.actions, self.path.parameters
        means = np.einsum("nkd,nd->nk", sets, theta)
        return Block(
            first=1,
            actions=np.ascontiguousarray(sets.transpose(0, 2, 1)),
            parameters=theta,
            means=means,
            best=means.max(axis=1),
            noise=self.noise.values,
            longest=float(np.linalg.norm(sets, axis=2).max()),
        )


def affordable(log: LogReader) -> int:
    """Rounds of a model that fit in little memory: sets (n, K, d) and matrices (n, d, d)."""
    return int(min(_ROUNDS, log.rows, _NUMBERS // (max(log.most, 1) * log.dim + log.dim**2)))


def to_environment(
    log: LogReader, *, memory: float | None = None, rounds: int = 10_000, seed: int = 0
) -> LogModel:
    """A simulator of the last ``rounds`` rows of a log.

    The parameter at row t is the regression with weights γ^|t − j| over earlier and later rows j.
    The default ``memory`` is the one that predicts best. Noise is drawn from the residuals.

    Rows with fewer actions than others repeat their first action, which does not change the best
    choice.
    """
    whole("rounds", rounds, least=10)
    if not log.whole:
        raise CannotAnswer("a simulator needs the sets of actions; this log has none")
    fitted = find_memory(log).predictor if memory is None else memory
    sets, played, reward, _ = last_rows(log, rounds)
    gamma = 1.0 - 1.0 / fitted
    theta = smoothed(played, reward, gamma)
    known = np.isfinite(reward)
    if not known.any():
        raise CannotAnswer(f"a simulator needs rewards; the last {len(reward)} rows have none")
    residual = (reward - np.einsum("nd,nd->n", played, theta))[known]
    residual -= residual.mean()
    draws = stream(seed, "logs", "model", "noise").integers(0, len(residual), len(reward))
    return LogModel(
        path=Trajectory(theta),
        actions=ActionSequence(sets),
        noise=NoiseSequence(residual[draws], float(residual.std())),
        horizon=len(reward),
        memory=fitted,
    )


class LastRows(NamedTuple):
    """The last n rows of a log; shorter sets repeat their first action."""

    sets: Array  # (n, K, d)
    played: Array  # (n, d)
    rewards: Array  # (n,), NaN if not known
    due: Ints  # (n,), the first row after the reward came, counted from the first of these rows


def last_rows(log: LogReader, rounds: int) -> LastRows:
    """The last ``rounds`` rows."""
    sets: list[Array] = []
    numbers: list[tuple[int, float, float, float]] = []
    # Earlier rows were checked when the memory was computed.
    for read in log.batches(skip=max(0, log.rows - rounds)):
        batch = read.judged()
        for i in range(max(0, len(batch) - rounds), len(batch)):
            sets.append(batch.actions(i, log.blocks))
            times = float(batch.time[i]), float(batch.arrival[i])
            numbers.append((int(batch.chosen[i]), float(batch.reward[i]), *times))
        del sets[:-rounds], numbers[:-rounds]
    chosen, rewards, time, arrival = np.array(numbers).T
    most, rows = max(len(actions) for actions in sets), np.arange(len(sets))
    padded = np.stack([np.concatenate([s, np.repeat(s[:1], most - len(s), axis=0)]) for s in sets])
    due = np.maximum(np.searchsorted(time, arrival), rows + 1)
    return LastRows(padded, padded[rows, chosen.astype(np.int64)], rewards, due)


def smoothed(actions: Array, rewards: Array, gamma: float) -> Array:
    """θ_t = (Σ_j γ^|t−j| a_j a_jᵀ + I)⁻¹ Σ_j γ^|t−j| r_j a_j for every t, shape (n, d).

    Vectors are first scaled to mean square 1, so that the ridge weighs as much as one row.
    """
    scales = np.sqrt((actions**2).mean(axis=0))
    scales = np.where(scales > 0.0, scales, 1.0)
    scaled = actions / scales
    value = np.where(np.isfinite(rewards), rewards, 0.0)
    weight = np.isfinite(rewards).astype(np.float64)
    n, dim = scaled.shape
    forward_gram, forward = np.zeros((n, dim, dim)), np.zeros((n, dim))
    gram, moment = np.zeros((dim, dim)), np.zeros(dim)
    for t in range(n):
        gram = gamma * gram + weight[t] * np.outer(scaled[t], scaled[t])
        moment = gamma * moment + weight[t] * value[t] * scaled[t]
        forward_gram[t], forward[t] = gram, moment
    theta = np.empty((n, dim))
    gram, moment = np.zeros((dim, dim)), np.zeros(dim)
    for t in range(n - 1, -1, -1):
        total = forward_gram[t] + gamma * gram + np.eye(dim)
        theta[t] = np.linalg.solve(total, forward[t] + gamma * moment)
        gram = gamma * gram + weight[t] * np.outer(scaled[t], scaled[t])
        moment = gamma * moment + weight[t] * value[t] * scaled[t]
    return theta / scales
