"""Simulation: the engine, and results as values."""

from .engine import Player, Recording, even_rounds
from .result_files import ResultFileError, is_result
from .results import Result
from .simulate import simulate, warm_up

__all__ = [
    "Player",
    "Recording",
    "Result",
    "ResultFileError",
    "even_rounds",
    "is_result",
    "simulate",
    "warm_up",
]
