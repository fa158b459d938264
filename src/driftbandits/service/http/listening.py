"""The address on which the server listens."""

from __future__ import annotations

import socket
from typing import NamedTuple

from .admission import is_loopback


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address of ``host:port`` or ``[host]:port``.

        Examples:
            >>> Address.parse("127.0.0.1:8080"), Address.parse("[::1]:0")
            (Address(host='127.0.0.1', port=8080), Address(host='::1', port=0))
        """
        host, colon, port = text.rpartition(":")
        if not (colon and host and port.isascii() and port.isdigit() and int(port) < 2**16):
            raise ValueError(f"listen must be HOST:PORT, got {text!r}")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return cls(host, int(port))

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bound_socket(address: Address) -> socket.socket:
    """A socket bound to the address; port 0 takes a free port."""
    family, kind, protocol, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise OSError(f"cannot listen on {address}: {error.strerror}") from None
    return listener
