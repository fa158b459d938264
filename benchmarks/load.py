"""A load generator: a few connections, each of which sends a request as soon as it has an answer.

Raw sockets and one epoll loop, because the generator shares two cores with what it measures.
"""

from __future__ import annotations

import selectors
import socket
import time
from typing import NamedTuple

import numpy as np

from .measure import Array


class Load(NamedTuple):
    """What a run saw.

    Attributes:
        rate: Answers per second.
        latencies: Seconds from each request to its answer.
    """

    rate: float
    latencies: Array

    def quantile(self, level: float) -> float:
        """Milliseconds within which this share of the answers came."""
        return float(np.quantile(self.latencies, level)) * 1000.0


class _Connection:
    """One connection, and the request that it has under way."""

    def __init__(self, address: tuple[str, int], requests: list[bytes], first: int) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests, self._next = requests, first
        self._received, self.sent = b"", 0.0

    def send(self) -> None:
        request = self._requests[self._next % len(self._requests)]
        self._next += 1
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def answered(self) -> bool:
        """Read; whether the answer is whole."""
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionError("the server closed a connection")
        self._received += piece
        head, mark, body = self._received.partition(b"\r\n\r\n")
        if not mark or len(body) < _length(head):
            return False
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"the server refused: {self._received.decode()}")
        self._received = b""
        return True


def _length(head: bytes) -> int:
    start = head.index(b"content-length: ") + 16
    end = head.find(b"\r\n", start)
    return int(head[start : None if end < 0 else end])


def request_bytes(path: str, body: bytes) -> bytes:
    """A POST request."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    return f"{head}content-type: application/json\r\n\r\n".encode() + body


def ask(address: tuple[str, int], request: bytes) -> None:
    """Send one request, and wait for its answer."""
    connection = _Connection(address, [request], first=0)
    connection.send()
    while not connection.answered():
        pass
    connection.socket.close()


def load(
    address: tuple[str, int], requests: list[bytes], *, connections: int, seconds: float
) -> Load:
    """Keep ``connections`` busy with the requests, one after the other, for some seconds."""
    selector = selectors.DefaultSelector()
    talking = [_Connection(address, requests, first=n * 7) for n in range(connections)]
    for connection in talking:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()
    latencies, start = list[float](), time.perf_counter()
    while time.perf_counter() - start < seconds:
        for key, _ in selector.select(timeout=1.0):
            connection = key.data
            if connection.answered():
                now = time.perf_counter()
                latencies.append(now - connection.sent)
                connection.send()
    elapsed = time.perf_counter() - start
    for connection in talking:
        connection.socket.close()
    selector.close()
    return Load(len(latencies) / elapsed, np.array(latencies))
