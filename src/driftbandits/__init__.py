"""Linear bandits whose payoffs drift: exact, fast, and the same from simulation to service."""

from .estimator import WeightedLeastSquares
from .policies import (
    BOB,
    AdaptiveLinUCB,
    DetectRestartLinUCB,
    DLinTS,
    DLinUCB,
    DRandLinUCB,
    DynamicLinUCB,
    FixedCatalogue,
    LBWeightUCB,
    LinUCB,
    OracleRestartLinUCB,
    Policy,
    Problem,
    Random,
    RestartUCB,
    SWLinUCB,
    load,
    register,
    registered,
)
from .storage import StateFileError

__all__ = [
    "BOB",
    "AdaptiveLinUCB",
    "DLinTS",
    "DLinUCB",
    "DRandLinUCB",
    "DetectRestartLinUCB",
    "DynamicLinUCB",
    "FixedCatalogue",
    "LBWeightUCB",
    "LinUCB",
    "OracleRestartLinUCB",
    "Policy",
    "Problem",
    "Random",
    "RestartUCB",
    "SWLinUCB",
    "StateFileError",
    "WeightedLeastSquares",
    "load",
    "register",
    "registered",
]
