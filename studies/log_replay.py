"""Replay where the live value is known: the plain one, the tool's, and the tool's at full traffic.

Three articles; every so many visits another one becomes the best. A fair die writes the log. The
same D-LinUCB then plays live. Plain replay keeps the rows in which the policy and the die agree,
and forgets that time passed in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from benchmarks.measure import Array, Row, Say, at_least, single

from driftbandits import DLinUCB
from driftbandits.logs import Log
from driftbandits.logs.traffic import FULL

NAME = "log-replay"
_VISITS, _SETS = 12_000, np.eye(3)


@dataclass(frozen=True)
class Setting:
    """Click rates of the best and of the others, visits between changes, memory and noise told."""

    best: float
    others: float
    between: int
    memory: float
    noise: float

    def __str__(self) -> str:
        return (
            f"rates {self.best:g} and {self.others:g}, change every {self.between:,}, memory "
            f"{self.memory:g}, noise {self.noise:g}"
        )

    @property
    def rates(self) -> Array:
        """Click rate of each article in each visit, shape (n, 3)."""
        leader = np.arange(_VISITS) // self.between % 3
        return np.where(np.arange(3) == leader[:, None], self.best, self.others)

    @property
    def policy(self) -> DLinUCB:
        """The policy in question."""
        return DLinUCB(dim=3, gamma=1.0 - 1.0 / self.memory, noise=self.noise)


SETTINGS = (
    Setting(0.25, 0.05, 2000, 400.0, 0.05),
    Setting(0.25, 0.05, 2000, 400.0, 0.2),
    Setting(0.25, 0.05, 2000, 800.0, 0.1),
    Setting(0.25, 0.05, 2000, 250.0, 0.1),
    Setting(0.6, 0.2, 2000, 400.0, 0.1),
    Setting(0.25, 0.05, 1000, 400.0, 0.1),
)


class Outcome(NamedTuple):
    """Values per visit, and whether intervals hold the live one."""

    live: float
    plain: float
    replayed: float
    full: float
    held: bool
    full_held: bool


def run(*, quick: bool, say: Say) -> list[Row]:
    """Mean values and coverage of every setting."""
    logs, rows = 3 if quick else 20, list[Row]()
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
    rng, rates, rows = np.random.default_rng(seed), setting.rates, np.arange(_VISITS)
    chosen = rng.integers(0, 3, _VISITS)
    clicks = (rng.random(_VISITS) < rates[rows, chosen]).astype(float)
    frame = pd.DataFrame(
        {"time": 60.0 * rows, "chosen": chosen, "propensity": 1 / 3, "reward": clicks}
    )
    live = played_live(setting, np.random.default_rng([seed, 9]).random(_VISITS))
    found = Log.open(frame, arms=3).replay({"D-LinUCB": setting.policy})
    one, full = found.of("D-LinUCB"), found.of("D-LinUCB", FULL)
    return Outcome(
        live,
        plain_replay(setting, chosen, clicks),
        one["estimate"],
        full["estimate"],
        bool(one["low"] <= live <= one["high"]),
        bool(full["low"] <= live <= full["high"]),
    )


def played_live(setting: Setting, draws: Array) -> float:
    """Expected clicks per visit of the policy's choices in the world itself."""
    rates, player, total = setting.rates, setting.policy, 0.0
    for t in range(_VISITS):
        shown = player.select(_SETS)
        player.update(_SETS[shown], float(draws[t] < rates[t, shown]))
        total += rates[t, shown]
    return total / _VISITS


def plain_replay(setting: Setting, chosen: Any, clicks: Array) -> float:
    """As one would write it: rows that agree, one after the other."""
    player, total, kept = setting.policy, 0.0, 0
    for shown, click in zip(chosen, clicks, strict=True):
        if player.select(_SETS) == shown:
            player.update(_SETS[shown], click)
            total, kept = total + click, kept + 1
    return total / kept
