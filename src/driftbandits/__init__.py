"""Linear bandits whose payoffs drift: exact, fast, and the same from simulation to service."""

from ._version import __version__
from .core.storage import StateFileError
from .least_squares.estimator import WeightedLeastSquares
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
    "__version__",
    "load",
    "register",
    "registered",
]
