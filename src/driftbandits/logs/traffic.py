"""What a replayed policy would have earned with all of its rewards, with the help of a model.

A replayed policy learns from a share of the rows. Live it would have learned from all of them. How
much that is worth is asked of a model of the log. Its parameter takes paths that are drawn from
their posterior (`driftbandits.logs.posterior`), so that what the log does not tell makes the answer
less sure. On each path the policy lives once with all rewards and once with that share of them, and

    full traffic = DR + mean over paths of (value with all − value with the share).

The interval holds the error of DR and how far these differences spread: over paths, and over runs,
since the life in question is one run, and so is the replay.
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

# Paths that are drawn: the spread of their differences is known to a sixth.
_PATHS = 20
# Most rows of a model, numbers in their sets, and rows below which a model says little.
_ROWS, _NUMBERS, _FEWEST = 10_000, 8_000_000, 500


class Shortage(NamedTuple):
    """What all rewards are worth above a share of them, per decision, and how sure that is."""

    gain: float
    reach: float  # half of the 95% interval


class Traffic:
    """A model of the last rows of a log, for policies to live in."""

    def __init__(self, rows: LastRows, *, decisions: int) -> None:
        self._rows, self._decisions = rows, decisions
        offered = rows.sets.reshape(-1, rows.sets.shape[2])
        self._posterior = Posterior(offered, rows.played, rows.rewards)

    @classmethod
    def of(cls, log: LogReader) -> Traffic | None:
        """None where there are too few rows, or too few rewards to tell actions apart."""
        rounds = min(_ROWS, log.rows, _NUMBERS // (log.most * log.dim))
        if rounds < _FEWEST:
            return None
        rows = last_rows(log, rounds)
        if np.isfinite(rows.rewards).sum() < _FEWEST:
            return None
        model = cls(rows, decisions=log.rows)
        return model if model._posterior.telling else None

    def shortage(self, policy: Policy, share: float, generator: np.random.Generator) -> Shortage:
        """Live on drawn paths with all rewards and with a ``share`` of them."""
        gains = np.empty(_PATHS)
        known = np.isfinite(self._rows.rewards)
        for i, theta in enumerate(islice(self._posterior.draws(generator), _PATHS)):
            some = known & (generator.random(len(theta)) < share)
            values = (self._lived(policy, theta, learns, generator) for learns in (known, some))
            gains[i] = self._per_decision(next(values) - next(values))
        # The difference of two lives that are not among the drawn ones.
        error = float(gains.std(ddof=1) * np.sqrt(1.0 + 1.0 / _PATHS))
        return Shortage(float(gains.mean()), t_interval(0.0, error, _PATHS)[1])

    def _per_decision(self, values: Array) -> float:
        """Mean over the whole log, of which these are the last rows, lived from a beginning.

        The rows before are taken to be like those of the second half, when the beginning is over.
        """
        half = len(values) // 2
        before = self._decisions - len(values)
        return float((values.sum() + before * values[half:].mean()) / self._decisions)

    def _lived(
        self, policy: Policy, theta: Array, learns: Mask, generator: np.random.Generator
    ) -> Array:
        """Mean rewards of a life on a path, with noise of its own."""
        means = np.einsum("nkd,nd->nk", self._rows.sets, theta)
        return lived(policy, self._rows, means, self._noise(means, theta, generator), learns)

    def _noise(self, means: Array, theta: Array, generator: np.random.Generator) -> Array:
        """Noise (n, K) of all actions: rewards of two values have no other; else residuals."""
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
    """Means (n,) of what a copy of the policy plays, learning where ``learns`` (n,) holds.

    Means and noise (n, K) are of the actions of the rows. Rewards come as late as they came in the
    log, and the clock moves in every row. Call by call, as in replay: nothing more is compiled.
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
    """The row of a replayed policy, moved to full traffic."""
    least, most = bounds or (-np.inf, np.inf)
    middle = row["estimate"] + worth.gain
    low = middle - np.hypot(row["estimate"] - row["low"], worth.reach)
    high = middle + np.hypot(row["high"] - row["estimate"], worth.reach)
    ends = {"low": max(low, least), "high": min(high, most)}
    return dict(row) | {"estimator": FULL, "estimate": middle} | ends


def draws(seed: int, name: str) -> np.random.Generator:
    """The random numbers of a policy's lives in the model."""
    return stream(seed, "logs", "traffic", name)
