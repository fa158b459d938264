"""A load generator: a few connections, each of which sends a request as soon as it has an answer.

It uses raw sockets and one epoll loop, because it shares two cores with the server it measures.
"""

from __future__ import annotations

import selectors
import socket
import time
from itertools import cycle
from typing import NamedTuple

import numpy as np

from .measure import Array


class Load(NamedTuple):
    """The measurements of a run.

    Attributes:
        rate: Answers per second.
        latencies: Seconds from each request to its answer.
    """

    rate: float
    latencies: Array

    def quantile(self, level: float) -> float:
        """Quantile of the latency, in milliseconds."""
        return float(np.quantile(self.latencies, level)) * 1000.0


class Connection:
    """One connection with at most one open request."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received, self.sent = b"", 0.0

    def send(self, request: bytes) -> None:
        """Send a request, and record the time."""
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def answer(self) -> bytes | None:
        """Read; return the answer once it is complete, else None."""
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionError("the server closed a connection")
        self._received += piece
        head, mark, body = self._received.partition(b"\r\n\r\n")
        if not mark or len(body) < _length(head):
            return None
        whole, self._received = self._received, b""
        return whole


def _good(answer: bytes) -> bytes:
    if not answer.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(f"the server refused: {answer.decode()}")
    return answer


def _length(head: bytes) -> int:
    start = head.index(b"content-length: ") + 16
    end = head.find(b"\r\n", start)
    return int(head[start : None if end < 0 else end])


def request_bytes(path: str, body: bytes) -> bytes:
    """A POST request."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    return f"{head}content-type: application/json\r\n\r\n".encode() + body


def get_bytes(path: str) -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def ask(address: tuple[str, int], request: bytes) -> bytes:
    """Send one request, and return the body of its answer."""
    connection = Connection(address)
    connection.send(request)
    while (answer := connection.answer()) is None:
        pass
    connection.socket.close()
    return _good(answer).partition(b"\r\n\r\n")[2]


def load(
    address: tuple[str, int], requests: list[bytes], *, connections: int, seconds: float
) -> Load:
    """Keep ``connections`` busy with the requests, one after the other, for ``seconds``."""
    selector = selectors.DefaultSelector()
    talking = [Connection(address) for _ in range(connections)]
    # Each connection cycles through the requests, from a different start.
    rounds = {one: cycle(requests[n % len(requests) :] + requests[: n % len(requests)])
              for n, one in enumerate(talking)}  # fmt: skip
    for connection in talking:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send(next(rounds[connection]))
    latencies, start = list[float](), time.perf_counter()
    while time.perf_counter() - start < seconds:
        for key, _ in selector.select(timeout=1.0):
            connection = key.data
            if (answer := connection.answer()) is not None:
                latencies.append(time.perf_counter() - connection.sent)
                _good(answer)
                connection.send(next(rounds[connection]))
    elapsed = time.perf_counter() - start
    for connection in talking:
        connection.socket.close()
    selector.close()
    return Load(len(latencies) / elapsed, np.array(latencies))
