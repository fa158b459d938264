"""How much of what the server takes."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds that keep one client from costing the others their answers.

    Attributes:
        body_bytes: Length of a request's body.
        head_bytes: Length of a request's first line and headers together.
        depth: Nesting of objects and lists in a body.
        actions: Actions of one decision.
        batch: Entries of one batch.
        connections: Open connections.
        requests: Requests under way; beyond that the answer is 503 with ``Retry-After``.
        arrival_seconds: Time in which a request has to arrive whole.
        idle_seconds: Time for which a connection without a request is kept.
        drain_seconds: Time for which requests under way are waited for when the server ends.
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
