"""The command `leaderboard`: play every policy in the suite, and print the standings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from . import experiments
from .cli_shared import PROGRESS_COLUMNS, Whole, console
from .experiments import SettingsError
from .experiments.standings_text import markdown


@click.command()
@click.option("--replications", type=Whole(min=1), default=100, show_default=True)
@click.option("--seed", type=Whole(min=0), default=0, show_default=True)
@click.option("--workers", type=Whole(min=1), help="Number of threads; does not affect results.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where to write the folder `leaderboard`.",
)
@click.option(
    "--environment",
    "environments",
    multiple=True,
    metavar="NAME|FILE",
    help="Only this environment of the suite, or your own from a TOML file; repeatable.",
)
@click.option(
    "--policy",
    "names",
    multiple=True,
    help="Only this policy, by its label or the name of its class; repeatable.",
)
def leaderboard(
    replications: int,
    seed: int,
    workers: int | None,
    out: Path,
    environments: tuple[str, ...],
    names: tuple[str, ...],
) -> None:
    """Play every policy in a suite of environments, and print the standings.

    Regret is relative to the best fixed discount in hindsight, and to D-LinUCB with the best
    discount and radius ("tuned twice"). After an interruption, the same command continues.

    \b
    Examples:
      driftbandits leaderboard --replications 20
      driftbandits leaderboard --environment abrupt --environment mine.toml --policy D-LinUCB
    """
    folder, chosen = out / "leaderboard", _environments(environments)
    with _leaderboard_progress() as advance:
        scores = experiments.run_leaderboard(
            folder,
            replications=replications,
            workers=workers,
            seed=seed,
            environments=chosen or None,
            policies=names or None,
            progress=advance,
        )
    from .figures import plot_leaderboard, save

    save(plot_leaderboard(scores), folder / "leaderboard")
    save(plot_leaderboard(scores, relative_to="twice"), folder / "leaderboard-twice")
    click.echo(markdown(scores))
    click.echo(f"leaderboard: {os.fspath(folder / 'leaderboard.md')}")


def _environments(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of the named environments, from the suite or from files."""
    suite, chosen = experiments.suite(), {}
    for name in names:
        if name not in suite and not name.endswith(".toml"):
            raise SettingsError(
                f"environment must be a TOML file or one of {', '.join(suite)}, got {name!r}"
            )
        settings = suite[name] if name in suite else experiments.read(Path(name))
        chosen[str(settings["name"])] = settings
    return chosen


@contextmanager
def _leaderboard_progress() -> Iterator[Callable[[str, int, int], None]]:
    with Progress(*PROGRESS_COLUMNS, console=console) as bar:
        task = bar.add_task("preparing, compiling", total=None)
        yield lambda label, done, total: bar.update(
            task, description=label, completed=done, total=total
        )
