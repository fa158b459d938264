"""Counts and times of the server itself: requests, decisions, commits."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

# Upper ends of the buckets, in seconds. A commit takes at least 0.1 ms, a refused start 10 s.
EDGES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_RECENT = 2048  # number of durations for quantiles


class Durations:
    """Durations in buckets, and the most recent ones for quantiles."""

    __slots__ = ("buckets", "recent", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(EDGES) + 1)
        self.total = 0.0
        self.recent: deque[float] = deque(maxlen=_RECENT)

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.buckets[bisect_left(EDGES, seconds)] += 1
        self.total += seconds
        self.recent.append(seconds)

    def quantiles(self, levels: Iterable[float]) -> list[float | None]:
        """Quantiles of the most recent durations; None if there are none."""
        if not self.recent:
            return [None for _ in levels]
        return [float(q) for q in np.quantile(np.fromiter(self.recent, float), list(levels))]


class Vitals:
    """The counters of the server."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()  # by method, path and status
        self.decisions = Durations()
        self.commits = Durations()
        self.committed = 0
        self.under_way = 0
        self.slow_clients = 0

    def commit(self, seconds: float, records: int) -> None:
        """Count a commit."""
        self.commits.add(seconds)
        self.committed += records

    def summary(self) -> dict[str, Any]:
        """A short summary for the dashboard."""
        p50, p99 = self.decisions.quantiles((0.5, 0.99))
        c50, c99 = self.commits.quantiles((0.5, 0.99))
        return {
            "requests": sum(self.requests.values()),
            "errors": sum(n for (_, _, status), n in self.requests.items() if status >= 500),
            "under_way": self.under_way,
            "committed": self.committed,
            "decide_seconds": {"p50": p50, "p99": p99},
            "commit_seconds": {"p50": c50, "p99": c99},
        }
