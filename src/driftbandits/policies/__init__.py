"""Policies, one file each; `registered` finds them all."""

from .base import Policy
from .d_linucb import DLinUCB
from .dynamic_linucb import DynamicLinUCB
from .linear import LinearPolicy
from .linucb import LinUCB
from .oracle_restart_linucb import OracleRestartLinUCB
from .problem import Problem
from .random import Random
from .registry import load, register, registered
from .sw_linucb import SWLinUCB

__all__ = [
    "DLinUCB",
    "DynamicLinUCB",
    "LinUCB",
    "LinearPolicy",
    "OracleRestartLinUCB",
    "Policy",
    "Problem",
    "Random",
    "SWLinUCB",
    "load",
    "register",
    "registered",
]
