"""From dictionaries to decisions: features, a policy, and rewards that come late or never."""

from .agent import Agent
from .choice import Choice
from .explaining import Driver, Explanation
from .preparing import compile_calls

__all__ = ["Agent", "Choice", "Driver", "Explanation", "compile_calls"]
