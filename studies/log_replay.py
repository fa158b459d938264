"""Replay compared with the known live value: plain replay, our replay, and ours at full traffic.

There are three articles. At fixed intervals another one becomes the best, either abruptly or slowly
(rates swing between that of the best and that of the others). The log is written by a uniform
logger, or by one that plays the recently best article in four of five visits. The same D-LinUCB
then plays live. Plain replay keeps the rows in which the policy and the logger agree, and ignores
the time between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from benchmarks.measure import Array, Row, Say, at_least, single

from driftbandits import DLinUCB
from driftbandits.logs import Log
from driftbandits.logs.estimators import FULL

NAME = "log-replay"
_VISITS, _SETS = 6000, np.eye(3)


@dataclass(frozen=True)
class Setting:
    """Click rates of the best and of the others, visits between changes, memory and noise level."""

    best: float
    others: float
    between: int
    memory: float
    noise: float
    slow: bool = False
    adaptive: bool = False

    def __str__(self) -> str:
        kind = "slow change" if self.slow else "change"
        logger = ", adaptive logger" if self.adaptive else ""
        return (
            f"rates {self.best:g} and {self.others:g}, {kind} every {self.between:,}, memory "
            f"{self.memory:g}, noise {self.noise:g}{logger}"
        )

    @property
    def rates(self) -> Array:
        """Click rate of each article in each visit, shape (n, 3)."""
        visits = np.arange(_VISITS)[:, None]
        if self.slow:
            turn = 2.0 * np.pi * (visits / self.between - np.arange(3)) / 3.0
            return self.others + (self.best - self.others) * 0.5 * (1.0 + np.cos(turn))
        return np.where(np.arange(3) == visits // self.between % 3, self.best, self.others)

    @property
    def policy(self) -> DLinUCB:
        """The policy that is replayed and played live."""
        return DLinUCB(dim=3, gamma=1.0 - 1.0 / self.memory, noise=self.noise)


SETTINGS = (
    Setting(0.25, 0.05, 2000, 400.0, 0.05),
    Setting(0.25, 0.05, 2000, 400.0, 0.2),
    Setting(0.25, 0.05, 2000, 800.0, 0.1),
    Setting(0.25, 0.05, 2000, 250.0, 0.1),
    Setting(0.6, 0.2, 2000, 400.0, 0.1),
    Setting(0.25, 0.05, 1000, 400.0, 0.1),
    Setting(0.25, 0.05, 2000, 400.0, 0.1, slow=True),
    Setting(0.25, 0.05, 1000, 400.0, 0.1, slow=True),
    Setting(0.25, 0.05, 2000, 400.0, 0.1, adaptive=True),
    Setting(0.25, 0.05, 2000, 400.0, 0.1, slow=True, adaptive=True),
)


class Outcome(NamedTuple):
    """Values per visit, and whether the intervals contain the live value."""

    live: float
    plain: float
    replayed: float
    full: float
    held: bool
    full_held: bool


def run(*, quick: bool, say: Say) -> list[Row]:
    """Mean values and coverage of every setting."""
    logs, rows = 3 if quick else 10, list[Row]()
    for setting in SETTINGS:
        say(f"log replay: {setting}")
        found = np.array([outcome(setting, seed) for seed in range(logs)], dtype=float)
        note, means = f"{logs} logs", found.mean(axis=0)
        names = ("live", "plain replay", "DR", "DR, full traffic")
        rows += [
            single(NAME, str(setting), n, v, note=note)
            for n, v in zip(names, means[:4], strict=True)
        ]
        least = 0.95 - 3 * (0.95 * 0.05 / logs) ** 0.5
        rows += [
            single(NAME, str(setting), "DR holds the live value", means[4], note=note),
            single(NAME, str(setting), "full traffic holds it", means[5], note=note,
                   aim=at_least(least)),
        ]  # fmt: skip
    return rows


def outcome(setting: Setting, seed: int) -> Outcome:
    """One log and one live run."""
    frame = written(setting, np.random.default_rng(seed))
    live = played_live(setting, np.random.default_rng([seed, 9]).random(_VISITS))
    found = Log.open(frame, arms=3).replay({"D-LinUCB": setting.policy})
    one, full = found.of("D-LinUCB"), found.of("D-LinUCB", FULL)
    return Outcome(
        live,
        plain_replay(setting, frame["chosen"], frame["reward"]),
        one["estimate"],
        full["estimate"],
        bool(one["low"] <= live <= one["high"]),
        bool(full["low"] <= live <= full["high"]),
    )


def written(setting: Setting, rng: np.random.Generator) -> pd.DataFrame:
    """The log."""
    rates, rows = setting.rates, np.arange(_VISITS)
    if not setting.adaptive:
        chosen, p = rng.integers(0, 3, _VISITS), np.full(_VISITS, 1 / 3)
        clicks = (rng.random(_VISITS) < rates[rows, chosen]).astype(float)
    else:
        chosen, p, clicks = _adaptive(rates, rng)
    return pd.DataFrame({"time": 60.0 * rows, "chosen": chosen, "propensity": p, "reward": clicks})


def _adaptive(rates: Array, rng: np.random.Generator) -> tuple[Any, Array, Array]:
    """The choices of a logger that prefers the article with the best recent click rate."""
    chosen, p, clicks = np.empty(_VISITS, dtype=int), np.empty(_VISITS), np.empty(_VISITS)
    clicked, shown = np.zeros(3), np.zeros(3)
    for t in range(_VISITS):
        chances = np.full(3, 0.1)
        chances[np.argmax(clicked / np.maximum(shown, 1.0))] += 0.7
        chosen[t] = k = rng.choice(3, p=chances)
        p[t], clicks[t] = chances[k], rng.random() < rates[t, k]
        clicked, shown = 0.998 * clicked, 0.998 * shown
        clicked[k] += clicks[t]
        shown[k] += 1.0
    return chosen, p, clicks


def played_live(setting: Setting, draws: Array) -> float:
    """Expected clicks per visit of the policy when it plays live."""
    rates, player, total = setting.rates, setting.policy, 0.0
    for t in range(_VISITS):
        shown = player.select(_SETS)
        player.update(_SETS[shown], float(draws[t] < rates[t, shown]))
        total += rates[t, shown]
    return total / _VISITS


def plain_replay(setting: Setting, chosen: Any, clicks: Any) -> float:
    """The obvious replay: the rows that agree, one after the other."""
    player, total, kept = setting.policy, 0.0, 0
    for shown, click in zip(chosen, clicks, strict=True):
        if player.select(_SETS) == shown:
            player.update(_SETS[shown], click)
            total, kept = total + click, kept + 1
    return total / kept
