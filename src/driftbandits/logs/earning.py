"""Which memory earns: the best predictor need not be the best earner.

D-LinUCB pays for exploring. Its radius shrinks with the memory, so where the radius is wide and
payoffs drift slowly, a memory that is longer than the best predictor's loses less. How much longer
depends on the policy's settings. So the policy that is recommended plays a model of the log with
each memory, and the one with the least regret is recommended.
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

# A model needs so many times the best predictor's memory to show how it does.
_TIMES = 4.0


def confirmed(log: LogReader, found: Memory) -> Memory:
    """The same answer, with the memory that loses least in a model of the log as the best.

    Its table has the ``regret`` per decision of each memory there. It stays as it is where there is
    no model: where nothing is to be forgotten, where sets of actions are not logged, where rows are
    aggregated, where features are too large for the policy, and where the last rows are too few for
    the memory that predicts best.
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
