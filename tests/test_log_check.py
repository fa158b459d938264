"""The check of logs: its counts, and propensities that cannot be true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from driftbandits.logs import Log
from driftbandits.logs.health import _runs
from driftbandits.logs.propensities import binomial_p
from log_worlds import world


def test_what_is_counted() -> None:
    frame = pd.DataFrame(
        {
            "time": [0.0, 3600.0, 7200.0, 36000.0, 36000.0],
            "chosen": [0, 1, 0, 2, 2],
            "propensity": [0.5, 0.25, 0.5, 0.25, 0.25],
            "reward": [1.0, np.nan, 0.0, 1.0, 1.0],
            "reward_time": [3600.0, np.nan, 9000.0, 36000.0, 36000.0],
        }
    )
    found = Log.open(frame, arms=4).check(period="5")
    assert found["rows"] == 5
    assert found["span in hours"] == 10.0
    assert found["longest gap in hours"] == 8.0
    assert found["longest gap begins"] == "2 h"
    assert found["rows without reward"] == 1
    assert found["longest delay in hours"] == 1.0
    assert found["repeated rows"] == 1
    assert found["least propensity"] == 0.25
    assert found["actions never played"] == 1
    weight = 1.0 / (4 * frame["propensity"])
    assert found["effective sample size towards uniform play"] == pytest.approx(
        weight.sum() ** 2 / (weight**2).sum()
    )
    assert found["mean of 1/propensity"] == pytest.approx((1 / frame["propensity"]).mean())
    assert found.periods["rows"].tolist() == [3, 2]
    assert any("--mature-after" in line for line in found.warnings)  # a reward is missing
    assert found.sentence == "5 rows from 0 h to 10 h: 2 things to look at first, below."
    with pytest.raises(KeyError):
        found["nonsense"]


def test_dropped_rows_are_reported() -> None:
    frame = world(rounds=50).frame
    frame.loc[10, "propensity"] = 2.0
    log = Log.open(frame, on_bad="drop")
    found = log.check()
    assert found["rows dropped"] == 1
    assert found["dropped: propensity must lie in (0, 1]"] == 1
    assert any("row 11" in line for line in found.warnings)


def test_a_log_without_propensities_says_so() -> None:
    found = Log.open(world(rounds=50).frame.drop(columns="propensity")).check()
    assert any("no propensities" in line for line in found.warnings)
    assert found["mean number of actions"] == 5
    some = world(rounds=50).frame
    some.loc[3:20, "propensity"] = np.nan
    assert Log.open(some).check()["mean of 1/propensity"] == pytest.approx(5.0)


def test_the_binomial_p_value() -> None:
    for played in (0, 3, 20, 60):
        expected = stats.binomtest(played, 100, 0.2)
        low = stats.binom.cdf(played, 100, 0.2)
        high = stats.binom.sf(played - 1, 100, 0.2)
        assert binomial_p(played, 100, 0.2) == pytest.approx(min(1.0, 2 * min(low, high)))
        assert (binomial_p(played, 100, 0.2) < 1e-4) == (expected.pvalue < 1e-4)


def test_lying_propensities_are_found_in_their_period() -> None:
    frame = world(rounds=2000).frame
    biased = frame.copy()
    biased.loc[1000:1499, "chosen"] = 0  # only one action, logged as one of five
    found = Log.open(biased).check(period="500")
    bad = found.propensities[found.propensities["p"] * len(found.propensities) < 1e-3]
    assert set(bad["period"]) == {"1000 h"}
    assert any("cannot be true" in line and "1000 h" in line for line in found.warnings)
    honest = Log.open(frame).check(period="500")
    assert not any("cannot be true" in line for line in honest.warnings)


def test_uneven_arms_of_an_aggregated_test_are_found() -> None:
    rng = np.random.default_rng(0)
    shown = rng.multinomial(4000, [0.25] * 4, size=40)
    shown[20:30, 0] += 400
    frame = pd.DataFrame(
        {
            "time": np.repeat(np.arange(40) * 3600.0, 4),
            "x": np.tile(np.arange(4.0), 40),
            "count": shown.ravel(),
            "reward": 0.1,
            "propensity": 0.25,
        }
    )
    by_arm = Log.open(frame.assign(chosen=frame["x"]), arms=4).check()
    assert by_arm["actions never played"] == 0
    found = Log.open(frame, action=("x",)).check(period="10")
    tests = found.propensities.set_index("period")["p"]
    assert (tests.loc[["20 h"]] < 1e-6).all()
    assert (tests.loc[["0 h", "10 h", "30 h"]] > 1e-3).all()


@pytest.mark.thorough
@pytest.mark.parametrize("logger", ["uniform", "adaptive"])
def test_p_values_of_true_propensities_are_rarely_small(logger: str) -> None:
    p = pd.concat(
        [
            Log.open(world(rounds=600, logger=logger, seed=seed).frame)
            .check(period="300")
            .propensities["p"]
            for seed in range(40)
        ]
    ).dropna()
    assert len(p) > 100
    for level in (0.01, 0.05):
        most = stats.binom.ppf(0.999, len(p), level)
        assert (p <= level).sum() <= most


def test_periods_in_a_row_are_told_as_a_stretch() -> None:
    assert _runs(list("abcdefgh"), set("bcdfh")) == "b to d (3 periods), f, h"
    assert _runs(list("ab"), set("ab")) == "a, b"
