"""Simulation: the engine, and results as values."""

from .engine import Player, even_rounds
from .results import Result, ResultFileError
from .simulate import simulate, warm_up

__all__ = ["Player", "Result", "ResultFileError", "even_rounds", "simulate", "warm_up"]
