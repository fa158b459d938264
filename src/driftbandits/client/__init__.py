"""A small client of the decision service, for threads and for asyncio."""

from .clients import AsyncClient, Client
from .values import Decision, Refused, Unreachable

__all__ = ["AsyncClient", "Client", "Decision", "Refused", "Unreachable"]
