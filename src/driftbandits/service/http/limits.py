"""The limits of the server."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits that protect clients from each other.

    Attributes:
        body_bytes: Largest length of a request's body.
        head_bytes: Largest length of a request's first line and headers together.
        depth: Deepest nesting of objects and lists in a body.
        actions: Most actions in one decision.
        batch: Most entries in one batch.
        connections: Most open connections.
        requests: Most requests in progress; beyond that the answer is 503 with ``Retry-After``.
        arrival_seconds: Time in which a request has to arrive completely.
        idle_seconds: Time after which a connection without a request is closed.
        drain_seconds: Longest time to wait for requests in progress at shutdown.
    """

    body_bytes: int = 4 * 2**20
    head_bytes: int = 16 * 2**10
    depth: int = 16
    actions: int = 1000
    batch: int = 1000
    connections: int = 10_000
    requests: int = 1000
    arrival_seconds: float = 20.0
    idle_seconds: float = 75.0
    drain_seconds: float = 10.0
