"""Linear bandits whose payoffs drift: exact, fast, and one code from simulation to service."""

from . import events
from ._version import __version__
from .agent import Agent, Choice
from .core.events import Decision
from .core.storage import StateFileError
from .least_squares.estimator import WeightedLeastSquares
from .policies import (
    BOB,
    AdaptiveLinUCB,
    AdaptiveSampling,
    DetectRestartLinUCB,
    DLinTS,
    DLinUCB,
    DLogUCB,
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
    "AdaptiveSampling",
    "Agent",
    "Choice",
    "DLinTS",
    "DLinUCB",
    "DLogUCB",
    "DRandLinUCB",
    "Decision",
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
    "events",
    "load",
    "register",
    "registered",
]
