"""What a replayed policy would have earned with all of its rewards, with the help of a model.

A replayed policy learns from a share of the rows. Live it would have learned from all of them. How
much that is worth is asked of a model of the log (`driftbandits.logs.world`): the policy plays it
with all rewards and with that share of them, several times each, and

    full traffic = DR + (mean value with all − mean value with the share).

The interval also holds how far runs of the policy differ: live is one run, and so is the replay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arrays import Array
from ..core.blocks import Block
from ..core.randomness import stream
from ..policies import Policy
from .batch import Mask
from .reading import LogReader
from .schema import CannotAnswer
from .world import LogModel, affordable, to_environment

FULL = "DR, full traffic (model)"
_RUNS = 4
# Rounds below which a model says little.
_FEWEST = 500


class Shortage(NamedTuple):
    """What all rewards are worth above a share of them, per decision, and how far runs differ."""

    gain: float
    deviation: float


def modelled(log: LogReader, memory: float) -> LogModel | None:
    """A model of the last rows of the log, or None where there are too few of them."""
    rounds = affordable(log)
    if rounds < _FEWEST:
        return None
    try:
        return to_environment(log, memory=memory, rounds=rounds)
    except CannotAnswer:
        return None


def shortage(
    model: LogModel, policy: Policy, share: float, *, settled: bool, generator: np.random.Generator
) -> Shortage:
    """Play the model with all rewards and with a ``share`` of them.

    With ``settled``, the first half of the rounds does not count: the log is longer than the model,
    and the policy's beginning would weigh too much.
    """
    start = model.horizon // 2 if settled else 0
    values = np.empty((2, _RUNS))
    for run in range(_RUNS):
        block = model.block(generator)
        some = generator.random(block.rounds) < share
        for i, learns in enumerate((np.ones_like(some), some)):
            values[i, run] = earned(block, policy, learns)[start:].mean()
    mean, variance = values.mean(axis=1), values.var(axis=1, ddof=1)
    # One run live and one replayed, against the mean of several in the model.
    return Shortage(float(mean[0] - mean[1]), float(np.sqrt(variance.sum() * (1.0 + 1.0 / _RUNS))))


def earned(block: Block, policy: Policy, learns: Mask) -> Array:
    """Mean rewards (n,) of what the policy plays, learning where ``learns`` (n,) holds.

    The clock moves in every round. Call by call, as in replay: nothing more is compiled.
    """
    player, out = policy.copy(), np.empty(block.rounds)
    sets, may = np.ascontiguousarray(block.actions.transpose(0, 2, 1)), learns.tolist()
    for t in range(block.rounds):
        round, choice = player.round, player.select(sets[t])
        player.advance()
        out[t] = block.means[t, choice]
        if may[t]:
            player.update(sets[t, choice], float(out[t] + block.noise[t, 0]), round=round)
    return out


def moved(
    row: pd.Series[Any], worth: Shortage, bounds: tuple[float, float] | None
) -> dict[str, Any]:
    """The row of a replayed policy, moved to full traffic."""
    reach, least, most = 1.96 * worth.deviation, *(bounds or (-np.inf, np.inf))
    middle = row["estimate"] + worth.gain
    low = middle - np.hypot(row["estimate"] - row["low"], reach)
    high = middle + np.hypot(row["high"] - row["estimate"], reach)
    ends = {"low": max(low, least), "high": min(high, most)}
    return dict(row) | {"estimator": FULL, "estimate": middle} | ends


def draws(seed: int, name: str) -> np.random.Generator:
    """The random numbers of a policy's runs in the model."""
    return stream(seed, "logs", "traffic", name)
