"""Settings that replayed policies get from the log: bounds, noise, memory."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from driftbandits import AdaptiveLinUCB
from driftbandits.cli_log_values import told
from driftbandits.logs import Log
from driftbandits.logs.answers import Answers
from driftbandits.logs.candidates import Candidate


def two_arms(noise: float = 0.1, rows: int = 1000) -> pd.DataFrame:
    """Arms with means 0 and 10: the rewards' deviation is 5, the noise is 0.1."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 2, rows)
    reward = 10.0 * chosen + noise * rng.normal(size=rows)
    time = 60.0 * np.arange(rows)
    return pd.DataFrame({"time": time, "chosen": chosen, "propensity": 0.5, "reward": reward})


def built(name: str, frame: pd.DataFrame) -> dict[str, float]:
    """Settings of the policy that the command line makes for this name."""
    log, one = Log.open(frame, arms=2), Candidate.parse(name)
    with Answers(None, log, "facts") as answers:
        policy = one.policy(log, told(log, one, answers, lambda name: None))
    return {key: getattr(policy, key) for key in inspect.signature(type(policy)).parameters}


@pytest.mark.parametrize("name", ["D-LinUCB", "D-LinUCB:gamma=0.99", "LinUCB", "D-LinTS:gamma=0.9"])
def test_the_noise_is_what_cannot_be_predicted(name: str) -> None:
    # The first predictions have errors as large as the rewards, so the level is not exactly 0.1.
    assert 0.1 < built(name, two_arms())["noise"] < 1.0
    assert built(name, two_arms())["noise"] == built("D-LinUCB", two_arms())["noise"]


def test_a_policy_that_estimates_its_noise_is_told_none() -> None:
    assert built("AdaptiveLinUCB", two_arms())["noise"] is None
    assert built("AdaptiveLinUCB:noise=0.5", two_arms())["noise"] == 0.5
    assert AdaptiveLinUCB(dim=2).noise is None


def test_settings_that_are_given_stay() -> None:
    assert built("D-LinUCB:gamma=0.99,noise=0.2", two_arms())["noise"] == 0.2


def test_a_policy_without_a_memory_is_made_where_the_log_tells_none() -> None:
    # Rewards that are all 0 have no spread, and say nothing about the memory.
    assert built("D-LinUCB:gamma=0.99", two_arms().assign(reward=0.0))["noise"] == 1.0
