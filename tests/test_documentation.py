"""What the pages say of the code, where an example cannot show it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from driftbandits import experiments
from driftbandits.policies.weighted.family import WeightedPolicy, initial_state

ROOT = Path(__file__).parents[1]
PAGES = {str(p.relative_to(ROOT)): p for p in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]}
PUBLIC = (
    "driftbandits",
    "driftbandits.environments",
    "driftbandits.events",
    "driftbandits.experiments",
    "driftbandits.features",
    "driftbandits.figures",
    "driftbandits.logs",
    "driftbandits.policies",
    "driftbandits.service",
    "driftbandits.simulation",
    "driftbandits.testing",
)


def page(name: str) -> str:
    """The text of a page, by its place in docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def examples(text: str) -> str:
    """The code that the prompts of a page hold."""
    lines = [line[4:] for line in text.splitlines() if line[:4] in (">>> ", "... ")]
    return "\n".join(lines)


# To add a policy one imports what the package is made of.
@pytest.mark.parametrize("name", [name for name in PAGES if "adding-a-policy" not in name])
def test_examples_import_public_names_alone(name: str) -> None:
    for node in ast.walk(ast.parse(examples(PAGES[name].read_text("utf-8")))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("driftbandits"):
            assert node.module in PUBLIC, f"{node.module} is not a public package"
            offered = importlib.import_module(node.module).__all__
            packages = [public.rpartition(".")[2] for public in PUBLIC]
            for imported in node.names:
                assert imported.name in (*offered, *packages)


def test_the_architecture_has_the_layers_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    checked = [layer.replace("driftbandits.", "") for layer in contract["layers"]]
    block = re.search(r"```text\n(__main__.*?)```", page("explanation/architecture.md"), re.S)
    assert block is not None
    shown = [re.split(r"\s{2,}", line)[0] for line in block[1].splitlines()]
    assert shown == checked


def test_the_files_that_pages_name_exist() -> None:
    for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|toml))`", page("explanation/architecture.md")):
        places = [ROOT, ROOT / "src" / "driftbandits"]
        assert any((place / name).exists() for place in places), name


def test_the_guide_names_every_option_of_the_family() -> None:
    text = page("how-to/adding-a-policy.md")
    for function in (WeightedPolicy._parameters_with, initial_state):
        for option in inspect.signature(function).parameters:
            assert option == "self" or f"`{option}`" in text, option


def test_numbers_in_the_text_on_successors_are_those_of_its_tables() -> None:
    text = page("explanation/successors.md")
    table = set(re.findall(r"\d+\.\d(?= ±)", text))
    compared = re.findall(r"\d+(?:\.\d+)? against \d+(?:\.\d+)?", text)
    numbers = [number for pair in compared for number in pair.split(" against ")]
    assert len(numbers) > 10
    assert set(numbers) <= table


def test_blocks_are_as_long_as_the_page_says() -> None:
    (most,) = re.findall(r"blocks of at most ([\d,]+) rounds", page("how-to/simulation.md"))
    environment = experiments.build(experiments.built_in("coverage")).environment
    blocks = environment.blocks(seed=0, replication=0)
    assert next(blocks).rounds == int(most.replace(",", ""))
