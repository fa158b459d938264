"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from ..house import House
from .vitals import EDGES, Durations, Vitals

MEDIA_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


def metrics_text(house: House, vitals: Vitals) -> bytes:
    """All metrics as text."""
    lines = [*_server(vitals), *_policies(house)]
    return ("\n".join(lines) + "\n").encode()


def _server(vitals: Vitals) -> Iterator[str]:
    yield from _family(
        "http_requests_total",
        "counter",
        "Requests by method, path and status.",
        (
            (_labels(method=method, path=path, status=str(status)), count)
            for (method, path, status), count in sorted(vitals.requests.items())
        ),
    )
    yield from _histogram(
        "decide_seconds", "Time from a request to its durable decision.", vitals.decisions
    )
    yield from _histogram("commit_seconds", "Time of a commit of the journal.", vitals.commits)
    simple = (
        ("records_committed_total", "counter", "Records on disk.", vitals.committed),
        ("requests_under_way", "gauge", "Requests that have no answer yet.", vitals.under_way),
        ("slow_clients_total", "counter", "Requests that took too long.", vitals.slow_clients),
    )
    for name, kind, about, value in simple:
        yield from _family(name, kind, about, [("", value)])


def _policies(house: House) -> Iterator[str]:
    """Every number in the diagnostics of every policy."""
    found: dict[str, list[tuple[str, float]]] = {}
    for view in house.policies():
        diagnostics = house.diagnostics(view.name)
        # Actions can have any name, so they become labels and not parts of metric names.
        for action, share in diagnostics.pop("shares").items():
            labels = _labels(policy=view.name, action=action)
            found.setdefault("policy_share", []).append((labels, share))
        for name, value in _numbers("policy", diagnostics):
            found.setdefault(name, []).append((_labels(policy=view.name), value))
    for name, samples in sorted(found.items()):
        yield from _family(name, "gauge", "From the diagnostics of the policy.", samples)


def _numbers(prefix: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers in nested tables; names are made of the keys. Lists and texts are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(f"{prefix}_{key}", inner)
    elif isinstance(value, (int, float)):
        yield prefix, float(value)


def _family(
    name: str, kind: str, about: str, samples: Iterable[tuple[str, float]]
) -> Iterator[str]:
    yield f"# HELP driftbandits_{name} {about}"
    yield f"# TYPE driftbandits_{name} {kind}"
    for labels, value in samples:
        yield f"driftbandits_{name}{labels} {value:.17g}"


def _histogram(name: str, about: str, durations: Durations) -> Iterator[str]:
    counts = list(accumulate(durations.buckets))
    yield f"# HELP driftbandits_{name} {about}"
    yield f"# TYPE driftbandits_{name} histogram"
    for edge, count in zip((*map(str, EDGES), "+Inf"), counts, strict=True):
        yield f'driftbandits_{name}_bucket{{le="{edge}"}} {count}'
    yield f"driftbandits_{name}_sum {durations.total:.17g}"
    yield f"driftbandits_{name}_count {counts[-1]}"


def _labels(**values: str) -> str:
    r"""Labels with escaped values, because a policy can have any name.

    Examples:
        >>> print(_labels(policy='a"b'))
        {policy="a\"b"}
    """
    pairs = (f'{name}="{_escaped(value)}"' for name, value in values.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
