"""Azure Personalizer's API v1.0 on the same house, for clients that were written for it."""

from .endpoints import Personalizer

__all__ = ["Personalizer"]
