"""One commit for all requests that come together: they become durable together."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import JournalError

JOURNAL_FAILED = 74  # EX_IOERR of sysexits.h

_LONGEST_GATHERING = 0.005  # seconds; with 32 connections a commit had 27 records instead of 11

_log = logging.getLogger("driftbandits.service")


class Durable(Protocol):
    """What has something to commit: a `House`."""

    @property
    def pending(self) -> int:
        """Number of records that are not on disk yet."""

    def commit(self) -> None:
        """Put them there, all or none."""


def end_process(error: JournalError) -> None:
    """End at once: memory is ahead of the disk, and nobody has been told yet.

    A commit after a failed one can succeed although the failed one is lost, so there is no retry.
    """
    _log.critical("journal failed, ending: %s", error)
    logging.shutdown()
    os._exit(JOURNAL_FAILED)


class Committer:
    """Commits once for all requests that come together, then lets their answers go.

    The requests that are ready in a tick of the event loop run one after the other. The first of
    them schedules the commit after the others of the same tick. As long as each tick brings more,
    the commit waits for the next, but no longer than a few milliseconds: a sync of the disk costs
    the same for one record as for thirty. No thread is involved: a writer thread would have to
    win back the interpreter lock for every commit.

    Args:
        house: What to commit.
        measured: Called with the seconds and the number of records of each commit.
        failed: Called with the error of a commit; must not return.
    """

    def __init__(
        self,
        house: Durable,
        *,
        measured: Callable[[float, int], None] = lambda seconds, records: None,
        failed: Callable[[JournalError], None] = end_process,
    ) -> None:
        self._house, self._measured, self._failed = house, measured, failed
        self._waiting = list[Callable[[], None]]()
        self._deadline = 0.0

    def then(self, call: Callable[[], None]) -> None:
        """Call once everything that has run so far is on disk."""
        if not self._waiting:
            loop = asyncio.get_running_loop()
            self._deadline = loop.time() + _LONGEST_GATHERING
            loop.call_soon(self._gather, loop, 0)
        self._waiting.append(call)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        """Commit, unless the last tick brought more requests: then the next may as well."""
        if len(self._waiting) > before and loop.time() < self._deadline:
            loop.call_soon(self._gather, loop, len(self._waiting))
        else:
            self._commit()

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.commit_now()
        for call in waiting:
            try:
                call()
            except Exception as error:  # one answer that cannot be sent holds up no other
                _log.error("an answer could not be sent", exc_info=error)

    def commit_now(self) -> None:
        """Commit what is pending, if anything is."""
        records = self._house.pending
        if not records:
            return
        start = time.perf_counter()
        try:
            self._house.commit()
        except JournalError as error:
            self._failed(error)
            raise
        self._measured(time.perf_counter() - start, records)
