"""The commands ``driftbandits journal``, which work on the journal of the decision service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # commands import these when they run, because they need the extra `service`
    from .service.journal.sqlite import SQLiteStore
    from .service.recovery import Report

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)
_Journal = click.argument("journal", type=_FILE)


@click.group(name="journal")
def journal_group() -> None:
    """Check, copy, export or prune the journal of the decision service.

    JOURNAL is the SQLite file that `driftbandits serve` writes. A running service locks the file:
    stop the service first, or use a backup.

    \b
    Examples:
      driftbandits journal verify data/journal.sqlite
      driftbandits journal export data/journal.sqlite log.parquet --policy front-page
    """


@journal_group.command("verify")
@_Journal
def verify_journal(journal: Path) -> None:
    """Replay the journal, and compare every answer and every snapshot bit for bit."""
    with _opened(journal) as store:
        report = _verified(store)
    start = "from nothing" if report.snapshot is None else f"from the snapshot at {report.snapshot}"
    click.echo(f"replayed {report.replayed} records {start}, compared {report.snapshots} snapshots")
    for note in report.notes:
        click.echo(note)
    if not report.identical:
        shown = ", ".join(map(str, report.differing[:10]))
        raise click.ClickException(f"{len(report.differing)} differ, at records {shown}")
    click.echo("identical, bit for bit")


@journal_group.command("backup")
@_Journal
@click.argument("target", type=_NEW)
def backup_journal(journal: Path, target: Path) -> None:
    """Copy the journal to a new file."""
    with _opened(journal) as store:
        for _ in store.backup(target):
            pass
        click.echo(f"{target} has records {store.first} to {store.last}")


@journal_group.command("restore")
@click.argument("backup", type=_FILE)
@click.argument("journal", type=_NEW)
def restore_journal(backup: Path, journal: Path) -> None:
    """Verify a backup, and make a new journal from it."""
    if journal.exists() or Path(f"{journal}-wal").exists():
        raise click.ClickException(f"{journal} already exists; move it away first")
    with _opened(backup) as store:
        report = _verified(store)
        if not report.identical:
            click.echo(f"note: {len(report.differing)} answers differ on this machine")
        journal.parent.mkdir(parents=True, exist_ok=True)
        for _ in store.backup(journal):
            pass
        # Records that an earlier journal with this name had acknowledged no longer count.
        Path(f"{journal}-witness").unlink(missing_ok=True)
        click.echo(f"{journal} has records {store.first} to {store.last}")


@journal_group.command("export")
@_Journal
@click.argument("target", type=_NEW)
@click.option("--policy", required=True, metavar="NAME", help="The hosted policy.")
def export_journal(journal: Path, target: Path, policy: str) -> None:
    """Write the decisions of a policy as Parquet, for `driftbandits log`."""
    from .service.export import export

    with _opened(journal) as store:
        written = export(store, policy, target)
    click.echo(f"{target} has {written} decisions; next: driftbandits log report {target}")


@journal_group.command("prune")
@_Journal
@click.option(
    "--days", required=True, type=click.FloatRange(min=0), help="Keep records younger than this."
)
def prune_journal(journal: Path, days: float) -> None:
    """Remove records that are older than DAYS and before a snapshot."""
    with _opened(journal) as store:
        gone = store.prune(before=time.time() - days * 86_400)
        click.echo(f"removed {gone} records; kept {store.first} to {store.last}")


def _verified(store: SQLiteStore) -> Report:
    from .service.recovery import verify

    return verify(store)


@contextmanager
def _opened(journal: Path) -> Iterator[SQLiteStore]:
    """Open the journal, close it afterwards, and print its errors as messages."""
    try:
        from .service.errors import JournalError, ServiceError
        from .service.journal.sqlite import SQLiteStore
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is missing: pip install 'driftbandits[service]'"
        ) from error
    try:
        store = SQLiteStore(journal)
        try:
            yield store
        finally:
            store.close()
    except (JournalError, ServiceError) as error:
        raise click.ClickException(str(error)) from error
