"""The tables of README.md: their content and their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies.front_page import BEGIN, END, FILES, replaced, tables

from driftbandits.experiments import built_in
from driftbandits.simulation import Result
from test_intervals import result_of

PAGES = [(Path(__file__).parents[1] / file).read_text("utf-8") for file in FILES]


def results() -> dict[str, Result]:
    """Three policies, one of them separate; the last is missing in the second environment."""
    both = {}
    for name, labels in (("abrupt", "abc"), ("slow", "ab")):
        result = result_of(np.array([[10.0 * k, 10.0 * k + 2.0] for k in range(len(labels))]))
        config = {"groups": {"b": "told nothing"}, "published": {"a": 970}}
        changes = {"config": config, "policies": tuple(labels)}
        both[name] = Result(**{**vars(result), **changes})
    return both


def test_what_is_not_in_the_paper_has_a_table_of_its_own() -> None:
    assert tables(results()) == "\n".join(
        [
            "| Policy | abrupt changes | published | slow drift | published |",
            "| --- | --: | --: | --: | --: |",
            "| a | 1 ± 1 | 970 | 1 ± 1 | 970 |",
            "| c | 21 ± 1 |  |  |  |",
            "",
            "Told nothing:",
            "",
            "| Policy | abrupt changes | slow drift |",
            "| --- | --: | --: |",
            "| b | 11 ± 1 | 11 ± 1 |",
        ]
    )


@pytest.mark.parametrize("page", PAGES, ids=map(str, FILES))
def test_only_the_tables_of_a_page_change(page: str) -> None:
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    assert replaced(page, "new") == f"{before}{BEGIN}\n\nnew\n\n{END}{after}"
    with pytest.raises(ValueError, match="once"):
        replaced("no marks", "new")


@pytest.mark.parametrize("page", PAGES, ids=map(str, FILES))
def test_a_page_shows_every_policy_of_the_experiments(page: str) -> None:
    shown = page.split(BEGIN)[1].split(END)[0]
    for name in ("abrupt", "slow"):
        for value in built_in(name)["published"].values():
            assert f"| {value} " in shown
    papers, _, others = shown.partition("Told nothing; not in the paper:")
    assert "AdaptiveLinUCB" not in papers
    assert "| AdaptiveLinUCB | " in others
