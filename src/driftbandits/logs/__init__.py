"""Your own log: is it drifting, what to remember, what would a policy have earned."""

from .batch import Batch
from .log import Log
from .schema import CannotAnswer, Catalogue, Encoder, LogError, Schema

__all__ = ["Batch", "CannotAnswer", "Catalogue", "Encoder", "Log", "LogError", "Schema"]
