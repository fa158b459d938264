"""Clicks are known at once, their absence only later; each counts from when it is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftbandits import DLinUCB
from driftbandits.logs import Log

HOUR, WAIT, ROWS = 3600.0, 24.0, 1200
ARMS = ("red", "blue", "green")


def clicks() -> pd.DataFrame:
    """One decision every ten minutes; a click comes within three hours or never."""
    rng = np.random.default_rng(3)
    time, chosen = 600.0 * np.arange(ROWS), rng.integers(0, 3, ROWS)
    rate = np.where(np.arange(ROWS) < 600, 0.3, 0.1)[:, None] + np.array([0.0, 0.1, 0.2])
    clicked = rng.random(ROWS) < rate[np.arange(ROWS), chosen]
    came = time + rng.uniform(0.0, 3.0 * HOUR, ROWS)
    return pd.DataFrame(
        {
            "time": time,
            "chosen": np.array(ARMS)[chosen],
            "propensity": 1.0 / 3.0,
            "reward": np.where(clicked, 1.0, np.nan),
            "reward_time": np.where(clicked, came, np.nan),
        }
    )


def held() -> pd.DataFrame:
    """The same, if every reward had been written 24 hours after its decision."""
    frame = clicks()
    ripe = frame["time"] + WAIT * HOUR
    end = max(frame["time"].max(), frame["reward_time"].max())
    known = ripe <= end
    return frame.assign(
        reward=frame["reward"].fillna(0.0).where(known), reward_time=ripe.where(known)
    )


def opened(frame: pd.DataFrame, **options: Any) -> Log:
    return Log.open(frame, arms=ARMS, **options)


@pytest.fixture(scope="module")
def logs() -> tuple[Log, Log]:
    return opened(clicks(), mature_after=WAIT), opened(held())


def test_memory_and_drift_wait_for_clicks_as_for_their_absence(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.memory() for log in logs)
    pd.testing.assert_frame_equal(ours.table, theirs.table)
    assert ours.best == theirs.best
    first, second = (log.drift(simulations=59) for log in logs)
    pd.testing.assert_frame_equal(first.table, second.table)
    assert first.changed == second.changed


def test_values_leave_out_all_rows_that_are_too_young(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.value({"u": "uniform"}, period="day") for log in logs)
    pd.testing.assert_frame_equal(ours.table, theirs.table)
    rows = held()["reward"].dropna()
    logged = ours.table[(ours.table["policy"] == "logging") & (ours.table["period"] == "all")]
    assert logged["estimate"].iloc[0] == pytest.approx(rows.mean(), rel=1e-12)
    assert int(logged["rows"].iloc[0]) == len(rows)
    young = ROWS - len(rows)
    words = f"{young} rows without reward or propensity, or younger than 24 hours"
    assert any(words in line for line in ours.warnings)


def test_a_replayed_policy_hears_of_clicks_when_they_come(logs: tuple[Log, Log]) -> None:
    # The values use the same rows; what was learned differs, because clicks came earlier.
    policy = DLinUCB(dim=3, gamma=0.99)
    ours, theirs = (log.replay({"d": policy}, full_traffic=False) for log in logs)
    left, right = (of.table[of.table["policy"] == "logging"] for of in (ours, theirs))
    pd.testing.assert_frame_equal(left, right)
    fitted, other = (log.fit(policy.copy()) for log in logs)
    assert not np.array_equal(fitted.theta, other.theta)
