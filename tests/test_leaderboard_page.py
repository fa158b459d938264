"""The page of the leaderboard: its environments are the suite's, its tables those of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies.leaderboard_page import (
    ADAPTIVE,
    CHOOSING,
    PAGE,
    PICTURES,
    environments,
    marks,
    ours,
    policies,
    written,
)

from driftbandits.experiments import run_leaderboard, suite
from driftbandits.experiments.suites import GROUPS, SUITE
from driftbandits.policies import Random, registered

HERE = Path(__file__).parents[1]
TEXT = (HERE / PAGE).read_text("utf-8")


def part(name: str, page: Path = PAGE) -> str:
    begin, end = marks(name).values()
    return (HERE / page).read_text("utf-8").split(begin)[1].split(end)[0].strip()


def test_the_environments_are_described_in_their_own_words() -> None:
    assert part("environments") == environments()


def test_every_environment_and_every_policy_is_in_the_tables() -> None:
    lines = part("standings").splitlines()
    # Regrets and two tables of ratios.
    for name in SUITE:
        assert sum(line.startswith(f"| {name} |") for line in lines) == 3, name
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings == ["All environments", *GROUPS]
    for label in registered():
        assert sum(line.startswith(f"| {label} |") for line in lines) == 1 + len(GROUPS), label


def test_only_what_is_marked_changes() -> None:
    changed = written(TEXT, {"standings": "## New\n"})
    begin, end = marks("standings").values()
    assert changed.split(begin)[0] == TEXT.split(begin)[0]
    assert changed.split(end)[1] == TEXT.split(end)[1]
    assert changed.split(begin)[1].split(end)[0].strip() == "## New"
    with pytest.raises(ValueError, match="once"):
        written("no marks", {"standings": "## New\n"})


def test_the_other_pages_show_everyone_and_everything() -> None:
    lines = part("policies", CHOOSING).splitlines()
    for label, policy in registered().items():
        if policy is not Random:
            assert sum(line.startswith(f"| {label} | {policy.__name__} |") for line in lines) == 1
    shown = [
        line.split(" | ")[0].removeprefix("| ") for line in part("suite", ADAPTIVE).splitlines()
    ]
    assert tuple(shown[2:]) == SUITE


def test_tables_of_a_run(tmp_path: Path) -> None:
    chosen = {name: {**suite()[name], "horizon": 300} for name in ("slow", "launches")}
    run_leaderboard(
        tmp_path, replications=2, environments=chosen, policies=["AdaptiveLinUCB", "LinUCB"]
    )
    scores: Any = pd.read_csv(tmp_path / "leaderboard.csv")
    by = scores.set_index(["policy", "environment"])
    lines = policies(scores.fillna({"told": ""})).splitlines()
    assert lines[0].startswith("| Policy | Class | Told | Drift: best fixed | worst |")
    row = next(line for line in lines if line.startswith("| LinUCB |")).split(" | ")
    assert row[3] == f"{by.loc[('LinUCB', 'slow'), 'ratio']:.2f}"
    assert row[9] == f"{by.loc[('LinUCB', 'launches'), 'twice']:.2f}"
    last = ours(scores).splitlines()[-1].split(" | ")
    mine = by.loc[("AdaptiveLinUCB", "launches")]
    assert last[0] == "| launches"
    assert last[1] == f"{mine['regret']:.1f} ± {mine['se']:.1f}"
    assert float(last[2]) == pytest.approx(mine["regret"] / mine["ratio"], abs=0.05001)
    assert float(last[5]) == pytest.approx(mine["regret"] / mine["twice"], abs=0.05001)


def test_the_pictures_are_there() -> None:
    for name in PICTURES:
        assert f"]({name})" in TEXT
        assert (HERE / PAGE.parent / name).stat().st_size > 10_000
