"""What a replayed policy would have earned with all of its rewards, according to a model.

A replayed policy learns from a share of the rows. Live it would have learned from all of them. A
model of the log estimates how much this is worth. Paths of its parameter are drawn from their
posterior (`driftbandits.logs.posterior`), so that the less the log tells, the wider the interval.
On each path the policy plays once with all rewards and once with the share of them, and

    full traffic = DR + mean over paths of (value with all − value with the share).

The interval combines the error of DR with the spread of these differences over paths and over runs.
Runs count because the live policy is a single run, and so is the replay.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.randomness import stream
from ..policies import Policy
from .batch import Mask
from .estimators import FULL
from .intervals import t_interval
from .posterior import Posterior
from .reading import LogReader
from .world import LastRows, last_rows

# Number of drawn paths: enough to know the spread of their differences to about a sixth.
_PATHS = 20
# Largest number of rows of a model, of numbers in their sets, and fewest rows for a model.
_ROWS, _NUMBERS, _FEWEST = 10_000, 8_000_000, 500


class Shortage(NamedTuple):
    """Gain per decision from all rewards instead of a share of them, and its uncertainty."""

    gain: float
    reach: float  # half of the 95% interval


class Traffic:
    """A model of the last rows of a log, in which policies can play."""

    def __init__(self, rows: LastRows, *, decisions: int) -> None:
        self._rows, self._decisions = rows, decisions
        offered = rows.sets.reshape(-1, rows.sets.shape[2])
        self._posterior = Posterior(offered, rows.played, rows.rewards)

    @classmethod
    def of(cls, log: LogReader) -> Traffic | None:
        """The model; None if rows or rewards are too few to distinguish actions."""
        rounds = min(_ROWS, log.rows, _NUMBERS // (log.most * log.dim))
        if rounds < _FEWEST:
            return None
        rows = last_rows(log, rounds)
        if np.isfinite(rows.rewards).sum() < _FEWEST:
            return None
        model = cls(rows, decisions=log.rows)
        return model if model._posterior.telling else None

    def shortage(self, policy: Policy, share: float, generator: np.random.Generator) -> Shortage:
        """Play on drawn paths with all rewards and with a ``share`` of them."""
        gains = np.empty(_PATHS)
        known = np.isfinite(self._rows.rewards)
        for i, theta in enumerate(islice(self._posterior.draws(generator), _PATHS)):
            some = known & (generator.random(len(theta)) < share)
            values = (self._lived(policy, theta, learns, generator) for learns in (known, some))
            gains[i] = self._per_decision(next(values) - next(values))
        # Prediction error for one further difference, not among the drawn ones.
        error = float(gains.std(ddof=1) * np.sqrt(1.0 + 1.0 / _PATHS))
        return Shortage(float(gains.mean()), t_interval(0.0, error, _PATHS)[1])

    def _per_decision(self, values: Array) -> float:
        """Mean over the whole log; ``values`` belong to its last rows, played from a fresh start.

        Rows before them are assumed to have the mean of the second half, after the start phase.
        """
        half = len(values) // 2
        before = self._decisions - len(values)
        return float((values.sum() + before * values[half:].mean()) / self._decisions)

    def _lived(
        self, policy: Policy, theta: Array, learns: Mask, generator: np.random.Generator
    ) -> Array:
        """Mean rewards of one run on a path, with its own noise."""
        means = np.einsum("nkd,nd->nk", self._rows.sets, theta)
        return lived(policy, self._rows, means, self._noise(means, theta, generator), learns)

    def _noise(self, means: Array, theta: Array, generator: np.random.Generator) -> Array:
        """Noise (n, K) of all actions: two-valued rewards keep their two values; else residuals."""
        rewards = self._rows.rewards
        low, high = np.nanmin(rewards), np.nanmax(rewards)
        known = rewards[np.isfinite(rewards)]
        if np.isin(known, (low, high)).all():
            chance = (means - low) / (high - low if high > low else 1.0)
            hit = generator.random((len(means), 1)) < chance
            return np.asarray(np.where(hit, high, low) - means)
        residual = rewards - np.einsum("nd,nd->n", self._rows.played, theta)
        residual = residual[np.isfinite(residual)]
        draws = generator.choice(residual - residual.mean(), (len(means), 1))
        return np.broadcast_to(draws, means.shape)


def lived(policy: Policy, rows: LastRows, means: Array, noise: Array, learns: Mask) -> Array:
    """Means (n,) of the actions that a copy of the policy plays; it learns rows with ``learns``.

    Means and noise (n, K) belong to the actions of the rows. Rewards have the delays of the log,
    and the clock moves in every row. Plays call by call, as in replay, so nothing new is compiled.
    """
    player, out, count = policy.copy(), np.empty(len(means)), len(means)
    coming: list[list[tuple[Array, float, float]]] = [[] for _ in range(count)]
    sets, may, due = rows.sets, learns.tolist(), rows.due.tolist()
    for t in range(count):
        for action, reward, round in coming[t]:
            player.update(action, reward, round=round)
        round, choice = float(player.round), player.select(sets[t])
        player.advance()
        out[t] = means[t, choice]
        if may[t] and due[t] < count:
            reward = float(out[t] + noise[t, choice])
            coming[due[t]].append((sets[t, choice], reward, round))
    return out


def moved(
    row: pd.Series[Any], worth: Shortage, bounds: tuple[float, float] | None
) -> dict[str, Any]:
    """The row of a replayed policy, corrected to full traffic."""
    least, most = bounds or (-np.inf, np.inf)
    middle = row["estimate"] + worth.gain
    low = middle - np.hypot(row["estimate"] - row["low"], worth.reach)
    high = middle + np.hypot(row["high"] - row["estimate"], worth.reach)
    ends = {"low": max(low, least), "high": min(high, most)}
    return dict(row) | {"estimator": FULL, "estimate": middle} | ends


def draws(seed: int, name: str) -> np.random.Generator:
    """The random numbers of a policy's runs in the model."""
    return stream(seed, "logs", "traffic", name)
