"""The settings of a server, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..house import SNAPSHOT_EVERY
from ..http.keys import Key
from ..http.limits import Limits
from ..http.listening import Address
from ..policy_settings import PolicySettings

DEMO_POLICY = "demo"


class Storage(NamedTuple):
    """Where events are kept.

    Attributes:
        folder: Folder of the journal.
        snapshot_every: Number of records after which a snapshot is written. It bounds how long a
            start takes.
        keep_days: Age in days up to which records are kept; None keeps all.
    """

    folder: Path = Path("driftbandits-data")
    snapshot_every: int = SNAPSHOT_EVERY
    keep_days: float | None = None


class Settings(NamedTuple):
    """All settings of a server.

    Attributes:
        listen: The address on which it listens.
        limits: Its limits.
        storage: Where it keeps events.
        keys: Its keys. If there are none, everybody on this machine may do everything.
        policies: Settings of the policies in the file, by name.
    """

    listen: Address = Address("127.0.0.1", 8080)
    limits: Limits = Limits()
    storage: Storage = Storage()
    keys: tuple[Key, ...] = ()
    policies: Mapping[str, PolicySettings] = {}

    def check(self) -> None:
        """Refuse settings that are not allowed together."""
        if not self.keys and not self.listen.local:
            raise ValueError(
                "server.listen must be a loopback address as long as there are no keys, got "
                f"{self.listen}; make a key with `driftbandits key`"
            )


def demo() -> Settings:
    """A server to try things with: one policy that takes any features."""
    return Settings(policies={DEMO_POLICY: PolicySettings()})
