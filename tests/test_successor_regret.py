"""Reported results of the successors; docs/explanation/successors.md lists those not found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from driftbandits import Problem, registered
from driftbandits.environments import (
    ClippedCube,
    Environment,
    Gaussian,
    PiecewiseConstant,
    Rotation,
    Sphere,
)
from driftbandits.policies.dal.policy import DetectRestartLinUCB
from driftbandits.simulation import simulate
from oracles import Floats

REPLICATIONS = 40
CHANGES = (1001, 2001, 3001)
CORNERS = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
FIRST_AXIS = np.eye(10)[0]


def surroundings(actions: Any) -> dict[str, Any]:
    return {"actions": actions, "noise": Gaussian(1.0), "horizon": 6000}


SQUARE = surroundings(ClippedCube(dim=2, count=50))
ABRUPT = Environment(path=PiecewiseConstant(values=CORNERS, change_points=CHANGES), **SQUARE)
SLOW = Environment(path=Rotation(angle=math.pi / 2, rounds=3000), **SQUARE)
WIDE = Environment(
    path=PiecewiseConstant(values=[FIRST_AXIS, -FIRST_AXIS], change_points=(3001,)),
    **surroundings(Sphere(dim=10, count=100)),
)
STILL = Environment(path=PiecewiseConstant(values=[[0.8, 0.6]], change_points=()), **SQUARE)

Finals = dict[str, Floats]


def finals(environment: Environment, budget: float, labels: str) -> Finals:
    """Final regrets of each policy with its own tuning, all on the same actions and noise."""
    problem = Problem(dim=environment.dim, horizon=6000, budget=budget)
    policies = {label: registered()[label].tuned(problem) for label in labels.split()}
    result = simulate(environment, policies, replications=REPLICATIONS, workers=2)
    return {label: np.asarray(result.final(label)) for label in policies}


def assert_below(regrets: Finals, better: str, worse: str) -> None:
    """``better`` ends below ``worse`` by more than three standard errors of the difference."""
    difference = regrets[worse] - regrets[better]
    error = difference.std(ddof=1) / math.sqrt(len(difference))
    assert difference.mean() > 3 * error, (better, worse, difference.mean(), error)


@pytest.fixture(scope="module")
def abrupt() -> Finals:
    labels = (
        "D-LinUCB SW-LinUCB dLinUCB LinUCB LB-WeightUCB RestartUCB D-RandLinUCB D-LinTS BOB DAL"
    )
    return finals(ABRUPT, 4 + math.sqrt(2), labels)


@pytest.fixture(scope="module")
def slow() -> Finals:
    return finals(SLOW, math.pi / 2, "LinUCB LB-WeightUCB RestartUCB D-RandLinUCB D-LinTS DAL")


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["LB-WeightUCB", "RestartUCB", "D-RandLinUCB", "D-LinTS", "DAL"])
def test_forgetting_beats_remembering_all(abrupt: Finals, slow: Finals, label: str) -> None:
    assert_below(abrupt, label, "LinUCB")
    assert_below(slow, label, "LinUCB")


@pytest.mark.thorough
def test_bob_beats_remembering_all_where_changes_are_large(abrupt: Finals) -> None:
    assert_below(abrupt, "BOB", "LinUCB")


@pytest.mark.thorough
def test_detection_beats_forgetting_by_the_clock_where_changes_are_rare(abrupt: Finals) -> None:
    """Gerogiannis et al. (2025)."""
    for rival in abrupt.keys() - {"DAL"}:
        assert_below(abrupt, "DAL", rival)


@pytest.mark.thorough
def test_chance_is_less_conservative_than_optimism() -> None:
    """Kim and Tewari (2020), for many actions in many dimensions, as in their experiments."""
    regrets = finals(WIDE, 2.0, "D-LinUCB D-RandLinUCB D-LinTS")
    assert_below(regrets, "D-RandLinUCB", "D-LinUCB")
    assert_below(regrets, "D-LinTS", "D-LinUCB")


@pytest.mark.thorough
def test_false_alarms_are_as_rare_as_promised() -> None:
    policy = DetectRestartLinUCB(dim=2, false_alarm=0.2)
    result = simulate(STILL, {"DAL": policy}, replications=200, workers=2)
    alarmed = len({int(replication) for _, replication, _ in result.detections})
    assert alarmed / 200 <= 0.2 + 3 * math.sqrt(0.16 / 200)
