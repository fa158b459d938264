"""Experiments: their settings, and the code that runs them."""

from .as_published import DLinUCBAsPublished
from .experiment import Experiment
from .leaderboard import run_leaderboard
from .parsing import SettingsError
from .settings import BUILT_IN, build, built_in, override, read, takes_data
from .standings import standings
from .suites import suite
from .tracing import trace

__all__ = [
    "BUILT_IN",
    "DLinUCBAsPublished",
    "Experiment",
    "SettingsError",
    "build",
    "built_in",
    "override",
    "read",
    "run_leaderboard",
    "standings",
    "suite",
    "takes_data",
    "trace",
]
