"""Makes a server from settings."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .house import House
from .http.keys import Keyring
from .http.listening import Address, bound_socket
from .http.server import Server
from .journal.sqlite import SQLiteStore
from .policy_settings import PolicySettings
from .settings import Settings
from .warming import warm

JOURNAL = "journal.sqlite"
BACKUPS = "backups"

_COLLECT_SECONDS = 600.0
_SILENT_SECONDS = 2.0

_log = logging.getLogger("driftbandits.service")


def start(settings: Settings) -> tuple[Server, Address]:
    """A server that is ready to run: house recovered, policies declared, socket bound."""
    settings.check()
    listener = bound_socket(settings.listen)
    try:
        house = open_house(settings)
    except BaseException:
        listener.close()
        raise
    server = Server(
        house,
        listener,
        keyring=Keyring(settings.keys),
        limits=settings.limits,
        backups=settings.storage.folder / BACKUPS,
        keep_days=settings.storage.keep_days,
        collect_seconds=_COLLECT_SECONDS,
    )
    return server, Address(settings.listen.host, listener.getsockname()[1])


def open_house(settings: Settings) -> House:
    """The house of the journal, with the policies that the settings declare."""
    settings.storage.folder.mkdir(parents=True, exist_ok=True)
    storage = settings.storage
    house = House.open(SQLiteStore(storage.folder / JOURNAL), snapshot_every=storage.snapshot_every)
    for note in house.recovered.notes:
        _log.warning("%s", note)
    try:
        for name, declared in settings.policies.items():
            declare(house, name, declared)
        house.commit()
        with _telling("compiling, once per machine; this can take a minute"):
            for view in house.policies():
                warm(view.settings)
    except BaseException:
        house.close()
        raise
    return house


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Log ``what`` if the block takes longer than ``_SILENT_SECONDS``."""
    timer = threading.Timer(_SILENT_SECONDS, _log.info, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def declare(house: House, name: str, declared: PolicySettings) -> None:
    """Create a policy, or change it if its settings have changed.

    A policy that was promoted over HTTP stays live even if the file still says shadow.
    """
    known = {view.name: view for view in house.policies()}.get(name)
    if known is None:
        house.put_policy(name, declared)
    elif known.settings != declared and not _only_promoted(known.settings, declared):
        _log.info("settings of policy %s have changed", name)
        house.put_policy(name, declared)


def _only_promoted(known: PolicySettings, declared: PolicySettings) -> bool:
    now, then = known.to_dict(), declared.to_dict()
    return (then.pop("mode"), now.pop("mode")) == ("shadow", "live") and now == then
