"""The commands `reproduce`, `run` and `report`: run experiments, and draw their report."""

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
from rich.progress import Progress

from . import experiments
from .cli_errors import errors_of
from .cli_shared import PROGRESS_COLUMNS, Whole, console
from .experiments import BUILT_IN, Experiment, SettingsError
from .experiments.parsing import labels_of
from .simulation import Result, ResultFileError, is_result, warm_up

_Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _running_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that `reproduce` and `run` share."""
    positive = Whole(min=1)
    options: Sequence[_Decorator] = (
        click.option("--replications", type=positive, help="Independent repetitions."),
        click.option("--horizon", type=positive, help="Rounds per repetition."),
        click.option("--seed", type=Whole(min=0), help="Seed of all random numbers."),
        click.option(
            "--workers", type=positive, help="Number of threads; does not affect results."
        ),
        click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path("results"),
            show_default=True,
            help="Folder for results, figures and the report.",
        ),
        click.option(
            "--data",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Your copy of Criteo's attribution log (Criteo); by default a stand-in is made.",
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


@click.command()
@click.argument("experiment", type=click.Choice([*BUILT_IN, "all"]), default="all")
@_running_options
def reproduce(experiment: str, **options: Any) -> None:
    """Run the paper's experiments, and write results, figures and a report.

    After an interruption, the same command continues. Complete results are not computed again.

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


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_running_options
def run(file: Path, **options: Any) -> None:
    """Run your own experiment, from a TOML or a Python FILE.

    A TOML file has the same settings as the built-in experiments. A Python file defines
    `experiment`, a driftbandits.experiments.Experiment. An error in it is shown with its line.

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


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Draw the figures and the report of the results in FOLDER again.

    \b
    Example:
      driftbandits report results
    """
    from .figures import draw  # imported late: matplotlib takes a quarter of the start-up time

    results, damaged = _load_results(folder)
    for name, result in results.items():
        draw(result, folder / name / "figures")
    _write_report(folder, results, damaged)


def _configured(settings: dict[str, Any], options: dict[str, Any]) -> Experiment:
    """The experiment that the settings describe, with the overrides of the command line."""
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
    # Tuning and loading data may take a while, so show what is happening.
    with console.status(f"{settings.get('name', '')}: preparing the environment"):
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
    """Raise an error instead of ignoring the user's file."""
    message = f"--data is read only by environments of kind criteo; {why}"
    raise click.UsageError(message, ctx=click.get_current_context())


def _only(built: Experiment, names: tuple[str, ...]) -> Experiment:
    if not names:
        return built
    classes = {label: type(policy) for label, policy in built.policies.items()}
    chosen = [label for name in names for label in labels_of(name, classes)]
    return replace(built, policies={label: built.policies[label] for label in chosen})


def _toml_value(text: str) -> Any:
    """A TOML value; any other text is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _run(built: Experiment, command: str, options: dict[str, Any]) -> None:
    """Run an experiment with a progress bar, and draw its figures."""
    out: Path = options["out"]
    built = replace(built, about={**built.about, "command": _repeating(command, options)})
    waiting = "compiling; the first run on a machine takes a while, later ones do not"
    with console.status(f"{built.name}: {waiting}"):
        _compile(built)
    with _progress_bar(built.name) as advance:
        result = built.run(out, workers=options["workers"], progress=advance)
    with console.status(f"{built.name}: drawing"):
        from .figures import draw

        draw(result, out / built.name / "figures")
    _print_summary(built, result)


def _compile(built: Experiment) -> None:
    try:
        warm_up(built.environment, built.policies)
    except RuntimeError as error:
        # The compiler turns an interruption into this error.
        if "no compiled object" in str(error):
            raise click.Abort from None
        raise


def _repeating(command: str, options: dict[str, Any]) -> str:
    """The command that gives the same numbers, without --out and --workers."""
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
    with Progress(*PROGRESS_COLUMNS, console=console) as bar:
        task = bar.add_task(f"{name}: replications", total=None)
        started = False

        def advance(done: int, total: int) -> None:
            nonlocal started
            if not started and done:
                bar.console.print(f"{name}: {done} of {total} replications were there already")
            started = True
            bar.update(task, completed=done, total=total)

        yield advance


def _report(out: Path) -> None:
    _write_report(out, *_load_results(out))


def _write_report(out: Path, results: dict[str, Result], damaged: dict[str, str]) -> None:
    with console.status("writing the report"):
        from .figures import write_report

        path = write_report(results, out / "report.html", damaged=damaged)
    click.echo(f"report: {os.fspath(path)}")


def _load_results(out: Path) -> tuple[dict[str, Result], dict[str, str]]:
    """The readable results in a folder, and the reasons why others are not, by folder name.

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
