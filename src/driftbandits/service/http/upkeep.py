"""Upkeep of the journal while it is in use: copies it, and removes old records."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..errors import BackupFailed
from ..house import House
from .routing import Answer, Call, Route, json_answer
from .shapes import BackupView

_PRUNE_PERIOD = 3600.0  # seconds


class Upkeep:
    """Backups on request, and regular removal of old records.

    Args:
        house: The house of the journal.
        folder: Folder for backups; None if there is none.
        keep_days: Age in days up to which records are kept; None keeps all.
    """

    def __init__(self, house: House, *, folder: Path | None, keep_days: float | None) -> None:
        self._house, self._folder, self._keep_days = house, folder, keep_days
        self._pruned = 0.0

    def routes(self) -> list[Route]:
        """The route for backups."""
        return [
            Route("POST", "/v1/backups", "admin", self.backup,
                  "Copy the journal to a new file beside it, while decisions go on.",
                  gives=BackupView, refusals=(507,), slow=True),
        ]  # fmt: skip

    async def backup(self, call: Call) -> Answer:
        """POST /v1/backups."""
        if self._folder is None:
            raise BackupFailed("this server has no folder for backups")
        self._house.commit()
        records = self._house.journal()["records"]
        target = self._folder / f"journal-{records}.sqlite"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BackupFailed(f"{self._folder} cannot be made: {error}") from error
        if not target.exists():  # the same journal was copied before
            for _ in self._house.backup(target):
                await asyncio.sleep(0)
        return json_answer(BackupView(file=target.name, records=records))

    def look(self, now: float) -> int:
        """Remove old records at most once per hour, and return their number."""
        if self._keep_days is None or now - self._pruned < _PRUNE_PERIOD:
            return 0
        self._pruned = now
        return self._house.prune(days=self._keep_days)
