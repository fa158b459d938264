"""Shared by commands: an option type, the console, progress columns."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

console = Console(stderr=True)
PROGRESS_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)


class Whole(click.IntRange):
    """A 64-bit integer, as in TOML files, of at least ``min``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The integer, or a usage error."""
        number = super().convert(value, param, ctx)
        if number >= 2**63:
            self.fail(f"{number} must be an integer of 64 bits", param, ctx)
        return number
