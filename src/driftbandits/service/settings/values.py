"""What a server is set to, as frozen values."""

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
        snapshot_every: Records after which a snapshot is written; it bounds the time of a start.
        keep_days: Age in days up to which records are kept; None to keep all.
    """

    folder: Path = Path("driftbandits-data")
    snapshot_every: int = SNAPSHOT_EVERY
    keep_days: float | None = None


class Settings(NamedTuple):
    """All settings of a server.

    Attributes:
        listen: Where it listens.
        limits: How much it takes of what.
        storage: Where it keeps events.
        keys: Who may do what; without any, whoever is on this machine may do everything.
        policies: Settings of the policies that the file describes, by name.
    """

    listen: Address = Address("127.0.0.1", 8080)
    limits: Limits = Limits()
    storage: Storage = Storage()
    keys: tuple[Key, ...] = ()
    policies: Mapping[str, PolicySettings] = {}

    def check(self) -> None:
        """Refuse what is right in every part and wrong as a whole."""
        if not self.keys and not self.listen.local:
            raise ValueError(
                "server.listen must be a loopback address as long as there are no keys, got "
                f"{self.listen}; make a key with `driftbandits key`"
            )


def demo() -> Settings:
    """A server to try things with: one policy that takes any features."""
    return Settings(policies={DEMO_POLICY: PolicySettings()})
