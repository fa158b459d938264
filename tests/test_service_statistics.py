"""Compares the counters with the same numbers computed from all decisions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftbandits.service.calibration import Calibration
from driftbandits.service.statistics import BLOCK, Sums
from service_house import Desk


def test_counters_are_what_happened() -> None:
    desk = Desk(rewards="last", wait=50.0, default=0.125)
    rewarded, late = desk.decide(), desk.decide()
    desk.clock.now += 3.0
    desk.reward(rewarded.event_id, 1.0)
    desk.reward(rewarded.event_id, 0.5)
    desk.reward(rewarded.event_id, 0.5)
    desk.clock.now += 50.0
    desk.reward(late.event_id, 1.0)
    report = desk.house.diagnostics("p")
    assert (report["decisions"], report["closed"], report["unrewarded"]) == (2, 2, 1)
    assert report["expiry_rate"] == 0.5
    assert report["rewards"] == {"learned": 2, "duplicate": 1, "too_late": 1}
    assert report["reward"]["shown"]["all"]["mean"] == (0.5 + 0.125) / 2
    assert (report["delay"]["count"], report["delay"]["mean"]) == (1, 3.0)
    # A delay of 3 seconds is in the bin from 2 to 4.
    counts, bins = report["delay"]["counts"], report["delay"]["bins"]
    assert [low for low, count in zip(bins, counts, strict=True) if count] == [2.0]
    assert sum(report["shares"].values()) == pytest.approx(1.0)
    assert report["least_propensity"]["all"] == min(rewarded.propensity, late.propensity)


def test_estimates_are_those_of_inverse_propensities() -> None:
    """Compared with sums over all decisions; learner, baseline and chance differ clearly."""
    desk = Desk(floor=0.3, rule="wait", wait=1.0)
    rng = np.random.default_rng(0)
    shown, learner, baseline = list[float](), list[float](), list[float]()
    for _ in range(800):
        answer = desk.decide(baseline="b")
        reward = float(rng.random() < {"a": 0.9, "b": 0.5, "c": 0.1}[answer.action])
        desk.reward(answer.event_id, reward)
        most = max(answer.probabilities)
        shown.append(reward)
        learner.append(reward / answer.propensity if answer.propensity == most else 0.0)
        baseline.append(reward / answer.propensity if answer.action == "b" else 0.0)
        desk.clock.now += 1.0
    desk.house.expire()
    report = desk.house.diagnostics("p")["reward"]
    for name, values in (("shown", shown), ("learner", learner), ("baseline", baseline)):
        found = report[name]["all"]
        assert found["count"] == 800
        assert found["mean"] == pytest.approx(np.mean(values))
        half = 1.96 * np.std(values, ddof=1) / math.sqrt(800)
        assert found["high"] - found["low"] == pytest.approx(2 * half, rel=1e-3)
    # Within 2.5 half-widths of a 95% interval, which are 4.9 standard errors.
    truth = {"baseline": 0.5, "learner": 0.9}
    for name, value in truth.items():
        found = report[name]["all"]
        half = (found["high"] - found["low"]) / 2
        assert abs(found["mean"] - value) < 2.5 * half
    assert report["learner"]["all"]["low"] > report["baseline"]["all"]["mean"]


def test_in_shadow_mode_the_coverage_says_how_often_the_learner_agrees() -> None:
    desk = Desk(mode="shadow", floor=0.0, wait=1.0)
    for step in range(100):
        answer = desk.decide(baseline="abc"[step % 3])
        desk.reward(answer.event_id, 1.0)
        desk.clock.now += 1.0
    desk.house.expire()
    report = desk.house.diagnostics("p")["reward"]
    assert report["baseline"]["all"]["mean"] == report["shown"]["all"]["mean"] == 1.0
    assert report["baseline"]["coverage"] == 1.0
    assert 0.0 < report["learner"]["coverage"] < 1.0
    assert report["learner"]["all"]["mean"] == pytest.approx(report["learner"]["coverage"])


def test_recent_means_forget() -> None:
    desk = Desk(wait=1.0, rewards="first", learner="Random", floor=1.0, config={})
    for reward in (0.0, 1.0):
        for _ in range(2 * BLOCK):
            desk.reward(desk.decide().event_id, reward)
            desk.clock.now += 1.0
    desk.house.expire()
    report = desk.house.diagnostics("p")
    assert report["reward"]["shown"]["all"]["mean"] == 0.5
    assert report["reward"]["shown"]["recent"]["mean"] == 1.0
    assert BLOCK <= report["reward"]["shown"]["recent"]["count"] <= 2 * BLOCK


def test_no_variance_below_two() -> None:
    sums = Sums()
    assert sums.summary()["mean"] is None
    sums.add(2.0)
    assert sums.summary() == {"count": 1, "mean": 2.0, "low": None, "high": None}


def test_bins_grow_with_the_predictions() -> None:
    rng = np.random.default_rng(0)
    predicted = np.concatenate([rng.uniform(-0.4, 0.4, 300), rng.uniform(-30, 50, 300)])
    rewarded = predicted + 1.0
    calibration = Calibration()
    for one, other in zip(predicted, rewarded, strict=True):
        calibration.add(float(one), float(other))
    calibration.add(math.nan, 0.0)
    bins = calibration.summary()
    assert sum(entry["count"] for entry in bins) == 600
    for entry in bins:
        inside = (predicted >= entry["low"]) & (predicted < entry["high"])
        assert entry["count"] == inside.sum()
        assert entry["predicted"] == pytest.approx(predicted[inside].mean())
        assert entry["rewarded"] == pytest.approx(rewarded[inside].mean())


def test_predictions_are_calibrated_where_the_model_is_right() -> None:
    desk = Desk(learner="LinUCB", floor=0.5, wait=1.0)
    rng = np.random.default_rng(0)
    means = {"a": 0.2, "b": 0.5, "c": 0.8}
    for _ in range(1500):
        answer = desk.decide()
        desk.reward(answer.event_id, means[answer.action] + 0.1 * float(rng.standard_normal()))
        desk.clock.now += 1.0
    desk.house.expire()
    bins = desk.house.diagnostics("p")["calibration"]
    assert sum(entry["count"] for entry in bins) == math.ceil(1500 / 16)
    for entry in bins:
        if entry["count"] >= 5:
            assert abs(entry["predicted"] - entry["rewarded"]) < 0.2
