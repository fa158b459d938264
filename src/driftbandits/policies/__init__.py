"""Policies, one file each; `registered` finds them all."""

from .adaptive_linucb import AdaptiveLinUCB
from .base import Policy
from .bob import BOB
from .d_lints import DLinTS
from .d_linucb import DLinUCB
from .d_rand_linucb import DRandLinUCB
from .detect_restart import DetectRestartLinUCB
from .dynamic_linucb import DynamicLinUCB
from .fixed_catalogue import FixedCatalogue
from .lb_weight_ucb import LBWeightUCB
from .linear import LinearPolicy
from .linucb import LinUCB
from .oracle_restart_linucb import OracleRestartLinUCB
from .problem import Problem
from .random import Random
from .registry import load, register, registered
from .restart_ucb import RestartUCB
from .sw_linucb import SWLinUCB

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
    "LinearPolicy",
    "OracleRestartLinUCB",
    "Policy",
    "Problem",
    "Random",
    "RestartUCB",
    "SWLinUCB",
    "load",
    "register",
    "registered",
]
