"""The options of ``driftbandits log``: for opening a log, and those that several commands share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pandas as pd

from .features import FeatureError, Features
from .logs import Catalogue, Log, LogError, Schema

Command = Callable[..., None]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

PERIOD = click.option(
    "--period",
    default="auto",
    show_default=True,
    metavar="day|week|hour|HOURS|auto",
    help="Length of the periods in the answer.",
)
POLICY = click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="A fixed policy (uniform, action:NAME, column:NAME, shares:FILE.csv, frozen:FILE.npz) or "
    "one that learns (D-LinUCB, or D-LinUCB:gamma=0.99,noise=0.3); repeatable.",
)
SIMULATIONS = click.option(
    "--simulations",
    type=click.IntRange(min=59),
    default=199,
    show_default=True,
    help="Number of simulated stationary logs.",
)
CLOCK = click.option(
    "--clock",
    type=click.Choice(["decisions", "hours"]),
    default="decisions",
    show_default=True,
    help="Whether memories fade with decisions or with hours.",
)
LEARN = click.option(
    "--learn",
    type=click.Choice(["accepted", "all"]),
    default="accepted",
    show_default=True,
    help="Rows that learning policies learn from: accepted rows, as if they had decided; or all "
    "rows, as if they had watched.",
)
SHARE = click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share c of rows to accept; by default the least propensity.",
)
PROPENSITIES = click.option(
    "--propensities",
    type=click.Choice(["logged", "estimated"]),
    default="logged",
    show_default=True,
    help="Estimated propensities are right only if the logger ignored contexts.",
)


def reading(command: Command) -> Command:
    """The argument and the options with which every command opens a log."""
    options = (
        click.argument("file", type=_FILE),
        click.option("--schema", type=_FILE,
                     help="TOML file with the fields of driftbandits.logs.Schema."),
        click.option("--kind", type=click.Choice(["parquet", "csv", "jsonl", "arrow", "dsjson"]),
                     help="Format, if the file's extension does not show it."),
        click.option("--time", help="Column: time of the decision."),
        click.option("--actions", help="Column: the offered actions."),
        click.option("--chosen", help="Column: the played action, by index or name."),
        click.option("--action", multiple=True,
                     help="Columns, or their common prefix: the played vector, if the set is not "
                     "logged."),
        click.option("--context", multiple=True, help="Columns of the context; repeatable."),
        click.option("--arms", help="Number or comma-separated names of arms, with one parameter "
                     "per arm."),
        click.option("--propensity", help="Column: probability of the played action."),
        click.option("--reward", help="Column: reward."),
        click.option("--reward-time", help="Column: when the reward came."),
        click.option("--count", help="Column: number of decisions that a row stands for."),
        click.option("--total", is_flag=True, help="The reward is a sum over `count` decisions."),
        click.option("--id", help="Column: name of a decision."),
        click.option("--dim", type=int, help="Length of a vector in flat lists."),
        click.option("--unit", help="Unit of numeric times: ns, us, ms, s or h."),
        click.option("--mature-after", type=float,
                     help="Hours after which a missing reward means the default."),
        click.option("--default", type=float, help="Value of a missing reward after this time."),
        click.option("--reward-bounds", type=(float, float),
                     help="Least and largest possible reward; anytime intervals need them."),
        click.option("--catalogue", type=_FILE,
                     help="CSV or Parquet with columns set, action and one per coordinate."),
        click.option("--features", type=_FILE,
                     help="Declaration of features, as JSON."),
        click.option("--drop", is_flag=True,
                     help="Drop bad rows and report them, instead of stopping."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


_FIELDS = (
    "time", "actions", "chosen", "propensity", "reward", "reward_time", "count", "id", "dim",
    "unit", "mature_after", "default", "reward_bounds",
)  # fmt: skip


def open_log(options: dict[str, Any]) -> Log:
    """The log that the options describe; options override the schema file."""
    settings: dict[str, Any] = {}
    if options["schema"] is not None:
        settings = _toml(options["schema"])
        lists = {key: tuple(v) for key, v in settings.items() if isinstance(v, list)}
        settings |= lists
    settings |= {name: options[name] for name in _FIELDS if options[name] is not None}
    if options["total"]:
        settings["total"] = True
    for name in ("action", "context"):
        if options[name]:
            settings[name] = options[name][0] if len(options[name]) == 1 else options[name]
    if options["arms"] is not None:
        arms = options["arms"]
        settings["arms"] = int(arms) if arms.isdigit() else tuple(arms.split(","))
    unknown = [name for name in settings if name not in {f.name for f in fields(Schema)}]
    if unknown:
        raise LogError(f"a schema has no field {unknown[0]!r}; see driftbandits.logs.Schema")
    try:
        schema = Schema(**settings)
    except (TypeError, ValueError) as error:
        raise LogError(str(error)) from None
    return Log.open(
        options["file"],
        schema,
        kind=options["kind"],
        catalogue=_catalogue(options["catalogue"]),
        features=features_of(options["features"]),
        on_bad="drop" if options["drop"] else "stop",
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise LogError(f"{path} is not a TOML file: {error}") from None


def features_of(path: Path | None) -> Features | None:
    """The declaration in a JSON file; None without a path."""
    if path is None:
        return None
    try:
        return Features.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, FeatureError) as error:
        raise LogError(f"{path} is not a declaration of features: {error}") from None


def _catalogue(path: Path | None) -> Catalogue | None:
    if path is None:
        return None
    try:
        frame = pd.read_parquet(path) if path.suffix in (".parquet", ".pq") else pd.read_csv(path)
    except (ValueError, OSError) as error:  # a damaged or an empty file
        raise LogError(f"{path} cannot be read as a catalogue: {error}") from None
    if not {"set", "action"} <= set(frame.columns):
        raise click.UsageError(f"{path} must have the columns set and action")
    coordinates = [name for name in frame.columns if name not in ("set", "action")]
    sets: dict[Any, dict[str, Any]] = {}
    for row in frame.to_dict("records"):
        sets.setdefault(row["set"], {})[str(row["action"])] = [row[name] for name in coordinates]
    try:
        return Catalogue(sets)
    except (ValueError, TypeError) as error:
        raise LogError(f"{path}: {error}") from None
