"""Real logs: the answers of `driftbandits.logs` on data that others have studied.

``--data`` is a folder with some of these; the table notes which ones are missing:

    elec2/elec.csv                              half hours of an electricity market (Harries, 1999)
    upworthy/upworthy_log.parquet               tests of headlines, one row per arm (Matias et al.)
    open_bandit/{random,bts}/{campaign}/{campaign}.csv   clicks in a shop (Saito et al., 2020)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.measure import Aim, Row, Say, at_least, at_most, single

from driftbandits.logs import Log
from driftbandits.logs.targets import shares

NAME = "real-logs"
_CAMPAIGNS = {"all": 80, "men": 34, "women": 46}
_WEEK = 48 * 7  # half hours


def run(*, quick: bool, say: Say, data: Path) -> list[Row]:
    """The answers for every log in the folder."""
    rows, simulations = list[Row](), 59 if quick else 199
    logs: dict[str, Callable[[Path], list[Row]]] = {
        "elec2": partial(_elec2, simulations=simulations),
        "upworthy": partial(_upworthy, simulations=simulations),
        "open_bandit": open_bandit,
    }
    for name, study in logs.items():
        if (data / name).is_dir():
            say(f"real logs: {name}")
            rows += study(data / name)
        else:
            rows.append(Row(NAME, name, "not in the folder", note=f"no {name}/", failed=True))
    return rows


def _said(subject: str, what: str, value: float, aim: Aim | None = None, note: str = "") -> Row:
    return single(NAME, subject, what, value, aim=aim, note=note)


def _elec2(folder: Path, simulations: int) -> list[Row]:
    """Predict the price a day ahead from demand, the neighbour's price and demand, and transfer."""
    frame = pd.read_csv(folder / "elec.csv").assign(one=1.0)
    time = pd.Timestamp("1996-05-07") + pd.to_timedelta(30 * np.arange(len(frame)), unit="min")
    columns = ("one", "nswdemand", "vicprice", "vicdemand", "transfer")
    frame = frame.assign(time=time, reward_time=time + pd.Timedelta("1D"))
    log, *shuffled = (
        Log.open(f, action=columns, reward="nswprice") for f in (frame, *_shuffled(frame, time))
    )
    drift, none = (one.drift(simulations=simulations) for one in (log, shuffled[0]))
    memory = log.memory(memories=np.array([72.0, 192.0, _WEEK, 1344.0, 5376.0]))
    evidence = memory.table.set_index("memory")["evidence"]
    ahead = float(evidence[_WEEK] - evidence[np.inf])
    return [
        _said("elec2", "log units of a week's memory above none", ahead, at_least(100.0)),
        _said("elec2", "best memory in days", memory.best / 48.0, note="a day ahead"),
        _said("elec2", "p of no drift", drift.p, at_most(0.05)),
        _said("elec2 shuffled", "p of no drift", none.p, at_least(0.05)),
        _said("elec2 shuffled", "never forgetting is best",
              float(np.mean([np.isinf(one.memory().best) for one in shuffled])),
              note=f"share of {len(shuffled)} shuffles"),
    ]  # fmt: skip


def _shuffled(frame: pd.DataFrame, time: pd.DatetimeIndex) -> list[pd.DataFrame]:
    """The rows in six random orders."""
    return [
        frame.sample(frac=1.0, random_state=seed).assign(time=time, reward_time=time)
        for seed in range(6)
    ]


def _upworthy(folder: Path, simulations: int) -> list[Row]:
    """Clicks by twelve features of a headline."""
    log = Log.open(
        folder / "upworthy_log.parquet",
        time="test_time",
        reward="clicks",
        count="impressions",
        total=True,
        action="f_",
    )
    tests = log.check(period="week").propensities
    start = tests["period"]  # ISO dates sort correctly as text
    bad = tests["p"] * tests["p"].notna().sum() < 1e-3
    inside = (start >= "2013-06-24") & (start <= "2014-01-06")
    drift = log.drift(simulations=simulations)
    assert drift.differences is not None
    return [
        _said("upworthy", "weeks of the defect that are flagged", float(bad[inside].mean()),
              at_least(1.0), "2013-26 to 2014-02"),
        _said("upworthy", "other weeks that are flagged", float(bad[~inside].mean()),
              note=", ".join(tests.loc[bad & ~inside, "period"])),
        _said("upworthy", "p of a level that stays", drift.level.p, at_most(0.05)),
        _said("upworthy", "p of effects that stay", drift.differences.p, at_least(0.05)),
    ]  # fmt: skip


def open_bandit(folder: Path) -> list[Row]:
    """Estimate the click rate of the other logger from its shares of items per position."""
    rows = []
    for campaign, arms in _CAMPAIGNS.items():
        frames = {
            logger: pd.read_csv(folder / logger / campaign / f"{campaign}.csv", index_col=0)
            for logger in ("random", "bts")
        }
        for here, there in (("random", "bts"), ("bts", "random")):
            found = Log.open(
                frames[here],
                time="timestamp",
                reward="click",
                chosen="item_id",
                propensity="propensity_score",
                arms=arms,
                reward_bounds=(0, 1),
            ).value({"other": shares(_shares(frames[there]))})
            truth = float(frames[there]["click"].mean())
            subject = f"open bandit {campaign}, {here} to {there}"
            for estimator in ("IPS", "SNIPS", "DR"):
                one = found.of("other", estimator)
                held = float(one["low"] <= truth <= one["high"])
                note = (
                    f"{one['estimate']:.4f} [{one['low']:.4f}, {one['high']:.4f}], own rate "
                    f"{truth:.4f}, worth {one['effective']:,.0f} rows"
                )
                what = f"{estimator}: own click rate inside the interval"
                rows.append(_said(subject, what, held, at_least(1.0), note))
            said = (*found.refused, *found.warnings)
            rows.append(_said(subject, "warns of weights", float(bool(said)), note="; ".join(said)))
    return rows


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    counts = frame.groupby(["position", "item_id"]).size()
    share = counts / counts.groupby(level=0).transform("sum")
    return share.rename("probability").reset_index().rename(columns={"item_id": "action"})
