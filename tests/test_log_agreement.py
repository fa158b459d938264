"""Compares estimates with vw-estimators, on the Open Bandit sample if it is installed.

``benchmarks/log_agreement.py`` runs obp itself; this file has obp's formulas (obp.ope.estimators
0.4.1), written from their definitions. The sample is inside obp's wheel, which is read, not
imported.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftbandits.logs import Log
from driftbandits.logs.model import RewardModel

ips = pytest.importorskip("estimators.bandits.ips", reason="vw-estimators is not installed")
snips = pytest.importorskip("estimators.bandits.snips", reason="vw-estimators is not installed")
ARMS = 34


def simulated(seed: int) -> pd.DataFrame:
    """Rows like those of the sample: few clicks, items with uneven propensities."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(ARMS, 0.5)) * 0.9 + 0.1 / ARMS
    item = rng.choice(ARMS, size=4000, p=chances)
    return pd.DataFrame(
        {
            "timestamp": pd.Timestamp("2019-11-24")
            + pd.to_timedelta(rng.exponential(30.0, 4000).cumsum(), unit="s"),
            "item_id": item,
            "click": (rng.random(4000) < 0.005 + 0.001 * (item % 7)).astype(int),
            "propensity_score": chances[item],
        }
    )


def sampled(logger: str) -> pd.DataFrame:
    """The men's campaign of the sample."""
    try:
        files = metadata.files("obp") or []
    except metadata.PackageNotFoundError:
        pytest.skip("the sample needs: pip install --no-deps obp==0.4.1")
    (path,) = (f for f in files if f.match(f"obd/{logger}/men/men.csv"))
    frame = pd.read_csv(path.locate(), index_col=0)
    return frame.sort_values("timestamp", kind="stable").reset_index(drop=True)


def opened(frame: pd.DataFrame) -> Log:
    return Log.open(
        frame,
        time="timestamp",
        reward="click",
        chosen="item_id",
        propensity="propensity_score",
        arms=ARMS,
    )


@pytest.mark.parametrize("source", ["simulated", "random", "bts"])
def test_estimates_are_those_of_other_libraries(source: str, tmp_path: Any) -> None:
    frame = simulated(0) if source == "simulated" else sampled(source)
    other = (
        simulated(1) if source == "simulated" else sampled({"random": "bts"}.get(source, "random"))
    )
    share = other["item_id"].value_counts(normalize=True).reindex(range(ARMS), fill_value=0.0)
    table = pd.DataFrame({"action": share.index, "probability": share.to_numpy()})
    table.to_csv(tmp_path / "shares.csv", index=False)
    log = opened(frame)
    found = log.value({"pi": f"shares:{tmp_path / 'shares.csv'}"})
    pi = share.to_numpy()
    p, reward = frame["propensity_score"].to_numpy(), frame["click"].to_numpy()
    played = frame["item_id"].to_numpy()

    theirs = {"IPS": ips.Estimator(), "SNIPS": snips.Estimator()}
    for estimator in theirs.values():
        for one, r, target in zip(p, reward, pi[played], strict=True):
            estimator.add_example(one, r, target)
    for name, estimator in theirs.items():
        assert found.of("pi", name)["estimate"] == pytest.approx(estimator.get(), rel=1e-9)

    expected = _expected(log)
    weight, rows = pi[played] / p, np.arange(len(frame))
    direct = expected @ pi
    robust = direct + weight * (reward - expected[rows, played])
    assert found.of("pi", "DM")["estimate"] == pytest.approx(direct.mean(), rel=1e-9)
    assert found.of("pi", "DR")["estimate"] == pytest.approx(robust.mean(), rel=1e-9)


def _expected(log: Log) -> Any:
    """Expected reward of each arm in each row by the model, shape (n, K)."""
    model, found = RewardModel(log), []
    for batch in log.batches():
        for part, theta in model.pieces(batch):
            found.append(np.tile(theta[:, 0], (len(batch.time[part]), 1)))
    return np.concatenate(found)
