"""Environments, built from a parameter path, an action set, noise and delays."""

from ..core.blocks import Arrivals, Block, Waiting
from .actions import (
    ActionSequence,
    ActionSet,
    Catalogue,
    ClippedCube,
    DrawnActions,
    Kronecker,
    Pools,
    Sphere,
    canonical_basis,
)
from .arms import Launches, Rotting
from .delays import Delays, FixedDelay, GeometricDelay, Missing
from .environment import Environment
from .levels import Swing, Wander, WithIntercept, WithLevel
from .noise import Bernoulli, Bounded, Gaussian, Heteroscedastic, Noise, NoiseSequence, Sales
from .paths import ParameterPath, Periodic, PiecewiseConstant, RandomWalk, Rotation, Trajectory
from .random_paths import RandomJumps, SignFlips, SwitchingArm
from .units import ActionsInUnits, PathInUnits

__all__ = [
    "ActionSequence",
    "ActionSet",
    "ActionsInUnits",
    "Arrivals",
    "Bernoulli",
    "Block",
    "Bounded",
    "Catalogue",
    "ClippedCube",
    "Delays",
    "DrawnActions",
    "Environment",
    "FixedDelay",
    "Gaussian",
    "GeometricDelay",
    "Heteroscedastic",
    "Kronecker",
    "Launches",
    "Missing",
    "Noise",
    "NoiseSequence",
    "ParameterPath",
    "PathInUnits",
    "Periodic",
    "PiecewiseConstant",
    "Pools",
    "RandomJumps",
    "RandomWalk",
    "Rotation",
    "Rotting",
    "Sales",
    "SignFlips",
    "Sphere",
    "Swing",
    "SwitchingArm",
    "Trajectory",
    "Waiting",
    "Wander",
    "WithIntercept",
    "WithLevel",
    "canonical_basis",
]
