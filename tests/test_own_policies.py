"""Users' own policies in the simulator: which are accepted, and when one has changed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftbandits import LinUCB
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.simulation import simulate


def environment() -> Environment:
    return Environment(
        path=Rotation(angle=3.0, rounds=50),
        actions=ClippedCube(dim=2, count=5),
        noise=Gaussian(0.5),
        horizon=50,
    )


MINE = """
class Mine:
    def select(self, actions):
        return {}

    def update(self, action, reward):
        pass
"""


def type_in(text: str, names: dict[str, Any]) -> None:
    """Execute text like a Python prompt."""
    exec(text, names)  # noqa: S102


def _changes(make: Callable[[str], Callable[[int], Any]], folder: Path) -> bool:
    """Whether a changed policy is played again instead of being loaded."""
    first, second = (
        simulate(environment(), {"mine": make(choice)}, replications=2, folder=folder).final("mine")
        for choice in ("0", "1")
    )
    return bool((first != second).any())


def test_a_policy_in_another_module_is_noticed_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(choice: str) -> Callable[[int], Any]:
        (tmp_path / "module_of_mine.py").write_text(MINE.format(choice))
        sys.modules.pop("module_of_mine", None)
        module = importlib.import_module("module_of_mine")
        return lambda replication: module.Mine()

    assert _changes(make, tmp_path / "results")
    del sys.modules["module_of_mine"]


def test_a_policy_that_was_typed_is_noticed_to_change(tmp_path: Path) -> None:
    """As in a notebook: the class is redefined, but not the function that makes an object."""
    typed: dict[str, Any] = {"__name__": "notebook"}
    type_in("def make(replication): return Mine()", typed)

    def make(choice: str) -> Any:
        type_in(MINE.format(choice), typed)
        return typed["make"]

    assert _changes(make, tmp_path)


def test_the_same_typed_policy_is_loaded(tmp_path: Path) -> None:
    typed: dict[str, Any] = {"__name__": "notebook"}
    type_in(MINE.format("0") + "\ndef make(replication): return Mine()", typed)
    told: list[int] = []
    for _ in range(2):
        simulate(
            environment(),
            {"mine": typed["make"]},
            replications=2,
            folder=tmp_path,
            progress=lambda done, total: told.append(done),
        )
    assert told == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([], "mapping"),
        ({"a": None}, "'a' must be a policy or a function"),
        ({"a": LinUCB}, "'a' must be a policy or a function"),
        ({"a": lambda replication: None}, "select and update"),
    ],
)
def test_what_is_no_policy_is_refused(policies: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        simulate(environment(), policies, replications=1)
