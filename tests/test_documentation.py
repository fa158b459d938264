"""Statements of the pages about the code that an example cannot test."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from driftbandits import experiments
from driftbandits.policies import registry
from driftbandits.policies.weighted.family import WeightedPolicy
from driftbandits.policies.weighted.state import initial_state
from driftbandits.testing import ContractError, check_policy

ROOT = Path(__file__).parents[1]
PAGES = {str(p.relative_to(ROOT)): p for p in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]}
PUBLIC = (
    "driftbandits",
    "driftbandits.agent",
    "driftbandits.client",
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
    """The text of a page, by its path in docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def examples(text: str) -> str:
    """The code after the prompts of a page."""
    lines = [line[4:] for line in text.splitlines() if line[:4] in (">>> ", "... ")]
    return "\n".join(lines)


# Pages about adding a policy may import internal modules.
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


FRONT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


@pytest.mark.parametrize("name", FRONT)
def test_links_lead_somewhere(name: str) -> None:
    """Files, and the headings in them; Sphinx checks the links between its own pages."""
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)
    for link in links:
        file, _, heading = link.partition("#")
        target = ROOT / (file or name)
        assert target.exists(), link
        if heading:
            titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.M)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, link


def test_pages_that_the_code_names_exist() -> None:
    folders = ("src", "tests", "benchmarks", "studies")
    files = [*(p for f in folders for p in (ROOT / f).rglob("*.py")), *(ROOT / n for n in FRONT)]
    for file in files:
        for name in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text("utf-8")):
            assert (ROOT / name).exists(), f"{file.name} names {name}"


REFERENCED = (
    *PUBLIC,
    "driftbandits.theory.bounds",
    "driftbandits.theory.tuning",
)


@pytest.mark.parametrize("module", REFERENCED)
def test_the_reference_has_every_public_name(module: str) -> None:
    """Under the module that exports it, or under another that exports the same object."""
    text = "\n".join(p.read_text("utf-8") for p in (ROOT / "docs" / "reference").glob("*.md"))
    entries = re.findall(r"auto(?:class|function|data|exception)::\s*(\S+)", text)
    for name in re.findall(r"automodule:: (\S+)\n +:members:\n", text):
        entries += [f"{name}.{item}" for item in offered_by(importlib.import_module(name))]
    described = [id(resolved(entry)) for entry in entries]
    package = importlib.import_module(module)
    for name in offered_by(package):
        item = getattr(package, name)
        if not inspect.ismodule(item):
            assert f"{module}.{name}" in entries or id(item) in described, f"{module}.{name}"


def offered_by(package: ModuleType) -> list[str]:
    """The names in a module's ``__all__``, or else the functions and classes that it defines."""
    if hasattr(package, "__all__"):
        return list(package.__all__)
    return [
        name
        for name, item in vars(package).items()
        if not name.startswith("_") and getattr(item, "__module__", None) == package.__name__
    ]


def resolved(entry: str) -> object:
    """The object that an entry of the reference names."""
    module, _, name = entry.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_pages_that_docstrings_name_exist() -> None:
    named = re.compile(r"docs/[\w./-]+\.md")
    missing = [
        f"{path.relative_to(ROOT)}: {page}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for page in named.findall(path.read_text("utf-8"))
        if not (ROOT / page).is_file()
    ]
    assert missing == []


def test_the_guide_shows_what_the_contract_says_of_its_policy_without_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page("how-to/adding-a-policy.md")
    whole = re.search(r'```python title="epsilon_greedy\.py"\n(.*?)```', text, re.S)
    shown = re.search(r"```text\nContractError: (.*?)```", text, re.S)
    assert whole is not None
    assert shown is not None
    # A registry of its own: other tests look at who is registered.
    monkeypatch.setattr(registry, "_REGISTRY", {})
    broken = whole[1].replace("weight = p.gamma**age", "weight = 1.0", 1)
    assert broken != whole[1]
    (tmp_path / "without_age.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    policy = importlib.import_module("without_age").EpsilonGreedy(dim=3, gamma=0.9)
    with pytest.raises(ContractError) as caught:
        check_policy(policy)
    assert str(caught.value) == shown[1].strip()
