"""The registry: one policy per label and per class name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from driftbandits import LinUCB, register, registered
from driftbandits.policies import registry


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = registered()
    yield
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


def define(name: str, module: str = "notebook") -> Any:
    """A policy class, as a cell of a notebook defines it."""
    return type(name, (LinUCB,), {"__module__": module, "__qualname__": name})


@pytest.mark.parametrize(("label", "name"), [("LinUCB", "Mine"), ("mine", "LinUCB")])
def test_a_second_policy_of_one_label_or_class_name_is_refused(label: str, name: str) -> None:
    before = registered()
    with pytest.raises(ValueError, match=r"'LinUCB' is driftbandits\.policies\.weighted\.linucb"):
        register(label, "another")(define(name))
    assert registered() == before
    assert LinUCB.summary == "all data counts alike; for payoffs that do not drift"


def test_a_policy_defined_again_takes_its_own_place() -> None:
    first, second, third = define("Mine"), define("Mine"), define("Mine")
    register("mine", "first")(first)
    register("mine", "second")(second)
    assert registered()["mine"] is second
    register("renamed", "third")(third)
    assert registered()["renamed"] is third
    assert "mine" not in registered()


def test_one_label_from_two_modules_is_refused() -> None:
    register("mine", "first")(define("Mine", "one"))
    with pytest.raises(ValueError, match=r"two\.Mine; 'mine' is one\.Mine"):
        register("mine", "second")(define("Mine", "two"))
