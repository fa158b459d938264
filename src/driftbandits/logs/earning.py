"""Which memory earns most: the best predictor need not be the best earner.

D-LinUCB pays for exploring. A longer memory makes its radius smaller. So if the radius is wide and
payoffs drift slowly, a memory longer than the best predictor's loses less. How much longer depends
on the policy's settings. So the recommended policy plays a model of the log with each memory, and
the memory with the least regret is recommended.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.arrays import Array
from .memory import Memory
from .reading import LogReader
from .schema import CannotAnswer
from .setup import Setup
from .world import LogModel, affordable, to_environment

# Rounds that a model needs, as a multiple of the best predictor's memory.
_TIMES = 4.0


def confirmed(log: LogReader, found: Memory) -> Memory:
    """The same answer, but the best memory is the one that loses least in a model of the log.

    The table gets the ``regret`` per decision of each memory in the model. The answer does not
    change if there is no model: if never forgetting predicts best, sets of actions are not logged,
    rows are aggregated, features are too large for the policy, or the last rows are too few for the
    memory that predicts best.
    """
    model = _model(log, found.predictor) if found.setup.possible else None
    if model is None:
        return found
    regret = regrets(model, found.setup, found.table["memory"].to_numpy())
    least = np.arange(len(regret)) == np.argmin(regret)
    return replace(found, table=found.table.assign(regret=regret, best=least))


def _model(log: LogReader, predictor: float) -> LogModel | None:
    if np.isinf(predictor) or not log.whole or log.decisions() != log.rows:
        return None
    rounds = affordable(log)
    if rounds < _TIMES * predictor:
        return None
    try:
        return to_environment(log, memory=predictor, rounds=rounds)
    except CannotAnswer:
        return None


def regrets(model: LogModel, setup: Setup, memories: Array) -> Array:
    """Regret per decision of the recommended policy with each memory, shape (M,)."""
    block = model.block()
    regret = np.empty((len(memories), block.rounds))
    for memory, row in zip(memories, regret, strict=True):
        setup.policy(memory).play(block, regret=row)
    return np.asarray(regret[:, -1] / block.rounds)
