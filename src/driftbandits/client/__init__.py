"""A small client of the decision service, for threads and for asyncio."""

try:
    from .clients import AsyncClient, Client
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"the client needs {error.name}; install the extra: pip install 'driftbandits[client]'",
        name=error.name,
    ) from error
from .values import Decision, Refused, Unreachable

__all__ = ["AsyncClient", "Client", "Decision", "Refused", "Unreachable"]
