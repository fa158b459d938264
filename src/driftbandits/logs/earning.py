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
from ..simulation import simulate
from .memory import Memory
from .reading import LogReader
from .schema import CannotAnswer
from .world import LogModel, to_environment

# Numbers in the arrays of a model: sets (n, K, d) and matrices (n, d, d).
_NUMBERS = 8_000_000
_ROUNDS = 10_000
# A model needs so many times the best memory to show how it does.
_TIMES = 4.0


def confirmed(log: LogReader, found: Memory) -> Memory:
    """The same answer, with the regret per decision of each memory in a model of the log.

    There is none where nothing is to be forgotten, where sets of actions are not logged, where
    rows are aggregated, and where the last rows are too few for the best memory.
    """
    if np.isinf(found.best) or not log.whole or log.decisions() != log.rows:
        return found
    rounds = min(_ROUNDS, log.rows, _NUMBERS // (log.most * log.dim + log.dim**2))
    if rounds < _TIMES * found.best:
        return found
    try:
        model = to_environment(log, memory=found.best, rounds=rounds)
    except CannotAnswer:
        return found
    return replace(found, table=found.table.assign(regret=regrets(model, found)))


def regrets(model: LogModel, found: Memory) -> Array:
    """Regret per decision of the recommended policy with each memory, shape (M,)."""
    memories = found.table["memory"]
    played = simulate(
        model,
        {str(m): found.setup.policy(m) for m in memories},
        replications=1,
        workers=1,
    )
    return np.array([played.final(str(m))[0] for m in memories]) / model.horizon
