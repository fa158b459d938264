"""The command group ``driftbandits log``: questions to your own log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .cli_log_options import CLOCK, PERIOD, SIMULATIONS, open_log, reading
from .cli_log_output import bar, draw, out_folder, part, say, say_dropped, show, write
from .cli_log_report import report
from .cli_log_values import fit, value
from .cli_log_words import show_quantities


@click.group(name="log")
def log_group() -> None:
    """Ask your own log: is it sound, does it drift, what would a policy have earned?

    FILE is Parquet, CSV, JSON lines, Arrow or dsjson, with one row per decision. The columns are
    time, actions (or --arms, --action), chosen, propensity, reward, and optionally reward_time,
    count, id and policy. If your columns have other names, give them as options.

    \b
    Examples:
      driftbandits log check log.parquet
      driftbandits log drift log.csv --time timestamp --reward click --chosen item --arms 80
      driftbandits log value log.parquet --policy uniform --policy D-LinUCB --period week
      driftbandits log fit log.parquet --policy D-LinUCB:gamma=0.999 --out policy.npz
      driftbandits log report log.parquet --policy uniform
    """


@log_group.command()
@reading
@PERIOD
@out_folder("check.csv, periods.csv and propensities.csv")
def check(period: str, out: Path | None, **options: Any) -> None:
    """Is the log sound? Rows, gaps, rewards, delays, duplicates, overlap, propensities."""
    log = open_log(options)
    with bar("checking") as progress:
        found = log.check(period=period, resume=part(out, "check"), progress=progress)
    click.secho(found.sentence, bold=True)
    show_quantities(found.summary)
    say(found.warnings)
    for row, reason in log.findings.examples:
        click.echo(f"dropped row {row}: {reason}")
    write(out, "check.csv", found.summary)
    write(out, "periods.csv", found.periods)
    write(out, "propensities.csv", found.propensities)


@log_group.command()
@reading
@CLOCK
@SIMULATIONS
@click.option("--seed", default=0, show_default=True, help="Seed of the simulations.")
@out_folder("drift.csv and a picture")
def drift(clock: str, simulations: int, seed: int, out: Path | None, **options: Any) -> None:
    """Do payoffs drift, and when? Level, differences and contexts, with p-values."""
    log = open_log(options)
    with bar("looking for drift") as progress:
        found = log.drift(
            simulations=simulations,
            seed=seed,
            clock=clock,
            resume=part(out, "drift"),
            progress=progress,
        )
    click.secho(found.sentence, bold=True)
    show_quantities(found.table)
    say_dropped(log)
    click.echo(found.snippet)
    write(out, "drift.csv", found.table)
    draw(out, "drift", found)


@log_group.command()
@reading
@CLOCK
@out_folder("memory.csv, memory_instant.csv and a picture")
def memory(clock: str, out: Path | None, **options: Any) -> None:
    """Which memory should a policy have, in decisions and in hours, and which predicts best?"""
    log = open_log(options)
    with bar("predicting") as progress:
        found = log.memory(clock=clock, resume=part(out, "memory"), progress=progress)
    click.secho(found.sentence, bold=True)
    names = {"best": "recommended", "predictor": "best predictor", "close": "predicts as well"}
    show(found.table.dropna(axis=1, how="all").rename(columns=names))
    say_dropped(log)
    click.echo(found.snippet)
    write(out, "memory.csv", found.table[["memory", "hours", "evidence", "best"]])
    instant = found.table.assign(evidence=found.table["instant"])
    write(out, "memory_instant.csv", instant[["memory", "hours", "evidence"]])
    draw(out, "memory", found)


for command in (value, fit, report):
    log_group.add_command(command)
