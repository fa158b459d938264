"""The real server for tests, on a free port of loopback, in a thread of this process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from driftbandits.service.house import House
from driftbandits.service.http.keys import Key, Keyring
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.listening import Address, bound_socket
from driftbandits.service.http.server import Server
from driftbandits.service.journal.contract import Store
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.warming import warm

# A learner whose choices can be computed by hand: no floor, one coordinate per action.
PLAIN: dict[str, Any] = {
    "features": {
        "action": {"kind": {"kind": "one_hot", "values": ["a", "b", "c"]}},
        "terms": [{"action": ["kind"]}],
    },
    "learner": "LinUCB",
    "rule": "wait",
    "floor": 0.0,
    "wait": 3600.0,
}
OFFERED: list[dict[str, Any]] = [{"id": name, "features": {"kind": name}} for name in "abc"]


@contextmanager
def serving(
    *,
    policies: dict[str, dict[str, Any]] | None = None,
    store: Store | None = None,
    keys: Sequence[Key] = (),
    limits: Limits | None = None,
    house: House | None = None,
    backups: Path | None = None,
) -> Iterator[Server]:
    """A server with the policies ("plain" by default), which is closed at the end."""
    house = house or House.open(store or MemoryStore())
    for name, settings in ({"plain": PLAIN} if policies is None else policies).items():
        made = PolicySettings.from_dict(settings)
        house.put_policy(name, made)
        warm(made)
    house.commit()
    listener = bound_socket(Address("127.0.0.1", 0))
    server = Server(
        house,
        listener,
        keyring=Keyring(keys),
        limits=limits or Limits(),
        backups=backups,
    )
    ready = threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    try:
        assert ready.wait(60.0)
        yield server
    finally:
        server.stop()
        thread.join(60.0)
        assert not thread.is_alive()


@contextmanager
def connected(**options: Any) -> Iterator[httpx.Client]:
    """A plain HTTP client of such a server."""
    with serving(**options) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        yield client


@contextmanager
def process(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`driftbandits serve` without settings, and the address that it prints."""
    command = [sys.executable, "-u", "-m", "driftbandits", "serve", "--listen", "127.0.0.1:0"]
    started = subprocess.Popen(
        [*command, "--data", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert started.stdout is not None
    try:
        url = ""
        while not url:
            line = started.stdout.readline()
            assert line, "the server ended before it was ready"
            if line.startswith("serving on "):
                url = line.split()[2].rstrip(",")
        yield started, url
    finally:
        started.kill()
        started.communicate()
