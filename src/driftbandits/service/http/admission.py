"""Decides who may call what. If the server has no keys, only this machine may call."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from .heads import Headers
from .keys import ANYONE, ROLES, Caller, Keyring, Role, presented_key
from .problems import Problem


class Admission:
    """Admits a request, or says why not.

    If the server has keys, every call needs a key with a sufficient role. If it has none, it
    listens on loopback only. Then browsers are the danger: any web page can make a browser send
    requests to this machine. Such requests have a foreign ``Origin``, or a foreign ``Host`` if
    somebody's domain name points here. Both are refused.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._ranks = {role: rank for rank, role in enumerate(ROLES)}

    def admit(self, role: Role | None, headers: Headers) -> Caller:
        """The caller, if the call is allowed; otherwise raises problem 401 or 403."""
        if not self._keyring:
            _check_local(headers)
            return ANYONE
        if role is None:
            return Caller(rank=-1)
        key = presented_key(headers)
        if not key:
            raise Problem(401, "key_missing", "Key missing", "send Authorization: Bearer KEY")
        caller = self._keyring.caller(key)
        if caller is None:
            raise Problem(401, "key_unknown", "Key unknown", "the server does not know this key")
        if caller.rank < self._ranks[role]:
            detail = f"this call needs the role {role}, the key has {ROLES[caller.rank]}"
            raise Problem(403, "role_too_low", "Role too low", detail)
        return caller


def _check_local(headers: Headers) -> None:
    for name, value in headers:
        if name == b"host" and not _local(value):
            raise _foreign("Host", "without keys the server can only be called as localhost")
        if name == b"origin" and not _local(value.partition(b"://")[2]):
            raise _foreign("Origin", "without keys pages of other sites cannot call the server")


def _foreign(header: str, detail: str) -> Problem:
    return Problem(403, "foreign_request", "Request from elsewhere", detail, field=header)


@lru_cache(maxsize=64)
def _local(value: bytes) -> bool:
    """Whether ``host:port`` or ``[host]:port`` is this machine."""
    text = value.decode("latin-1")
    return is_loopback(text[1:].partition("]")[0] if text[:1] == "[" else text.partition(":")[0])


def is_loopback(host: str) -> bool:
    """Whether a name or address always means this machine.

    Examples:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "a.org")]
        [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
