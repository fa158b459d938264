"""Many idle connections, while a few ask for decisions.

    python -m benchmarks.crowd --connections 10000

32 connections ask for decisions, first alone, then beside a crowd of idle connections. Each idle
connection has sent one request and stays open. Prints rates, latencies, and the memory of the
server per connection.
"""

from __future__ import annotations

import argparse
import resource
import selectors
import tempfile
import time
from pathlib import Path

from .load import Connection, get_bytes, load
from .service import Host, requests_of, server
from .soak import vitals

_BUSY = 32
_AT_ONCE = 500  # connections to open before waiting for their answers


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the server inherits it
    with tempfile.TemporaryDirectory() as name, server("durable", Path(name)) as host:
        _measure("alone", host, given.seconds)
        before, start = vitals(host, Path(name)), time.perf_counter()
        crowd = _crowd(host, given.connections - _BUSY)
        after = vitals(host, Path(name))
        print(f"{len(crowd):,} connections answered within {time.perf_counter() - start:.1f} s")
        grown = (after["rss_mb"] - before["rss_mb"]) * 1024 / len(crowd)
        print(f"memory {after['rss_mb']} MB, {grown:.1f} KB per connection, files {after['files']}")
        _measure("in the crowd", host, given.seconds)
        alive = _answered(crowd)
        print(f"{alive:,} of the crowd still get an answer")


def _measure(when: str, host: Host, seconds: float) -> None:
    address, requests = ("127.0.0.1", host.port), requests_of("D-LinUCB")
    load(address, requests, connections=_BUSY, seconds=1.0)  # warm-up, not measured
    seen = load(address, requests, connections=_BUSY, seconds=seconds)
    p50, p99 = seen.quantile(0.5), seen.quantile(0.99)
    print(f"{when}: {seen.rate:.0f} decisions/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms")


def _crowd(host: Host, count: int) -> list[Connection]:
    """Open connections that have received one answer each."""
    crowd = list[Connection]()
    while len(crowd) < count:
        fresh = min(_AT_ONCE, count - len(crowd))
        opened = [Connection(("127.0.0.1", host.port)) for _ in range(fresh)]
        assert _answered(opened) == len(opened)
        crowd += opened
    return crowd


def _answered(connections: list[Connection]) -> int:
    """Send a health check on every connection; return the number of good answers."""
    good = 0
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.send(get_bytes("/healthz"))
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        while selector.get_map():
            ready = selector.select(timeout=10.0)
            if not ready:
                break
            for key, _ in ready:
                answer = key.data.answer()
                if answer is not None:
                    good += answer.startswith(b"HTTP/1.1 200 ")
                    selector.unregister(key.fileobj)
    return good


if __name__ == "__main__":
    main()
