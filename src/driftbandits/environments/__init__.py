"""Environments: parameter paths, action sets and noise, to be combined."""

from ..core.blocks import Block
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
from .environment import Environment
from .noise import Bernoulli, Bounded, Gaussian, Heteroscedastic, Noise, NoiseSequence
from .paths import ParameterPath, Periodic, PiecewiseConstant, RandomWalk, Rotation, Trajectory
from .random_paths import RandomJumps, SignFlips, SwitchingArm

__all__ = [
    "ActionSequence",
    "ActionSet",
    "Bernoulli",
    "Block",
    "Bounded",
    "Catalogue",
    "ClippedCube",
    "DrawnActions",
    "Environment",
    "Gaussian",
    "Heteroscedastic",
    "Kronecker",
    "Noise",
    "NoiseSequence",
    "ParameterPath",
    "Periodic",
    "PiecewiseConstant",
    "Pools",
    "RandomJumps",
    "RandomWalk",
    "Rotation",
    "SignFlips",
    "Sphere",
    "SwitchingArm",
    "Trajectory",
    "canonical_basis",
]
