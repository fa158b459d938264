"""Keys and their roles. Only hashes of keys are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

LEAST_LENGTH = 20  # characters: a fast hash protects only keys that cannot be guessed
_PREFIX = "sha256:"


class Key(NamedTuple):
    """A key that the server accepts.

    Attributes:
        name: Its name in the settings; never the key itself.
        role: A reader may look, a writer also decide and reward, an admin also change policies.
        hash: The result of `hashed`.
        policy: Policy for calls of the Personalizer API with this key.
    """

    name: str
    role: Role
    hash: str
    policy: str | None = None


class Caller(NamedTuple):
    """Who calls: the rank of the role, and the policy of the key."""

    rank: int
    policy: str | None = None


# Without keys the server listens on loopback only, and every caller may do everything.
ANYONE = Caller(rank=ROLES.index("admin"))


def new_key() -> str:
    """A key of 256 random bits."""
    return "dbk_" + secrets.token_urlsafe(32)


def hashed(key: str) -> str:
    """The stored form of a key: the SHA-256 of its text.

    Passwords need a slow hash because they can be guessed. Keys cannot be guessed: they have at
    least ``LEAST_LENGTH`` characters, and those from `new_key` have 256 random bits.

    Examples:
        >>> hashed("an-example-of-a-long-key")[:18]
        'sha256:0008bd61456'
    """
    if len(key) < LEAST_LENGTH:
        raise ValueError(f"key must have at least {LEAST_LENGTH} characters, got {len(key)}")
    return _PREFIX + hashlib.sha256(key.encode()).hexdigest()


def is_hash(text: str) -> bool:
    """Whether ``text`` has the form that `hashed` gives.

    Examples:
        >>> is_hash(hashed("an-example-of-a-long-key")), is_hash("sha256:abc")
        (True, False)
    """
    digest = text.removeprefix(_PREFIX)
    return text.startswith(_PREFIX) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")


class Keyring:
    """The keys of a server."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = [(bytes.fromhex(key.hash.removeprefix(_PREFIX)), _caller(key)) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._keys)

    def caller(self, presented: bytes) -> Caller | None:
        """The caller that a key belongs to; None if the key is unknown.

        Compares with every key, each in constant time, so that the time does not reveal how much
        of a key was right.
        """
        digest, found = hashlib.sha256(presented).digest(), None
        for known, caller in self._keys:
            if hmac.compare_digest(digest, known):
                found = caller
        return found


def _caller(key: Key) -> Caller:
    return Caller(rank=ROLES.index(key.role), policy=key.policy)


def presented_key(headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The key from ``Authorization: Bearer``, ``X-Api-Key`` or Personalizer's header."""
    for name, value in headers:
        if name in (b"x-api-key", b"ocp-apim-subscription-key"):
            return value
        if name == b"authorization":
            scheme, _, key = value.partition(b" ")
            return key.strip() if scheme.lower() == b"bearer" else b""
    return None
