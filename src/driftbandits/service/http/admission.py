"""Who may call what: by key, or without keys by being on this machine."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from .heads import Headers
from .keys import ANYONE, ROLES, Caller, Keyring, Role, presented_key
from .problems import Problem


class Admission:
    """Lets a request in, or says why not.

    With keys, every call needs one of a sufficient role. Without keys the server listens on
    loopback only, and browsers are the danger: a page from anywhere can make them send requests to
    this machine. Such requests carry a foreign ``Origin``, or a foreign ``Host`` where a name was
    made to point here. Both are refused.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._ranks = {role: rank for rank, role in enumerate(ROLES)}

    def admit(self, role: Role | None, headers: Headers) -> Caller:
        """Who calls, if they may; else 401 or 403."""
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
            raise Problem(401, "key_unknown", "Key unknown", "the key is none of the server's")
        if caller.rank < self._ranks[role]:
            detail = f"this call needs the role {role}, the key has {ROLES[caller.rank]}"
            raise Problem(403, "role_too_low", "Role too low", detail)
        return caller


def _check_local(headers: Headers) -> None:
    for name, value in headers:
        if name == b"host" and not _local(value):
            raise _foreign("Host", "without keys only localhost can be addressed")
        if name == b"origin" and not _local(value.partition(b"://")[2]):
            raise _foreign("Origin", "without keys pages of other sites cannot call")


def _foreign(header: str, detail: str) -> Problem:
    return Problem(403, "foreign_request", "Request from elsewhere", detail, field=header)


@lru_cache(maxsize=64)
def _local(value: bytes) -> bool:
    """Whether ``host:port`` or ``[host]:port`` is this machine."""
    text = value.decode("latin-1")
    return is_loopback(text[1:].partition("]")[0] if text[:1] == "[" else text.partition(":")[0])


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine, and can be nothing else.

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
