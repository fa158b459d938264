"""Settings: read a TOML file, apply overrides, build an experiment."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ..core.arrays import whole
from ..environments import Environment
from ..policies import Policy, Problem, registered
from .as_published import DLinUCBAsPublished
from .criteo import criteo_environment
from .experiment import Experiment, check_name, logarithmic_rounds
from .kinds import PARTS, part
from .parsing import (
    SettingsError,
    check_integers,
    check_keys,
    errors_at,
    labels_of,
    make,
    table_at,
)

Settings = dict[str, Any]

BUILT_IN = ("abrupt", "slow", "criteo", "coverage")

_KEYS = (
    "name",
    "title",
    "description",
    "horizon",
    "replications",
    "seed",
    "rounds",
    "coverage",
    "environment",
    "problem",
    "policies",
    "published",
)


def built_in(name: str) -> Settings:
    """The settings of one of the paper's experiments, or of the coverage experiment."""
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def read(path: Path) -> Settings:
    """Settings from a user's TOML file; the default of ``name`` is the name of the file."""
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    return {"name": path.stem, **settings}


def override(settings: Settings, key: str, value: Any) -> Settings:
    """Settings with the value at a dotted ``key`` replaced."""
    head, _, rest = key.partition(".")
    if not rest:
        return {**settings, head: value}
    inner = settings.get(head, {})
    if not isinstance(inner, dict):
        raise SettingsError(f"{key}: {head} is not a table")
    return {**settings, head: override(inner, rest, value)}


def takes_data(settings: Settings) -> bool:
    """Whether the experiment reads the Criteo log; only then does `build` use ``data``."""
    environment = settings.get("environment")
    return isinstance(environment, dict) and environment.get("kind") == "criteo"


def build(settings: Settings, *, data: Path | None = None, cache: Path | None = None) -> Experiment:
    """The experiment that settings describe.

    ``data`` is the user's copy of the Criteo log. Without it, a stand-in is made in ``cache``.
    """
    environment, problem, facts = prepare(settings, data=data, cache=cache)
    policies, groups = _policies(settings, problem)
    description = settings.get("description", "")
    with errors_at(""):
        return Experiment(
            name=settings["name"],
            title=str(settings.get("title", settings["name"])),
            environment=environment,
            policies=policies,
            replications=settings.get("replications", 100),
            seed=settings.get("seed", 0),
            regret_rounds=_rounds(settings, environment.horizon),
            coverage=settings.get("coverage", False),
            about={
                "description": description.strip() if isinstance(description, str) else description,
                "published": settings.get("published", {}),
                "problem": problem,
                **({"groups": groups} if groups else {}),
                **facts,
            },
        )


def prepare(
    settings: Settings, *, data: Path | None = None, cache: Path | None = None
) -> tuple[Environment, Problem, dict[str, Any]]:
    """The environment, the problem for tuning policies, and facts about the data."""
    unknown = sorted(settings.keys() - set(_KEYS))
    if unknown:
        raise SettingsError(
            f"unknown setting(s): {', '.join(unknown)}; the settings are {', '.join(_KEYS)}"
        )
    check_integers("", settings)
    horizon, seed = _need(settings, "horizon"), settings.get("seed", 0)
    with errors_at(""):
        check_name(_need(settings, "name"))
        # Checked here first, so that the message names the right place in the file.
        whole("horizon", horizon, least=1)
        whole("seed", seed, least=0, most=None)
    environment, facts = _environment(settings, horizon, seed, data, cache)
    return environment, _problem(settings, environment, seed, facts), facts


def _environment(
    settings: Settings, horizon: int, seed: int, data: Path | None, cache: Path | None
) -> tuple[Environment, dict[str, Any]]:
    """The environment, and facts about its data for the report."""
    table = table_at("environment", _need(settings, "environment"))
    if takes_data(settings):
        del table["kind"]
        known = {"horizon": horizon, "seed": seed, "data": data, "cache": cache}
        return make("environment", criteo_environment, table, **known)
    if "kind" in table:
        raise SettingsError(f"environment.kind must be criteo or left out, got {table['kind']!r}")
    check_keys("environment", Environment, table, known={"horizon"})
    parts = {
        name: part(f"environment.{name}", name, table[name]) for name in PARTS if name in table
    }
    return make("environment", Environment, parts, horizon=horizon), {}


def _problem(
    settings: Settings, environment: Environment, seed: int, facts: Mapping[str, Any]
) -> Problem:
    known = {
        "theta_bound": facts.get("data", {}).get("theta_norm", 1.0),
        "dim": environment.dim,
        "horizon": environment.horizon,
        "budget": environment.budget(seed=seed),
        "change_points": environment.change_points,
        "noise": environment.noise.level,
    }
    given = table_at("problem", settings.get("problem", {}))
    return make("problem", Problem, {**known, **given})


def _policies(settings: Settings, problem: Problem) -> tuple[dict[str, Policy], dict[str, str]]:
    """The policies by label, and the groups (by label) of policies that tables show separately."""
    policies: dict[str, Policy] = {}
    groups: dict[str, str] = {}
    entries = _need(settings, "policies")
    if not isinstance(entries, (list, tuple)):
        raise SettingsError(f"policies must be a list, got {entries!r}")
    for entry in entries:
        table = {"policy": entry} if isinstance(entry, str) else entry
        options = table_at("each of policies", table)
        name = options.pop("policy", None)
        if not isinstance(name, str):
            raise SettingsError(f"policies: policy must be a string, got {name!r}")
        (name,) = labels_of(name, _classes())
        label, group = options.pop("label", name), options.pop("group", "")
        if not isinstance(label, str):
            raise SettingsError(f"policies: a label must be a string, got {label!r}")
        if not isinstance(group, str):
            raise SettingsError(f"policies: a group must be a string, got {group!r}")
        if group:
            groups[label] = group
        if label in policies:
            raise SettingsError(f"two policies have the label {label!r}")
        policies[label] = _policy(name, f"policies.{label}", options, problem)
    if not policies:
        raise SettingsError("policies must not be empty")
    return policies, groups


def _policy(name: str, place: str, options: Settings, problem: Problem) -> Policy:
    """A policy with its documented tuning, except for the given options."""
    with errors_at("problem"):
        tuned = _classes()[name].tuned(problem)
    return make(place, type(tuned), {**tuned.config, **options})


def _classes() -> dict[str, type[Policy]]:
    """The policies that a file can name: registered policies, and D-LinUCB as published."""
    return {**registered(), DLinUCBAsPublished.label: DLinUCBAsPublished}


def _rounds(settings: Settings, horizon: int) -> tuple[int, ...]:
    spacing = settings.get("rounds", "even")
    if spacing == "even":
        return ()
    if spacing == "logarithmic":
        return logarithmic_rounds(horizon, 60)
    raise SettingsError(f"rounds must be 'even' or 'logarithmic', got {spacing!r}")


def _need(settings: Settings, key: str) -> Any:
    if key not in settings:
        raise SettingsError(f"the setting {key} is missing; the settings are {', '.join(_KEYS)}")
    return settings[key]
