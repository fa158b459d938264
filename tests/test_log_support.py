"""Questions that a log cannot answer: policies with actions that the logger never played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftbandits import LinUCB
from driftbandits.logs import Log, LogError
from driftbandits.logs.batch import Batch
from driftbandits.logs.estimators import FULL
from driftbandits.logs.reading import LogReader
from driftbandits.logs.targets import starts
from log_worlds import world

BOTH = ("IPS", "SNIPS", "DR", "IPS − logging", "DR − logging")


def coin(rounds: int = 400) -> pd.DataFrame:
    """A fair coin between arms 0 and 1, whose rewards are 0.3 and 0.6 on average."""
    rng = np.random.default_rng(5)
    chosen = rng.integers(0, 2, rounds)
    reward = (rng.random(rounds) < np.where(chosen == 0, 0.3, 0.6)).astype(float)
    time = np.arange(rounds) * 3600.0
    return pd.DataFrame({"time": time, "chosen": chosen, "propensity": 0.5, "reward": reward})


def test_an_action_that_was_never_played_has_no_value() -> None:
    log = Log.open(coin(), arms=("a", "b", "c"), reward_bounds=(0, 1))
    policies = {"new": "action:c", "all three": "uniform", "old": "action:b"}
    found = log.value(policies, period="100")
    for policy, share in (("new", "100.00%"), ("all three", "33.33%")):
        assert np.isnan([found.of(policy, name)["estimate"] for name in (*BOTH, "DM")]).all()
        assert np.isnan([found.of(policy, name)["high"] for name in (*BOTH, "DM")]).all()
        assert np.isnan(found.of(policy, "DR", "100 h")["estimate"])
        words = next(line for line in found.refused if line.startswith(policy))
        assert f"{share} of its plays are actions that the log never played (c)" in words
    # Rewards lie within bounds whatever is played: this interval says no more than that.
    assert list(found.of("new", "IPS, anytime")[["low", "high"]]) == [0.0, 1.0]
    third = found.of("all three", "IPS, anytime")
    assert third["low"] < 0.3 < 0.3 + 1.0 / 3.0 < third["high"]  # c may earn 0, and may earn 1
    assert found.of("old")["low"] < 0.6 < found.of("old")["high"]
    assert not any(line.startswith("old") for line in found.refused)
    # ``lost`` compares only with candidates that the log can judge.
    only = log.value({"old": "action:b"}, period="100")
    assert found.lost == only.lost is not None


def test_rows_that_never_agree_leave_the_model_alone() -> None:
    w = world(rounds=300, noise=0.3)
    frame = w.frame.assign(propensity=1.0)  # a logger without randomness

    def another(_: LogReader, batch: Batch) -> Any:
        out = np.zeros(int(batch.size.sum()))
        out[starts(batch) + (batch.chosen + 1) % batch.size] = 1.0
        return out

    found = Log.open(frame).value({"another": another})
    assert np.isnan([found.of("another", name)["estimate"] for name in BOTH]).all()
    assert np.isfinite(found.of("another", "DM")["estimate"])
    assert any("no row plays what this policy would have played" in r for r in found.refused)
    assert found.lost is None


def test_rare_actions_that_chance_left_out_are_named_and_no_more() -> None:
    rng = np.random.default_rng(0)
    n, arms = 60, 40  # e^(-60/40): some nine of 40 arms are never played
    columns = {
        "time": np.arange(n) * 1.0,
        "chosen": rng.integers(0, arms, n),
        "propensity": 1 / arms,
    }
    frame = pd.DataFrame(columns).assign(reward=rng.normal(1.0, 0.1, n))
    found = Log.open(frame, arms=arms).value({"u": "uniform"})
    assert found.of("u")["low"] < 1.0 < found.of("u")["high"]
    unseen = arms - frame["chosen"].nunique()
    share = f"{unseen / arms:.2%} of its plays"
    assert any(share in line and f"and {unseen - 5} more" in line for line in found.warnings)


def test_a_policy_that_explores_what_was_never_played_cannot_be_replayed() -> None:
    log = Log.open(coin(600), arms=("a", "b", "c"))
    found = log.replay({"LinUCB": LinUCB(dim=3, noise=0.5)}, period="100")
    assert np.isnan(found.of("LinUCB")["estimate"])
    assert any("never played (c)" in line for line in found.refused)
    assert FULL not in set(found.table["estimator"])


def test_actions_may_appear_late_in_a_log() -> None:
    offered = [["a", "b"]] * 50 + [["a", "z"]] * 50
    rng = np.random.default_rng(1)
    chosen = rng.integers(0, 2, 100)
    frame = pd.DataFrame({"time": np.arange(100.0), "actions": offered, "propensity": 0.5})
    frame["chosen"] = [names[c] for names, c in zip(offered, chosen, strict=True)]
    frame["reward"] = np.where(frame["chosen"] == "z", 2.0, 1.0)
    whole, pieces = (Log.open(frame, rows=rows) for rows in (100, 10))
    for log in (whole, pieces):
        found = log.value({"late": "action:z"})
        weight = np.where(np.arange(100) < 50, 1.0, np.where(frame["chosen"] == "z", 2.0, 0.0))
        expected = float(np.mean(weight * frame["reward"]))
        assert found.of("late", "IPS")["estimate"] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(LogError, match="action 'y' is not in the log; it has a, b, z"):
        pieces.value({"never": "action:y"})
