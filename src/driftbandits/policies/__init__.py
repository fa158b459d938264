"""Policies, one file per policy; `registered` finds them all."""

from .adaptive.linucb import AdaptiveLinUCB
from .adaptive.sampling import AdaptiveSampling
from .base import Policy
from .bob.policy import BOB
from .dal.policy import DetectRestartLinUCB
from .dynamic_linucb import DynamicLinUCB
from .fixed_catalogue import FixedCatalogue
from .linear import LinearPolicy
from .problem import Problem
from .random import Random
from .registry import load, register, registered
from .weighted.d_lints import DLinTS
from .weighted.d_linucb import DLinUCB
from .weighted.d_logucb import DLogUCB
from .weighted.d_rand_linucb import DRandLinUCB
from .weighted.lb_weight_ucb import LBWeightUCB
from .weighted.linucb import LinUCB
from .weighted.oracle_restart_linucb import OracleRestartLinUCB
from .weighted.restart_ucb import RestartUCB
from .weighted.sw_linucb import SWLinUCB

__all__ = [
    "BOB",
    "AdaptiveLinUCB",
    "AdaptiveSampling",
    "DLinTS",
    "DLinUCB",
    "DLogUCB",
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
