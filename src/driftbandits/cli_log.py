"""The command group ``driftbandits log``: questions to a log of one's own.

Pictures are loaded when they are drawn, so that a long log has the room until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .agent import Agent
from .agent.learning import RULES, Rule
from .cli_log_options import Command, features_of, open_log, reading
from .cli_log_words import Words, show_quantities
from .core.storage import atomic_write
from .logs import CannotAnswer, Log, Value
from .logs.candidates import Facts, candidate, is_fixed
from .logs.reading import Progress as Report
from .policies import Policy

_console = Console(stderr=True)
_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)
_PERIOD = click.option(
    "--period",
    default="auto",
    show_default=True,
    metavar="day|week|hour|HOURS|auto",
    help="Length of the periods that answers are given by.",
)
_POLICY = click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="A fixed policy (uniform, action:NAME, column:NAME, shares:FILE.csv, frozen:FILE.npz) or "
    "one that learns (D-LinUCB, or D-LinUCB:gamma=0.99,noise=0.3); repeatable.",
)


@click.group(name="log")
def log_group() -> None:
    """Ask a log of your own: is it sound, does it drift, what would a policy have earned.

    FILE is Parquet, CSV, JSON lines, Arrow or dsjson, with one row per decision. The columns are
    time, actions (or --arms, --action), chosen, propensity, reward, and optionally reward_time,
    count, id and policy. Options tell where a log has other names.

    \b
    Examples:
      driftbandits log check log.parquet
      driftbandits log drift log.csv --time timestamp --reward click --chosen item --arms 80
      driftbandits log value log.parquet --policy uniform --policy D-LinUCB --period week
      driftbandits log fit log.parquet --policy D-LinUCB:gamma=0.999 --out policy.npz
      driftbandits log report log.parquet --policy uniform
    """


def _out(what: str) -> Callable[[Command], Command]:
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder for {what}. An interrupted command continues from it.",
    )


def _part(out: Path | None, name: str) -> Path | None:
    """Where an interrupted command continues from: a hidden file in its folder."""
    if out is None:
        return None
    out.mkdir(parents=True, exist_ok=True)
    return out / f".{name}.part.npz"


@contextmanager
def _bar(words: str) -> Iterator[Report]:
    with Progress(*_COLUMNS, console=_console, transient=True) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _write(out: Path | None, name: str, frame: pd.DataFrame) -> None:
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / name) as file:
        file.write(frame.to_csv(index=False).encode())


def _draw(out: Path | None, name: str, found: Any) -> None:
    if out is None:
        return
    from .figures.logs import plot_drift, plot_memory, plot_value
    from .figures.style import save

    plot: dict[str, Callable[[Any], Any]]
    plot = {"drift": plot_drift, "memory": plot_memory, "value": plot_value}
    for path in save(plot[name](found), out / name):
        click.echo(f"picture: {path}")


def _show(frame: pd.DataFrame) -> None:
    click.echo(frame.to_string(index=False, float_format=lambda x: f"{x:,.4g}"))


def _say(warnings: Any, *, colour: str = "yellow") -> None:
    for line in warnings:
        click.secho(f"note: {line}", fg=colour)


@log_group.command()
@reading
@_PERIOD
@_out("check.csv, periods.csv and propensities.csv")
def check(period: str, out: Path | None, **options: Any) -> None:
    """Is the log sound: rows, gaps, rewards, delays, duplicates, overlap, propensities."""
    log = open_log(options)
    with _bar("checking") as progress:
        found = log.check(period=period, resume=_part(out, "check"), progress=progress)
    click.secho(found.sentence, bold=True)
    show_quantities(found.summary)
    _say(found.warnings)
    for row, reason in log.findings.examples:
        click.echo(f"dropped row {row}: {reason}")
    _write(out, "check.csv", found.summary)
    _write(out, "periods.csv", found.periods)
    _write(out, "propensities.csv", found.propensities)


_SIMULATIONS = click.option(
    "--simulations",
    type=click.IntRange(min=59),
    default=199,
    show_default=True,
    help="Simulated stationary logs.",
)
_CLOCK = click.option(
    "--clock",
    type=click.Choice(["decisions", "hours"]),
    default="decisions",
    show_default=True,
    help="What memories fade with.",
)


@log_group.command()
@reading
@_CLOCK
@_SIMULATIONS
@click.option("--seed", default=0, show_default=True, help="Names the simulations.")
@_out("drift.csv and a picture")
def drift(clock: str, simulations: int, seed: int, out: Path | None, **options: Any) -> None:
    """Do payoffs drift: level, differences and contexts, with p-values, and when."""
    log = open_log(options)
    with _bar("looking for drift") as progress:
        found = log.drift(
            simulations=simulations,
            seed=seed,
            clock=clock,
            resume=_part(out, "drift"),
            progress=progress,
        )
    click.secho(found.sentence, bold=True)
    show_quantities(found.table)
    click.echo(found.snippet)
    _write(out, "drift.csv", found.table)
    _draw(out, "drift", found)


@log_group.command()
@reading
@_CLOCK
@_out("memory.csv, memory_instant.csv and a picture")
def memory(clock: str, out: Path | None, **options: Any) -> None:
    """Which memory a policy should have, in decisions and in hours, and which predicts best."""
    log = open_log(options)
    with _bar("predicting") as progress:
        found = log.memory(clock=clock, resume=_part(out, "memory"), progress=progress)
    click.secho(found.sentence, bold=True)
    _show(found.table.dropna(axis=1, how="all"))
    click.echo(found.snippet)
    _write(out, "memory.csv", found.table[["memory", "hours", "evidence", "best"]])
    instant = found.table.assign(evidence=found.table["instant"])
    _write(out, "memory_instant.csv", instant[["memory", "hours", "evidence"]])
    _draw(out, "memory", found)


_LEARN = click.option(
    "--learn",
    type=click.Choice(["accepted", "all"]),
    default="accepted",
    show_default=True,
    help="Rows that learning policies learn from: as if they had decided, or had watched.",
)
_SHARE = click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share c of rows to accept; the least propensity unless given.",
)
_PROPENSITIES = click.option(
    "--propensities",
    type=click.Choice(["logged", "estimated"]),
    default="logged",
    show_default=True,
    help="Estimated ones are right only where the logger ignored contexts.",
)


@log_group.command()
@reading
@_POLICY
@_PERIOD
@_LEARN
@_SHARE
@_PROPENSITIES
@_out("value.csv, weights.csv, value.txt and a picture")
def value(
    policies: tuple[str, ...],
    period: str,
    learn: str,
    share: float | None,
    propensities: str,
    out: Path | None,
    **options: Any,
) -> None:
    """What policies would have earned, by period, with intervals.

    Fixed policies have IPS, SNIPS, DM and DR. Policies that learn are replayed on the real clock:
    their DR is the value of a policy that learned from the accepted rows alone. What it would have
    earned live, with all of its rewards, is told by the row at full traffic, with a model's help.
    """
    log = open_log(options)
    names = policies or ("uniform",)
    found = _values(log, names, period, learn, share, propensities, out)
    table = pd.concat([v.table for v in found], ignore_index=True).drop_duplicates()
    answers = Words.of(found)
    for line in answers.said:
        click.secho(line, bold=True)
    _show(table[table["period"] == "all"].drop(columns="period"))
    _say(answers.warnings)
    _say(answers.refused, colour="red")
    answers.write(out, "value.txt")
    _write(out, "value.csv", table)
    _write(out, "weights.csv", pd.concat([v.weights for v in found], ignore_index=True))
    _draw(out, "value", _joined(found))


def _values(
    log: Log,
    names: tuple[str, ...],
    period: str,
    learn: str,
    share: float | None,
    propensities: str,
    out: Path | None,
) -> list[Value]:
    """Values of fixed policies, then of those that learn."""
    found = []
    fixed = {name: name for name in names if is_fixed(name)}
    learning = [name for name in names if not is_fixed(name)]
    if fixed:
        with _bar("evaluating") as progress:
            found.append(
                log.value(
                    fixed,
                    period=period,
                    propensities=propensities,
                    resume=_part(out, "value"),
                    progress=progress,
                )
            )
    if learning:
        with _console.status("what the log tells the policies"):
            facts = Facts.of(log, with_memory=True)
        players = {name: candidate(log, name, facts) for name in learning}
        with _bar("replaying") as progress:
            found.append(
                log.replay(
                    players,
                    learn=learn,
                    share=share,
                    period=period,
                    resume=_part(out, "replay"),
                    progress=progress,
                )
            )
    return found


def _answered(
    log: Log, names: tuple[str, ...], period: str, learn: str, share: float | None, _: Report
) -> list[Value]:
    """Values for the report, whose bars are their own."""
    return _values(log, names, period, learn, share, "logged", None)


def _joined(found: list[Value]) -> Value:
    table = pd.concat([v.table for v in found], ignore_index=True)
    weights = pd.concat([v.weights for v in found], ignore_index=True)
    acceptance = {name: share for v in found for name, share in v.acceptance.items()}
    return Value(table.drop_duplicates(), weights, None, acceptance, (), ())


@log_group.command()
@reading
@_POLICY
@click.option(
    "--rule",
    type=click.Choice(RULES),
    default="wait",
    show_default=True,
    help="Until a reward is known: wait; assume the default and amend it (clicks); or, for agents, "
    "hold everything until the decision closes.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0, min_open=True),
    help="Fit an agent, whose decisions close after so many seconds; needs --features.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("policy.npz"),
    show_default=True,
    help="Where the result goes; driftbandits.load reads a policy, Agent.load an agent.",
)
def fit(
    policies: tuple[str, ...], rule: Rule, wait: float | None, out: Path, **options: Any
) -> None:
    """A policy or an agent that has learned the log, equal to having lived through it."""
    if len(policies) != 1 or is_fixed(policies[0]):
        raise click.UsageError("fit needs one --policy that learns, such as D-LinUCB")
    if wait is None and rule == "hold":
        raise click.UsageError("rule hold is for agents: give --wait and --features")
    log, features = open_log(options), features_of(options["features"])
    with _console.status("what the log tells the policy"):
        policy = candidate(
            log, policies[0], least_bound=0.0 if features is None else features.bound
        )
    with _bar("learning") as progress:
        if wait is None:
            resume = _part(out.parent, out.name)
            learned: Policy | Agent = log.fit(policy, rule=rule, resume=resume, progress=progress)
        elif features is None:
            raise click.UsageError("an agent needs --features, and --context where it has one")
        else:
            agent = Agent(
                features=features, policy=policy, wait=wait, rule=rule, default=log.schema.default
            )
            learned = log.fit(agent, progress=progress)
    learned.save(out)
    if isinstance(learned, Agent):
        click.echo(f"{learned.policy!r}")
        click.echo(f"agent: {out}, after {learned.decided:,} decisions, {learned.open:,} open")
    else:
        click.echo(f"{learned!r}")
        click.echo(f"policy: {out}, at round {learned.round:,}")


@log_group.command()
@reading
@_POLICY
@_PERIOD
@_LEARN
@_SHARE
@_SIMULATIONS
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("log-report.html"),
    show_default=True,
    help="Where the page goes.",
)
def report(
    policies: tuple[str, ...],
    period: str,
    learn: str,
    share: float | None,
    simulations: int,
    out: Path,
    **options: Any,
) -> None:
    """One page with all answers: health, drift, memory, values, and what cannot be answered."""
    log, refused = open_log(options), list[str]()

    def asked(words: str, question: Callable[[Report], Any]) -> Any:
        try:
            with _bar(words) as progress:
                return question(progress)
        except CannotAnswer as error:
            refused.append(f"{words}: {error}")
            return None

    health = asked("checking", lambda p: log.check(period=period, progress=p))
    drifting = asked("drift", lambda p: log.drift(simulations=simulations, progress=p))
    remembered = asked("memory", lambda p: log.memory(progress=p))
    names = policies or ("uniform",)
    # What one kind of policy cannot be told, the other may.
    kinds = [tuple(n for n in names if is_fixed(n) is fixed) for fixed in (True, False)]
    values: list[Value] = []
    for kind in filter(None, kinds):
        question = partial(_answered, log, kind, period, learn, share)
        values += asked(f"values of {', '.join(kind)}", question) or []
    title = f"Log {options['file'].name}"
    from .figures.log_report import LogReport, write_log_report

    page = LogReport(title, health, drifting, remembered, values, refused)
    click.echo(f"report: {write_log_report(page, out)}")
