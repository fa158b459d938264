"""Which memory earns: the best predictor need not be the best earner.

D-LinUCB pays for exploring. Its radius shrinks with the memory, so where the radius is wide and
payoffs drift slowly, a memory that is longer than the best predictor's loses less. How much longer
depends on the policy's settings. So the policy that is recommended plays a model of the log with
each memory, and the one with the least regret is chosen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.arrays import Array
from .memory import Memory
from .reading import LogReader
from .schema import CannotAnswer
from .world import LogModel, affordable, to_environment

# A model needs so many times the best memory to show how it does.
_TIMES = 4.0


def confirmed(log: LogReader, found: Memory) -> Memory:
    """The same answer, with the regret per decision of each memory in a model of the log.

    There is none where nothing is to be forgotten, where sets of actions are not logged, where
    rows are aggregated, and where the last rows are too few for the best memory.
    """
    if np.isinf(found.best) or not log.whole or log.decisions() != log.rows:
        return found
    rounds = affordable(log)
    if rounds < _TIMES * found.best:
        return found
    try:
        model = to_environment(log, memory=found.best, rounds=rounds)
    except CannotAnswer:
        return found
    return replace(found, table=found.table.assign(regret=regrets(model, found)))


def regrets(model: LogModel, found: Memory) -> Array:
    """Regret per decision of the recommended policy with each memory, shape (M,)."""
    block, memories = model.block(), found.table["memory"].to_numpy()
    regret = np.empty((len(memories), block.rounds))
    for memory, row in zip(memories, regret, strict=True):
        found.setup.policy(memory).play(block, regret=row)
    return np.asarray(regret[:, -1] / block.rounds)
