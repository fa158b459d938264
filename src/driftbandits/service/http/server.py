"""The server: serves one house on one socket until a signal stops it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import JournalError
from ..house import House
from .app import App
from .around import Around
from .committing import end_process
from .endpoints import Endpoints
from .keys import Keyring
from .limits import Limits
from .listening import Address
from .protocol import Connection
from .upkeep import Upkeep
from .vitals import Vitals

_log = logging.getLogger("driftbandits.service")
_PERIOD = 1.0  # seconds between checks of deadlines and slow clients
_STOP_PERIOD = 0.02  # seconds between checks whether to stop, and whether all requests are done
_BACKLOG = 4096  # connections that wait in the kernel until the server accepts them


class Server:
    """One house on one socket.

    Args:
        house: The hosted policies. The server commits its records, and closes it at the end.
        listener: A bound socket.
        keyring: The keys. If it is empty, everybody may do everything, on loopback only.
        limits: The limits.
        backups: Folder for copies of the journal.
        keep_days: Age in days up to which records are kept; None keeps all.
        collect_seconds: Seconds between full garbage collections. None leaves them to Python.
    """

    def __init__(
        self,
        house: House,
        listener: socket.socket,
        *,
        keyring: Keyring,
        limits: Limits,
        backups: Path | None = None,
        keep_days: float | None = None,
        collect_seconds: float | None = None,
    ) -> None:
        self._house, self._listener = house, listener
        self._upkeep = Upkeep(house, folder=backups, keep_days=keep_days)
        self._collect_seconds, self._collected = collect_seconds, 0.0
        self.app = make_app(house, keyring=keyring, limits=limits, upkeep=self._upkeep)
        self._limits, self._connections = limits, set[Connection]()
        self._stopping = False

    @property
    def url(self) -> str:
        """The address of the server."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{Address(host, port)}"

    def run(self, *, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until SIGTERM or SIGINT; then finish the running requests, and close the house."""
        if self._collect_seconds is not None:
            _calm_collector()
        with asyncio.Runner(loop_factory=_new_loop()) as runner:
            runner.run(self._serve(ready))
        self._close()

    def stop(self) -> None:
        """Begin to shut down: accept no new connections, and answer the running requests."""
        self.app.draining = True
        self._stopping = True

    async def _serve(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, self.stop)
        listening = await loop.create_server(
            lambda: Connection(self.app, self._connections, self._limits),
            sock=self._listener,
            backlog=_BACKLOG,
        )
        regular = asyncio.ensure_future(self._regularly())
        ready()
        try:
            while not self._stopping:
                await asyncio.sleep(_STOP_PERIOD)
            listening.close()
            await self._drain()
        finally:
            regular.cancel()

    async def _drain(self) -> None:
        """Answer the running requests within ``drain_seconds``, and close all connections."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._limits.drain_seconds
        while loop.time() < deadline:
            if sum([c.drain() for c in tuple(self._connections)]) == 0:
                break
            await asyncio.sleep(_STOP_PERIOD)
        for connection in tuple(self._connections):
            connection.abort()

    async def _regularly(self) -> None:
        """Once per second: close expired decisions, and disconnect slow clients."""
        while True:
            await asyncio.sleep(_PERIOD)
            try:
                self._look()
            except JournalError as error:
                end_process(error)
            except Exception as error:  # requests go on, and the next try may succeed
                _log.error("regular upkeep failed", exc_info=error)

    def _look(self) -> None:
        self._house.expire()
        self.app.committer.commit_now()
        removed = self._upkeep.look(time.time())
        if removed:
            _log.info("removed %d old records", removed)
        now = asyncio.get_running_loop().time()
        self.app.vitals.slow_clients += sum([c.look(now) for c in tuple(self._connections)])
        if self._collect_seconds is not None and now - self._collected > self._collect_seconds:
            gc.collect()
            self._collected = now

    def _close(self) -> None:
        try:
            self._house.close()
        except JournalError as error:
            end_process(error)
        _log.info("ended; everything is on disk")


def make_app(house: House, *, keyring: Keyring, limits: Limits, upkeep: Upkeep) -> App:
    """The application with all its routes."""
    vitals = Vitals()
    around = Around(house, vitals, draining=lambda: app.draining)
    routes = [
        *Endpoints(house, limits).routes(),
        *_personalizer(house, limits),
        *upkeep.routes(),
        *around.routes(),
    ]
    around.describe(routes)
    app = App(house, keyring=keyring, limits=limits, vitals=vitals, routes=routes)
    return app


def _personalizer(house: House, limits: Limits) -> list[Any]:
    from ..personalizer import Personalizer

    return Personalizer(house, limits).routes()


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of uvloop's event loop; None if uvloop is not installed."""
    try:
        import uvloop
    except ImportError:  # on Windows
        return None
    return uvloop.new_event_loop


def _calm_collector() -> None:
    """Switch off automatic full garbage collections, so that the server can choose their time.

    A full collection visits every open decision. With 100,000 of them it takes 0.1 s of processor
    time, and no request is answered meanwhile. The recovered state is exempt: it is not garbage.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 10**9)
