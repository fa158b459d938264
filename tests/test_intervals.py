"""Intervals of means: Student's t, for any number of replications."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from studies.elsewhere.section import Score

from driftbandits.experiments import run_leaderboard, suite
from driftbandits.experiments.yardsticks import ratio_of_means
from driftbandits.figures import write_report
from driftbandits.simulation import Result
from driftbandits.simulation.statistics import mean_interval, standard_error, student_quantile
from oracles import Floats

# From a printed table of Student's t: two-sided 95%, by the number of values.
TABLE = {2: 12.706, 3: 4.303, 5: 2.776, 10: 2.262, 31: 2.042, 100: 1.984}


def result_of(finals: Floats) -> Result:
    """A result whose final regrets are ``finals`` (policies, replications)."""
    nothing = np.zeros((0, 0, 0))
    return Result(
        config={"policies": {}, "title": "test"},
        policies=tuple(f"policy {p}" for p in range(len(finals))),
        regret_rounds=np.array([1]),
        regret=finals[:, :, None],
        estimate_rounds=np.zeros(0),
        estimates=np.zeros((*finals.shape, 0, 0)),
        path=np.zeros((0, 0)),
        detections=np.zeros((0, 3)),
        missed=nothing,
        missing=nothing,
    )


@pytest.mark.parametrize(("count", "quantile"), TABLE.items())
def test_quantiles_are_those_of_the_table(count: int, quantile: float) -> None:
    assert student_quantile(count) == pytest.approx(quantile, abs=5e-4)


def test_a_single_value_has_no_interval() -> None:
    assert np.isnan(standard_error(np.array([3.0])))
    assert np.isnan(mean_interval(3.0, float("nan"), 1)).all()


@pytest.mark.parametrize("count", [2, 3, 5, 30])
def test_paired_intervals_cover_as_they_say(count: int) -> None:
    """95% of 4000 intervals, within 4 standard errors; each count fails by chance with 6e-5."""
    rng = np.random.default_rng(count)
    runs = 4000
    finals = rng.normal(10.0, 2.0, (runs + 1, count))
    finals[0] = 0.0
    table = result_of(finals).paired("policy 0").iloc[1:]
    covered = ((table["low"] < 10.0) & (table["high"] > 10.0)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)


def test_every_interval_of_two_replications_is_as_wide_as_the_table_says(tmp_path: Any) -> None:
    finals = np.array([[10.0, 14.0], [5.0, 6.0]])
    result = result_of(finals)
    page = write_report({"test": result}, tmp_path / "report.html").read_text("utf-8")
    # Mean 12 with a standard error of 2.
    assert "[−13.4, 37.4]" in page
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert data[0]["regret"]["quantile"] == pytest.approx(TABLE[2], abs=5e-4)
    ratio, error = ratio_of_means(*finals)
    score = Score("elsewhere", "test", finals[0], finals[1], "10", finals[1])
    half = 12.7062 * error
    assert score.ratio == pytest.approx((ratio, ratio - half, ratio + half), abs=1e-5)


@pytest.mark.parametrize("published", [970, {"policy 0": "much"}, {"policy 0": 3}])
def test_a_result_with_odd_published_values_can_be_reported(published: Any, tmp_path: Any) -> None:
    """Such a result could once be saved, and then broke every later report of its folder."""
    result = result_of(np.array([[10.0, 14.0], [5.0, 6.0]]))
    result.config["published"] = published
    page = write_report({"test": result}, tmp_path / "report.html").read_text("utf-8")
    assert ("Ours − published" in page) == (published == {"policy 0": 3})


def test_the_leaderboards_intervals_are_students(tmp_path: Any) -> None:
    environments = {"slow": {**suite()["slow"], "horizon": 60}}
    scores = run_leaderboard(
        tmp_path, replications=2, environments=environments, policies=["LinUCB"]
    )
    row = scores.set_index("policy").loc["LinUCB"]
    best = scores[scores["yardstick"].astype(bool)].iloc[0]["policy"]
    reference = Result.load(tmp_path / "slow" / "reference")
    final = Result.load(tmp_path / "slow" / "LinUCB").final("LinUCB")
    _, error = ratio_of_means(final, reference.final(best))
    assert row["high"] - row["ratio"] == pytest.approx(12.7062 * error, rel=1e-5)
