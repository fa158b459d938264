"""The paper's synthetic experiments give the published results, within sampling error.

Published means were read off a plot. Both sides have a sampling error with N = 100; we take theirs
to equal ours. The published means also have a reading error, taken as 1% of the plot's height.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftbandits.experiments import build, built_in
from driftbandits.simulation import Result, simulate

pytestmark = pytest.mark.thorough

HEIGHT = {"abrupt": 4500.0, "slow": 1800.0}  # of the published plots' regret axes
STANDARD_ERRORS = 3.0


@cache
def result(name: str) -> Result:
    experiment = build(built_in(name))
    return simulate(experiment.environment, experiment.policies, replications=100, seed=0)


PUBLISHED = [
    (name, policy, value)
    for name in ("abrupt", "slow")
    for policy, value in built_in(name)["published"].items()
]


@pytest.mark.parametrize(("name", "policy", "published"), PUBLISHED)
def test_final_regret_agrees_with_the_published_one(
    name: str, policy: str, published: float
) -> None:
    final = result(name).final(policy)
    both = np.sqrt(2.0) * final.std(ddof=1) / np.sqrt(len(final))
    tolerance = STANDARD_ERRORS * both + 0.01 * HEIGHT[name]
    assert abs(final.mean() - published) < tolerance


def detections(name: str) -> pd.DataFrame:
    """Detections of dLinUCB."""
    frame = result(name).detections_frame()
    return frame[frame["policy"] == "dLinUCB"]


def detection_rates() -> list[int]:
    """For each change, the number of 100 runs with a detection of dLinUCB before the next one."""
    frame = detections("abrupt")
    bounds = [1000, 2000, 3000, 6000]
    return [
        int(frame.loc[frame["round"].between(low + 1, high), "replication"].nunique())
        for low, high in pairwise(bounds)
    ]


def two_sided_p(ours: int, theirs: int, runs: int) -> float:
    """Fisher's exact test that two counts out of ``runs`` come from one probability."""
    both = ours + theirs
    weights = [comb(runs, k) * comb(runs, both - k) for k in range(min(both, runs) + 1)]
    mine = weights[ours]
    return sum(w for w in weights if w <= mine) / sum(weights)


@pytest.mark.parametrize(("change", "published"), [(0, 95), (1, 0), (2, 6)])
def test_detection_rates_agree_with_the_published_ones(change: int, published: int) -> None:
    # 0.0027 is the level of three standard errors.
    assert two_sided_p(detection_rates()[change], published, 100) > 0.0027


def test_first_detection_comes_when_it_was_published() -> None:
    frame = detections("abrupt")
    first = frame[frame["round"] <= 2000].groupby("replication")["round"].min()
    error = np.sqrt(2.0) * first.std() / np.sqrt(len(first))
    assert abs(first.mean() - 1150) < STANDARD_ERRORS * error + 0.01 * 6000


def test_nothing_is_detected_in_slow_drift() -> None:
    # "detects nothing" in 100 runs; with a rate of 5% this has probability 0.6%.
    assert detections("slow")["replication"].nunique() <= 5


def test_algorithm_1_differs_from_the_published_recursion() -> None:
    """As algorithms.md says: paired differences are clear in both environments."""
    for name in ("abrupt", "slow"):
        table = result(name).paired("D-LinUCB").set_index("policy")
        row = table.loc["D-LinUCB (as published)"]
        assert abs(row["difference"]) > 5 * row["se"]


def test_less_noise_brings_dlinucb_close_to_the_oracle(tmp_path: Path) -> None:
    """The paper's remark: with less noise dLinUCB comes close to LinUCB-OR."""
    settings = built_in("abrupt")
    settings["environment"]["noise"]["level"] = 0.1
    experiment = build(settings)
    quiet = simulate(experiment.environment, experiment.policies, replications=20)
    ratio = {
        name: source.final("dLinUCB").mean() / source.final("LinUCB-OR").mean()
        for name, source in (("quiet", quiet), ("loud", result("abrupt")))
    }
    assert ratio["quiet"] < ratio["loud"] / 2


def test_orderings_of_the_paper() -> None:
    """Each comparison that the paper draws, as a paired difference of 3 standard errors or more."""
    pairs = {
        "abrupt": [
            ("LinUCB-OR", "SW-LinUCB"),
            ("SW-LinUCB", "dLinUCB"),
            ("D-LinUCB", "dLinUCB"),
            ("dLinUCB", "LinUCB"),
        ],
        "slow": [("D-LinUCB", "LinUCB"), ("SW-LinUCB", "LinUCB"), ("SW-LinUCB", "dLinUCB")],
    }
    for name, orderings in pairs.items():
        for better, worse in orderings:
            row = result(name).paired(better).set_index("policy").loc[worse]
            assert row["difference"] > STANDARD_ERRORS * row["se"], (name, better, worse)
