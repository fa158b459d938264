"""Azure Personalizer's API v1.0, so that its clients can use the house."""

from .endpoints import Personalizer

__all__ = ["Personalizer"]
