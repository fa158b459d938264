"""Makes one commit for all requests that arrive together."""

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
    """Something with records to commit, such as a `House`."""

    @property
    def pending(self) -> int:
        """Number of records that are not on disk yet."""

    def commit(self) -> None:
        """Write them all to disk, or none."""


def end_process(error: JournalError) -> None:
    """End the process at once: memory is ahead of the disk, and no answer has been sent yet.

    There is no retry, because a second commit can succeed although the first one is lost.
    """
    _log.critical("journal failed, ending: %s", error)
    logging.shutdown()
    os._exit(JOURNAL_FAILED)


class Committer:
    """Commits once for all requests that arrive together, then sends their answers.

    The requests that are ready in a tick of the event loop run one after the other. The first
    request schedules the commit after the others of this tick. While each tick brings more
    requests, the commit waits for the next tick, but only a few milliseconds in all. Waiting pays,
    because a disk sync takes as long for one record as for thirty. There is no writer thread: it
    would have to get the interpreter lock back for every commit.

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
        """Run ``call`` when all changes so far are on disk."""
        if not self._waiting:
            loop = asyncio.get_running_loop()
            self._deadline = loop.time() + _LONGEST_GATHERING
            loop.call_soon(self._gather, loop, 0)
        self._waiting.append(call)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        """Commit, or wait another tick if the last one brought more requests."""
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
            except Exception as error:  # the other answers must still be sent
                _log.error("an answer could not be sent", exc_info=error)

    def commit_now(self) -> None:
        """Commit the pending records, if there are any."""
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
