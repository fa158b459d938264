"""Experiments: settings as data, and what runs them."""

from .as_published import DLinUCBAsPublished
from .experiment import Experiment
from .settings import BUILT_IN, SettingsError, build, built_in, override, read

__all__ = [
    "BUILT_IN",
    "DLinUCBAsPublished",
    "Experiment",
    "SettingsError",
    "build",
    "built_in",
    "override",
    "read",
]
