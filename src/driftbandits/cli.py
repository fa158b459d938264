"""The command line: reproduce the paper, run experiments of one's own, draw the report."""

from __future__ import annotations

import os
import runpy
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from . import experiments
from ._version import __version__
from .cli_compile import compile_policies
from .cli_errors import errors_of, exit_codes
from .cli_journal import journal_group
from .cli_log import log_group
from .cli_service import CONTEXT, SERVICE_COMMANDS
from .experiments import BUILT_IN, Experiment, SettingsError
from .experiments.parsing import labels_of
from .experiments.standings_text import markdown
from .policies import registered
from .simulation import Result, ResultFileError, is_result, warm_up

_console = Console(stderr=True)
_COLUMNS = (
    TextColumn("{task.description}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
)


def main() -> None:
    """Run the command line: 0 done, 1 failed, 2 wrong usage or input, 130 interrupted."""
    with exit_codes():
        cli(standalone_mode=False)


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="driftbandits")
def cli() -> None:
    """Linear bandits whose payoffs drift.

    \b
    Examples:
      driftbandits reproduce all                      every experiment of the paper, and the report
      driftbandits reproduce abrupt --replications 20 --set environment.noise.level=0.5
      driftbandits run my-experiment.toml --out results
      driftbandits leaderboard --environment abrupt --environment slow
      driftbandits log report my-log.parquet          does it drift, what would have been earned
      driftbandits serve                              decisions over HTTP, with a policy to try
      driftbandits compile AdaptiveLinUCB             so that no later start waits for the compiler
      driftbandits policies
    """


for _command in (log_group, journal_group, *SERVICE_COMMANDS, compile_policies):
    cli.add_command(_command)


class _Whole(click.IntRange):
    """An integer of 64 bits, as in TOML files, of at least ``min``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number >= 2**63:
            self.fail(f"{number} must be an integer of 64 bits", param, ctx)
        return number


_Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _running_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that `reproduce` and `run` share."""
    positive = _Whole(min=1)
    options: Sequence[_Decorator] = (
        click.option("--replications", type=positive, help="Independent repetitions."),
        click.option("--horizon", type=positive, help="Rounds of a repetition."),
        click.option("--seed", type=_Whole(min=0), help="Names all random numbers."),
        click.option("--workers", type=positive, help="Threads; changes no number."),
        click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path("results"),
            show_default=True,
            help="Where results, figures and the report go.",
        ),
        click.option(
            "--data",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Your copy of Criteo's attribution log (Criteo); a stand-in is made without it.",
        ),
        click.option(
            "--policy",
            "names",
            multiple=True,
            help="Only this policy, by its label or the name of its class; repeatable.",
        ),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override any setting: a dotted key and a TOML value; repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@click.argument("experiment", type=click.Choice([*BUILT_IN, "all"]), default="all")
@_running_options
def reproduce(experiment: str, **options: Any) -> None:
    """Run the paper's experiments, and write results, figures and a report.

    Interrupted, the same command goes on with what is missing; complete results are not computed
    again.

    \b
    Examples:
      driftbandits reproduce all
      driftbandits reproduce slow --replications 20 --policy D-LinUCB --policy LinUCB
      driftbandits reproduce criteo --data criteo_attribution_dataset.tsv.gz
    """
    for name in BUILT_IN if experiment == "all" else (experiment,):
        settings, chosen = experiments.built_in(name), options
        if experiment == "all" and not experiments.takes_data(settings):
            chosen = {**options, "data": None}
        _run(_configured(settings, chosen), f"reproduce {name}", chosen)
    _report(options["out"])


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_running_options
def run(file: Path, **options: Any) -> None:
    """Run an experiment of your own, from a TOML or a Python FILE.

    A TOML file has the settings of the built-in experiments; a Python file defines `experiment`,
    a driftbandits.experiments.Experiment. An error in it is shown with its line.

    \b
    Examples:
      driftbandits run my-experiment.toml
      driftbandits run my_experiment.py --replications 500 --out results
    """
    with errors_of(file):
        if file.suffix == ".py":
            built = _from_python(file, options)
        else:
            built = _configured(experiments.read(file), options)
        _run(built, f"run {file.name}", options)
    _report(options["out"])


@cli.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Draw the figures and the report of the results in FOLDER anew.

    \b
    Example:
      driftbandits report results
    """
    from .figures import draw  # here, as below: it loads matplotlib, a fourth of the start

    results, damaged = _load_results(folder)
    for name, result in results.items():
        draw(result, folder / name / "figures")
    _write_report(folder, results, damaged)


@cli.command()
@click.option("--replications", type=_Whole(min=1), default=100, show_default=True)
@click.option("--seed", type=_Whole(min=0), default=0, show_default=True)
@click.option("--workers", type=_Whole(min=1), help="Threads; changes no number.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where the folder `leaderboard` goes.",
)
@click.option(
    "--environment",
    "environments",
    multiple=True,
    metavar="NAME|FILE",
    help="Only this environment of the suite, or one of your own from a TOML file; repeatable.",
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
    """Play every policy in a suite of environments, and print how they stand.

    Regret is relative to the best fixed discount in hindsight, and to D-LinUCB with the best
    discount and radius ("tuned twice"). Interrupted, the same command goes on with what is missing.

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


@cli.command()
def policies() -> None:
    """List the policies, one line each."""
    offered = registered()
    width = max(map(len, offered))
    for name, policy in offered.items():
        click.echo(f"{name:{width}}  {policy.__name__}: {policy.summary}")


def _configured(settings: dict[str, Any], options: dict[str, Any]) -> Experiment:
    """The experiment of the settings, with the command line's overrides."""
    for item in options["overrides"]:
        key, separator, text = item.partition("=")
        if not separator:
            raise SettingsError(f"--set needs KEY=VALUE, got {item!r}")
        settings = experiments.override(settings, key.strip(), _toml_value(text))
    for key in ("replications", "horizon", "seed"):
        if options[key] is not None:
            settings = experiments.override(settings, key, options[key])
    if options["data"] is not None and not experiments.takes_data(settings):
        _refuse_data(f"{settings.get('name', 'this experiment')} has another")
    # Tuning and loading data may take a while; say what is being waited for.
    with _console.status(f"{settings.get('name', '')}: preparing the environment"):
        built = experiments.build(settings, data=options["data"], cache=options["out"] / "data")
    return _only(built, options["names"])


def _from_python(file: Path, options: dict[str, Any]) -> Experiment:
    if options["overrides"]:
        raise SettingsError("--set works on TOML files; a Python file sets its own values")
    if options["data"] is not None:
        _refuse_data("a Python file reads its own")
    sys.path.insert(0, str(file.resolve().parent))  # as Python does for a script
    built = runpy.run_path(str(file)).get("experiment")
    if not isinstance(built, Experiment):
        raise SettingsError(f"{file} must define `experiment`, an Experiment; got {built!r}")
    for key in ("replications", "seed"):
        if options[key] is not None:
            built = replace(built, **{key: options[key]})
    if options["horizon"] is not None:
        built = replace(built, environment=replace(built.environment, horizon=options["horizon"]))
    return _only(built, options["names"])


def _refuse_data(why: str) -> NoReturn:
    """Data that would be ignored: whoever names a file believes that it is read."""
    message = f"--data is read by environments of kind criteo alone; {why}"
    raise click.UsageError(message, ctx=click.get_current_context())


def _only(built: Experiment, names: tuple[str, ...]) -> Experiment:
    if not names:
        return built
    classes = {label: type(policy) for label, policy in built.policies.items()}
    chosen = [label for name in names for label in labels_of(name, classes)]
    return replace(built, policies={label: built.policies[label] for label in chosen})


def _toml_value(text: str) -> Any:
    """A TOML value; what is not one is taken as a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _run(built: Experiment, command: str, options: dict[str, Any]) -> None:
    """Run an experiment with a progress bar, and draw its figures."""
    out: Path = options["out"]
    built = replace(built, about={**built.about, "command": _repeating(command, options)})
    waiting = "compiling; the first run on a machine takes a while, later ones do not"
    with _console.status(f"{built.name}: {waiting}"):
        _compile(built)
    with _progress_bar(built.name) as advance:
        result = built.run(out, workers=options["workers"], progress=advance)
    with _console.status(f"{built.name}: drawing"):
        from .figures import draw

        draw(result, out / built.name / "figures")
    _print_summary(built, result)


def _compile(built: Experiment) -> None:
    try:
        warm_up(built.environment, built.policies)
    except RuntimeError as error:
        # An interruption inside the compiler is swallowed there and comes out as this.
        if "no compiled object" in str(error):
            raise click.Abort from None
        raise


def _repeating(command: str, options: dict[str, Any]) -> str:
    """The command that gives the same numbers: where they go and how many threads do not matter."""
    words = ["driftbandits", *command.split()]
    for key in ("replications", "horizon", "seed", "data"):
        if options[key] is not None:
            words += [f"--{key}", str(options[key])]
    for flag, key in (("--policy", "names"), ("--set", "overrides")):
        for value in options[key]:
            words += [flag, value]
    return shlex.join(words)


def _print_summary(built: Experiment, result: Result) -> None:
    over = f"over {result.replications} replications"
    if built.coverage:
        table = result.coverage_frame()
        click.echo(f"{built.name}: share of confidence sets that cover, {over}")
        click.echo(table[table["round"] == result.horizon].to_string(index=False))
    else:
        click.echo(f"{built.name}: final regret {over}")
        table, groups = result.summary().round(1), built.about.get("groups", {})
        for group, rows in table.groupby(table["policy"].map(lambda label: groups.get(label, ""))):
            if group:
                click.echo(f"{group}:")
            click.echo(rows.to_string(index=False))


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    with Progress(*_COLUMNS, console=_console) as bar:
        task = bar.add_task(f"{name}: replications", total=None)
        started = False

        def advance(done: int, total: int) -> None:
            nonlocal started
            if not started and done:
                bar.console.print(f"{name}: {done} of {total} replications were there already")
            started = True
            bar.update(task, completed=done, total=total)

        yield advance


def _environments(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of environments of the suite, or from files."""
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
    with Progress(*_COLUMNS, console=_console) as bar:
        task = bar.add_task("preparing, compiling", total=None)
        yield lambda label, done, total: bar.update(
            task, description=label, completed=done, total=total
        )


def _report(out: Path) -> None:
    _write_report(out, *_load_results(out))


def _write_report(out: Path, results: dict[str, Result], damaged: dict[str, str]) -> None:
    with _console.status("writing the report"):
        from .figures import write_report

        path = write_report(results, out / "report.html", damaged=damaged)
    click.echo(f"report: {os.fspath(path)}")


def _load_results(out: Path) -> tuple[dict[str, Result], dict[str, str]]:
    """The results in a folder, and why others cannot be read; both by the names of their folders.

    The built-in experiments come first.
    """
    order = {name: index for index, name in enumerate(BUILT_IN)}
    names = [path.name for path in out.iterdir() if path.is_dir() and is_result(path)]
    results: dict[str, Result] = {}
    damaged: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (order.get(name, len(order)), name)):
        try:
            results[name] = Result.load(out / name)
        except (ResultFileError, OSError) as error:
            damaged[name] = str(error)
            click.secho(f"warning: {error}; it is left out of the report", fg="yellow", err=True)
    if not results:
        raise ResultFileError(f"{out} holds no results" + (" that can be read" if damaged else ""))
    return results, damaged
