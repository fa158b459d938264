"""Parts of environments from TOML: every kind equals its class built by hand."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from driftbandits import environments
from driftbandits.environments import (
    ActionsInUnits,
    ClippedCube,
    FixedDelay,
    GeometricDelay,
    Kronecker,
    Launches,
    Missing,
    PathInUnits,
    PiecewiseConstant,
    RandomJumps,
    Rotting,
    Sales,
    Swing,
    Wander,
    WithIntercept,
    WithLevel,
    canonical_basis,
)
from driftbandits.experiments.kinds import PARTS, part
from driftbandits.experiments.settings import prepare
from driftbandits.simulation.description import describe

CUBE = '{ kind = "clipped-cube", dim = 2, count = 3 }'
CASES: list[tuple[str, str, Any]] = [
    ("path", 'kind = "swing"\nsize = 0.5\nperiod = 400', Swing(size=0.5, period=400)),
    ("path", 'kind = "wander"\nstep = 0.1', Wander(step=0.1)),
    (
        "path",
        'kind = "rotting"\nheights = [0.6, 0.5]\nlives = [100.0, 200.0]',
        Rotting(heights=[0.6, 0.5], lives=[100.0, 200.0]),
    ),
    (
        "path",
        """
        kind = "with-level"
        intercept = false
        path = { kind = "random-jumps", dim = 2, change_points = [7, 9] }
        level = { kind = "piecewise-constant", values = [[0.05]] }
        """,
        WithLevel(
            path=RandomJumps(dim=2, change_points=(7, 9)),
            level=PiecewiseConstant([[0.05]]),
            intercept=False,
        ),
    ),
    (
        "path",
        """
        kind = "in-units"
        units = [300.0, 1.0]
        path = { kind = "random-jumps", dim = 2, change_points = [] }
        """,
        PathInUnits(path=RandomJumps(dim=2, change_points=()), units=[300.0, 1.0]),
    ),
    ("actions", 'kind = "launches"\ndim = 4\nrounds = [5, 9]', Launches(dim=4, rounds=(5, 9))),
    (
        "actions",
        f'kind = "with-intercept"\nscale = 0.7\nactions = {CUBE}',
        WithIntercept(actions=ClippedCube(dim=2, count=3), scale=0.7),
    ),
    (
        "actions",
        f'kind = "in-units"\nunits = [300.0, 1.0]\nactions = {CUBE}',
        ActionsInUnits(actions=ClippedCube(dim=2, count=3), units=[300.0, 1.0]),
    ),
    (
        "actions",
        """
        kind = "kronecker"
        arms = 2
        [contexts]
        kind = "with-intercept"
        actions = { kind = "clipped-cube", dim = 2, count = 1 }
        """,
        Kronecker(contexts=WithIntercept(actions=ClippedCube(dim=2, count=1)), arms=2),
    ),
    ("noise", 'kind = "sales"\nrate = 0.1\nspread = 0.7', Sales(rate=0.1, spread=0.7)),
    ("delays", 'kind = "fixed"\nrounds = 3', FixedDelay(3)),
    ("delays", 'kind = "geometric"\nmean = 20.0', GeometricDelay(20.0)),
    ("delays", 'kind = "missing"\nshare = 0.3', Missing(share=0.3)),
    (
        "delays",
        'kind = "missing"\nshare = 0.3\ndelays = { kind = "geometric", mean = 20.0 }',
        Missing(share=0.3, delays=GeometricDelay(20.0)),
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_a_table_is_the_class_built_by_hand(name: str, text: str, expected: Any) -> None:
    made = part(f"environment.{name}", name, tomllib.loads(text))
    assert type(made) is type(expected)
    assert describe(made) == describe(expected)


def test_every_kind_makes_a_public_class() -> None:
    """Or `canonical_basis`, which is a function."""
    for kinds in PARTS.values():
        for maker in kinds.values():
            assert getattr(environments, maker.__name__) is maker


def test_an_environment_with_delays_is_what_its_parts_are() -> None:
    text = """
    name = "late"
    horizon = 50
    [environment]
    path = { kind = "piecewise-constant", values = [[0.5, 0.1]] }
    actions = { kind = "canonical-basis", dim = 2 }
    noise = { kind = "gaussian", level = 0.3 }
    delays = { kind = "fixed", rounds = 4 }
    """
    environment, problem, _ = prepare(tomllib.loads(text))
    assert environment.delays == FixedDelay(4)
    assert describe(environment.actions) == describe(canonical_basis(2))
    assert problem.noise == 0.3
    block = next(environment.blocks(seed=0, replication=0))
    assert block.arrivals is not None
    # The reward of round 1 comes after round 5; those of the last four rounds never do.
    np.testing.assert_array_equal(block.arrivals.steps[:8], [-1, -1, -1, -1, -1, 0, -1, 1])
    assert len(block.arrivals.steps) == 50 + 46
