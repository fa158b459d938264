"""The description of a run: things that may give different numbers have different descriptions."""

from __future__ import annotations

import functools
import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from driftbandits import DLinUCB
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.simulation import simulate
from driftbandits.simulation.description import describe, is_described
from driftbandits.simulation.fingerprint import fingerprint


class First:
    """Plays the action with a fixed number, which its repr does not show."""

    def __init__(self, choice: int = 0) -> None:
        self.choice = choice

    def __repr__(self) -> str:
        return "First"

    def __call__(self, replication: int) -> First:
        return self

    def make(self, replication: int) -> First:
        return self

    def select(self, actions: Any) -> int:
        return self.choice

    def update(self, action: Any, reward: float) -> None:
        pass


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getstate__(self) -> None:
        """Hides it from pickles."""


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Mine:
    level: float


class Colour(Enum):
    RED = 1
    BLUE = 2


class Quiet(dict[str, int]):
    """Shows nothing of what it holds."""

    def items(self) -> Any:
        return ()


class Bolder(DLinUCB):
    pass


def environment() -> Environment:
    return Environment(
        path=Rotation(angle=3.0, rounds=50),
        actions=ClippedCube(dim=2, count=5),
        noise=Gaussian(0.5),
        horizon=50,
    )


def player(choice: int, replication: int) -> First:
    return First(choice)


LEVELS = [0]


def by_a_global(replication: int) -> First:
    return First(LEVELS[0])


def with_keyword(choice: int) -> Callable[[int], First]:
    def make(replication: int, *, chosen: int = choice) -> First:
        return First(chosen)

    return make


def by_attribute(choice: int) -> type[First]:
    return type("Made", (First,), {"bonus": choice})


# Each makes a value from a number. Different numbers must differ, equal numbers must not.
MAKERS: dict[str, Callable[[int], Any]] = {
    "object": First,
    "slots": Slotted,
    "object in a list": lambda n: [First(n)],
    "bound method": lambda n: First(n).make,
    "partial": lambda n: functools.partial(player, n),
    "closure": lambda n: lambda replication: First(n),
    "keyword default": with_keyword,
    "class": by_attribute,
    "named tuple": lambda n: Pair(n, 0),
    "dataclass": lambda n: Mine(float(n)),
    "enum": lambda n: list(Colour)[n],
    "own mapping": lambda n: Quiet(a=n),
    "set": lambda n: {"a", "b", f"{n}"},
    "keys": lambda n: {n: 0},
    "text and number": lambda n: {"k": [1, "1"][n]},
    "number types": lambda n: [1, 1.0][n],
    "truth": lambda n: [1, True][n],
    "small array types": lambda n: np.zeros(3, [np.float64, np.float32][n]),
    "large array types": lambda n: np.zeros(100, [np.float64, np.int64][n]),
    "large arrays": lambda n: np.full(100, n),
    "arrays of objects": lambda n: np.array([First(n), None]),
    "complex": lambda n: complex(0, n),
    "bytes": lambda n: bytes([n]),
    "decimal": lambda n: Decimal(n),
    "date": lambda n: date(2020, 1, 1 + n),
    "path": lambda n: Path(f"{n}"),
    "generator": lambda n: np.random.default_rng(n),
    "python's generator": lambda n: random.Random(n),  # noqa: S311
    "builtin of an object": lambda n: [n].index,
    "order": lambda n: dict(reversed([("a", 1), ("b", 2)]) if n else [("a", 1), ("b", 2)]),
    "policy": lambda n: DLinUCB(dim=2, gamma=0.5 + n / 10),
    "own policy": lambda n: (DLinUCB if n else Bolder)(dim=2, gamma=0.5),
    "compiled": lambda n: numba.njit(lambda x: x + n),
    "cached": lambda n: functools.cache(functools.partial(player, n)),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_different_things_look_different_and_equal_ones_equal(maker: Callable[[int], Any]) -> None:
    zero, again, one = describe(maker(0)), describe(maker(0)), describe(maker(1))
    assert is_described(zero)
    assert fingerprint(zero) == fingerprint(again)
    assert fingerprint(zero) != fingerprint(one)
    assert fingerprint(json.loads(json.dumps(zero))) == fingerprint(zero)


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), (letter for letter in "a"), memoryview(b"a"), object],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_described_is_marked(value: Any) -> None:
    holder = First(value)
    known = value is object
    assert is_described(describe(holder)) == known
    assert is_described(describe(lambda: holder)) == known


def test_what_holds_itself_is_described() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert is_described(describe(loop))
    node = First()
    node.choice = node  # type: ignore[assignment]
    assert is_described(describe(node))


def test_a_global_value_that_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = describe(by_a_global)
    monkeypatch.setattr(f"{__name__}.LEVELS", [1])
    assert fingerprint(describe(by_a_global)) != fingerprint(before)


def test_a_method_that_is_replaced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = describe(First())
    monkeypatch.setattr(First, "select", lambda self, actions: 1)
    assert fingerprint(describe(First())) != fingerprint(before)


def test_a_module_that_is_imported_later_is_not_trusted() -> None:
    def make(replication: int) -> Any:
        import module_of_somebody  # type: ignore[import-not-found]

        return module_of_somebody.Mine()

    assert not is_described(describe(make))


def test_an_object_at_the_address_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    """CPython reuses the address of a deleted object for the next object of its size."""
    finals = [
        simulate(environment(), {"mine": First(choice)}, replications=2, folder=tmp_path).final(
            "mine"
        )
        for choice in (0, 1)
    ]
    assert (finals[0] != finals[1]).any()


def test_what_cannot_be_described_is_played_anew(tmp_path: Path) -> None:
    class Locked(First):
        def __init__(self, choice: int) -> None:
            super().__init__(choice)
            self.lock = threading.Lock()

    told: list[int] = []
    finals = []
    for choice in (0, 1, 1):
        with pytest.warns(UserWarning, match="played anew"):
            result = simulate(
                environment(),
                {"mine": Locked(choice)},
                replications=2,
                folder=tmp_path,
                progress=lambda done, total: told.append(done),
            )
        finals.append(result.final("mine"))
    assert told == [0, 1, 2] * 3
    assert (finals[0] != finals[1]).any()
    assert (finals[1] == finals[2]).all()
    assert not (tmp_path / "parts").exists()
