"""Linear bandits whose payoffs drift: exact, fast, and the same from simulation to service."""

from .estimator import WeightedLeastSquares
from .policies import (
    DLinUCB,
    DynamicLinUCB,
    LinUCB,
    OracleRestartLinUCB,
    Policy,
    Problem,
    Random,
    SWLinUCB,
    load,
    register,
    registered,
)
from .storage import StateFileError

__all__ = [
    "DLinUCB",
    "DynamicLinUCB",
    "LinUCB",
    "OracleRestartLinUCB",
    "Policy",
    "Problem",
    "Random",
    "SWLinUCB",
    "StateFileError",
    "WeightedLeastSquares",
    "load",
    "register",
    "registered",
]
