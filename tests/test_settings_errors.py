"""Errors in settings name the table and the key as in the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from driftbandits.environments.criteo import CriteoFileError
from driftbandits.experiments import build, built_in, override
from driftbandits.experiments.parsing import SettingsError
from test_experiments import tiny

CUBE = {"kind": "clipped-cube", "dim": 2, "count": 5}
SPHERE = {"kind": "sphere", "dim": 2, "count": 1}


def with_actions(**actions: Any) -> dict[str, Any]:
    return override(tiny(), "environment.actions", actions)


@pytest.mark.parametrize("name", ["", "..", "../evil", "a/b", "/elsewhere", ".hidden", 3])
def test_a_name_cannot_lead_out_of_the_folder(name: Any) -> None:
    with pytest.raises(SettingsError, match="name must be"):
        build({**tiny(), "name": name})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            with_actions(kind="clipped-cube", dim=2, cout=5),
            "environment.actions: unknown key 'cout'; it takes dim, count",
        ),
        (
            with_actions(kind="clipped-cube", dim=2),
            "environment.actions: the key count is missing; it takes dim, count",
        ),
        (
            with_actions(**{**CUBE, "dim": 0}),
            "environment.actions: dim must be an integer of at least 1, got 0",
        ),
        (
            with_actions(kind="kronecker", arms=2, contexts={**SPHERE, "cout": 5}),
            "environment.actions.contexts: unknown key 'cout'; it takes dim, count",
        ),
        (
            with_actions(kind="kronecker", arms=0, contexts=SPHERE),
            "environment.actions: arms must be an integer of at least 1, got 0",
        ),
        (
            with_actions(kind="kronecker", arms=2),
            "environment.actions: the key contexts is missing; it takes contexts, arms",
        ),
        (
            with_actions(kind="cube"),
            "environment.actions.kind must be one of clipped-cube, sphere, catalogue, "
            "canonical-basis, kronecker, launches, with-intercept, in-units, got 'cube'",
        ),
        (
            with_actions(kind=["clipped-cube"]),
            "environment.actions.kind must be one of clipped-cube, sphere, catalogue, "
            "canonical-basis, kronecker, launches, with-intercept, in-units, got ['clipped-cube']",
        ),
        (
            override(tiny(), "policies", [{"policy": ["LinUCB"]}]),
            "policies: policy must be a string, got ['LinUCB']",
        ),
        (
            override(tiny(), "policies", [{"policy": "LinUCB", "label": ["a"]}]),
            "policies: a label must be a string, got ['a']",
        ),
        (
            override(tiny(), "policies", [{"policy": "LinUCB", "group": 3}]),
            "policies: a group must be a string, got 3",
        ),
        (
            with_actions(**{**CUBE, "dim": 3}),
            "environment: path and actions must have one dimension, got 2 and 3",
        ),
        (
            override(tiny(), "environment.path.change_points", 5),
            "environment.path: 'int' object is not iterable",
        ),
        (
            override(tiny(), "environment.delays", {"kind": "late"}),
            "environment.delays.kind must be one of fixed, geometric, missing, got 'late'",
        ),
        (
            override(tiny(), "environment.delays", {"kind": "missing", "share": 2.0}),
            "environment.delays: share must lie in (0, 1), got 2.0",
        ),
        (
            with_actions(kind="in-units", units=[1.0, 2.0], actions={**SPHERE, "dim": 0}),
            "environment.actions.actions: dim must be an integer of at least 1, got 0",
        ),
        (
            override(tiny(), "environment.path", {"kind": "with-level", "path": 3, "level": 4}),
            "environment.path.path must be a table, got 3",
        ),
        (override(tiny(), "environment.noise", 1.0), "environment.noise must be a table, got 1.0"),
        (
            override(tiny(), "environment.kind", "criteoo"),
            "environment.kind must be criteo or left out, got 'criteoo'",
        ),
        (
            override(built_in("criteo"), "environment.horizon", 9),
            "environment: unknown key 'horizon'; it takes dim, change_point, flipped, noise",
        ),
        (tiny(horizon=0), "horizon must be an integer of at least 1, got 0"),
        (tiny(problem=0.1), "problem must be a table, got 0.1"),
        (
            tiny(problem={"ridge": -1.0}),
            "problem: ridge must be a finite number above 0, got -1.0",
        ),
        (
            tiny(policies=[{"policy": "Random", "sead": 1}]),
            "policies.Random: unknown key 'sead'; it takes dim, action_bound, floor, seed",
        ),
        (
            tiny(policies=[{"policy": "D-LinUCB", "label": "mine", "gamma": 2.0}]),
            "policies.mine: gamma must lie in (0, 1), got 2.0",
        ),
        (tiny(policies="LinUCB"), "policies must be a list, got 'LinUCB'"),
        (tiny(policies=[1]), "each of policies must be a table, got 1"),
        (
            tiny(colour=3),
            "unknown setting(s): colour; the settings are name, title, description, horizon, "
            "replications, seed, rounds, coverage, environment, problem, policies, published",
        ),
        (tiny(published=970), "published must be a table of one number per policy, got 970"),
        (
            tiny(published={"LinUCB": "4150"}),
            "published: LinUCB must be a finite number, got '4150'",
        ),
        (
            tiny(published={"LinUCB": float("nan")}),
            "published: LinUCB must be a finite number, got nan",
        ),
        (tiny(description=3), "description must be text, got 3"),
        (tiny(replications="ten"), "replications must be an integer of at least 1, got 'ten'"),
        (tiny(coverage="yes"), "coverage must be true or false, got 'yes'"),
        (
            tiny(coverage=True, policies=["LinUCB", "Random"]),
            "coverage must be asked of policies that check it, not of 'Random'",
        ),
        (
            tiny(policies=[{"policy": "LinUCB", "dim": 3}]),
            "LinUCB must have dim = 2, as the environment has, got 3",
        ),
        (tiny(seed=2**63), f"seed must be an integer of 64 bits, got {2**63}"),
        (tiny(horizon=10**30), f"horizon must be an integer of 64 bits, got {10**30}"),
        (
            override(tiny(), "environment.noise.level", 10**400),
            f"environment.noise.level must be an integer of 64 bits, got {10**400}",
        ),
        (
            override(tiny(), "environment.path.change_points", [20, 2**64]),
            f"environment.path.change_points must be an integer of 64 bits, got {2**64}",
        ),
        (
            tiny(policies=[{"policy": "SW-LinUCB", "window": -(2**63) - 1}]),
            f"policies.window must be an integer of 64 bits, got {-(2**63) - 1}",
        ),
    ],
)
def test_errors_name_the_table_and_the_key(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        build(settings)


def test_a_policy_may_be_named_by_its_class() -> None:
    experiment = build(tiny(policies=["DLinUCB", {"policy": "SWLinUCB", "label": "mine"}]))
    assert list(experiment.policies) == ["D-LinUCB", "mine"]


def test_data_that_cannot_be_read_are_no_error_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "foreign.tsv.gz"
    file.write_text("not a gzip file")
    with pytest.raises(CriteoFileError, match=r"foreign\.tsv\.gz"):
        build(built_in("criteo"), data=file)
