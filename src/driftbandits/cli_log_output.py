"""Output of the commands of ``driftbandits log``: progress bars, tables, pictures, notes.

Code for pictures is imported only when it is needed, to leave memory for a long log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.progress import Progress

from .cli_log_options import Command
from .cli_shared import PROGRESS_COLUMNS, console
from .core.storage import atomic_write
from .logs.reading import LogReader
from .logs.reading import Progress as Report
from .logs.rows import say_open


def out_folder(what: str) -> Callable[[Command], Command]:
    """The option for a folder of tables and pictures."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder for {what}. An interrupted command continues from it.",
    )


def part(folder: Path | None, name: str) -> Path | None:
    """The hidden file from which an interrupted command continues; None without a folder."""
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".{name}.part.npz"


@contextmanager
def bar(words: str) -> Iterator[Report]:
    """A progress bar, as the ``progress`` function of a question."""
    with Progress(*PROGRESS_COLUMNS, console=console, transient=True) as shown:
        task = shown.add_task(words, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def write(folder: Path | None, name: str, frame: pd.DataFrame) -> None:
    """Write a table as CSV, if there is a folder."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name) as file:
        file.write(frame.to_csv(index=False).encode())


def draw(folder: Path | None, name: str, found: Any) -> None:
    """Draw the picture of an answer, if there is a folder."""
    if folder is None:
        return
    from .figures.logs import plot_drift, plot_memory, plot_value
    from .figures.style import save

    plot: dict[str, Callable[[Any], Any]]
    plot = {"drift": plot_drift, "memory": plot_memory, "value": plot_value}
    for path in save(plot[name](found), folder / name):
        click.echo(f"picture: {path}")


def show(frame: pd.DataFrame) -> None:
    """Print a table."""
    click.echo(frame.to_string(index=False, float_format=_number))


def _number(value: float) -> str:
    """Four significant digits, and all digits before the decimal point."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:,.4g}"


def say_dropped(log: LogReader) -> None:
    """Report the rows that were dropped or left out in the latest pass."""
    if log.findings.total:
        row, reason = log.findings.examples[0]
        words = f"{log.findings.total:,} rows were dropped; the first is row {row}: {reason}"
        say([f"{words} (`log check` counts them by reason)"])
    if log.findings.open and log.schema.mature_after is None:
        say([say_open(log.findings.open, log.schema.default)])
    say(log.notes)


def say(notes: Iterable[str], *, colour: str = "yellow") -> None:
    """Print one note per line."""
    for line in notes:
        click.secho(f"note: {line}", fg=colour)
