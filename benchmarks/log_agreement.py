"""Compare estimates and speed with vw-estimators and obp, on the Open Bandit sample.

The sample is inside obp's wheel. obp itself runs only if it is installed:

    pip install --no-deps obp==0.4.1 && pip install pyyaml seaborn scikit-learn

obp imports torch and tqdm, but its estimators do not use them on numpy arrays. If they are not
installed, empty modules replace them. obp gets this package's model of rewards, so that DM and DR
are the same quantities.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import IO, Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from estimators.bandits import ips, snips

from driftbandits.logs import Log
from driftbandits.logs.model import RewardModel
from driftbandits.logs.targets import shares

from .measure import Array, Row, at_most, interleaved, single, summary

_UNUSED = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils",
           "torch.utils.data", "tqdm")  # fmt: skip


class _Empty(ModuleType):
    """Replaces a module that is imported but not used; every attribute is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


def _ope() -> Any:
    """The estimators of obp, or None if it is not installed."""
    absent = [name for name in _UNUSED if find_spec(name.partition(".")[0]) is None]
    with patch.dict(sys.modules, {name: _Empty(name) for name in absent}):
        try:
            return import_module("obp.ope")
        except ImportError:
            return None


ope = _ope()

_CAMPAIGNS = {"all": 80, "men": 34, "women": 46}
_POSITIONS = 3


def agreement(section: str, folder: Path) -> list[Row]:
    """Largest relative difference to the other libraries, in estimates of the other logger."""
    worst: dict[tuple[str, str], float] = {}
    for arms, frame, other in _directions(folder):
        table = _shares(other)
        log = Log.open(
            frame,
            time="timestamp",
            reward="click",
            chosen="item_id",
            propensity="propensity_score",
            arms=arms,
        )
        found = log.value({"other": shares(table)})
        plays = _plays(table, frame, arms)
        theirs = {"vw-estimators": _vw_estimators(frame, plays)}
        if ope is not None:
            theirs["obp"] = _obp(frame, plays, expected_rewards(log))
        for library, values in theirs.items():
            for name, expected in values.items():
                off = abs(float(found.of("other", name)["estimate"]) / expected - 1.0)
                worst[library, name] = max(worst.get((library, name), 0.0), off)
    note = "Open Bandit sample, three campaigns, both directions"
    rows = [
        single(section, library, f"largest relative difference of {name}", value,
               aim=at_most(1e-9), note=note)
        for (library, name), value in worst.items()
    ]  # fmt: skip
    if ope is None:
        rows.append(Row(section, "obp", "not compared", note="it is not installed"))
    return rows


def speeds(section: str, log: Log, frame: pd.DataFrame, arms: int) -> list[Row]:
    """Rows per second of each library, for the value of the uniform policy."""
    plays = np.full((len(frame), arms), 1.0 / arms)
    work: dict[str, Callable[[], Any]] = {
        "driftbandits": lambda: log.value({"uniform": "uniform"}, period="week"),
        "vw-estimators": lambda: _vw_estimators(frame, plays),
    }
    if ope is not None:
        work["obp"] = lambda: _obp(frame, plays, np.zeros_like(plays))
    notes = {
        "driftbandits": "IPS, SNIPS, DM and DR by week with intervals, its own model, from Parquet",
        "vw-estimators": "IPS and SNIPS, from arrays",
        "obp": "IPS, SNIPS, DM and DR of a model that is given, from arrays",
    }
    times = interleaved(work, repetitions=3)
    return [
        summary(section, library, "values of a fixed policy", len(frame) / times[library].wall,
                unit="rows/s", note=notes[library])
        for library in work
    ]  # fmt: skip


def sample(folder: Path) -> Path:
    """The wheel of obp, which has the sample."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "obp==0.4.1"],
        check=True,
    )
    (wheel,) = folder.glob("obp-*.whl")
    return wheel


def _directions(folder: Path) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """For all campaigns: number of items, a log, and the log of the other logger."""
    with zipfile.ZipFile(sample(folder)) as archive:
        for campaign, arms in _CAMPAIGNS.items():
            random, bts = (
                _read(archive.open(f"obp/dataset/obd/{logger}/{campaign}/{campaign}.csv"))
                for logger in ("random", "bts")
            )
            yield arms, random, bts
            yield arms, bts, random


def _read(file: IO[bytes]) -> pd.DataFrame:
    """Rows in the order of time, as a log needs them."""
    frame = pd.read_csv(file, index_col=0)
    return frame.sort_values("timestamp", kind="stable").reset_index(drop=True)


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Shares of items per position, which estimate the logger's policy."""
    counts = frame.groupby(["position", "item_id"]).size()
    share = counts / counts.groupby(level=0).transform("sum")
    return share.rename("probability").reset_index().rename(columns={"item_id": "action"})


def _plays(table: pd.DataFrame, frame: pd.DataFrame, arms: int) -> Array:
    """Probability of each item in each row, shape (n, K)."""
    by_position = np.zeros((_POSITIONS + 1, arms))
    by_position[table["position"], table["action"]] = table["probability"]
    return np.asarray(by_position[frame["position"]])


def expected_rewards(log: Log) -> Array:
    """Expected reward of each arm in each row by the package's model of earlier rows, (n, K)."""
    model, found = RewardModel(log), []
    for batch in log.batches():
        for part, theta in model.pieces(batch):
            found.append(np.tile(theta[:, 0], (len(batch.time[part]), 1)))
    return np.concatenate(found)


def _vw_estimators(frame: pd.DataFrame, plays: Array) -> dict[str, float]:
    target = plays[np.arange(len(frame)), frame["item_id"]]
    by_name = {"IPS": ips.Estimator(), "SNIPS": snips.Estimator()}
    for p, r, pi in zip(frame["propensity_score"], frame["click"], target, strict=True):
        for estimator in by_name.values():
            estimator.add_example(p, r, pi)
    return {name: float(estimator.get()) for name, estimator in by_name.items()}


def _obp(frame: pd.DataFrame, plays: Array, expected: Array) -> dict[str, float]:
    logged: dict[str, Any] = {
        "reward": frame["click"].to_numpy(),
        "action": frame["item_id"].to_numpy(),
        "pscore": frame["propensity_score"].to_numpy(),
        "position": np.zeros(len(frame), dtype=int),
        "action_dist": plays[:, :, None],
        "estimated_rewards_by_reg_model": expected[:, :, None],
    }
    by_name = {
        "IPS": ope.InverseProbabilityWeighting(),
        "SNIPS": ope.SelfNormalizedInverseProbabilityWeighting(),
        "DM": ope.DirectMethod(),
        "DR": ope.DoublyRobust(),
    }
    return {name: float(one.estimate_policy_value(**logged)) for name, one in by_name.items()}
