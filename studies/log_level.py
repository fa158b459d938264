"""How often a level is called drifting, in logs with a constant level and in logs with a jump.

One log is 600 decisions among four arms with constant means 0.2, 0.5, 0.8 and 0.4, and several
kinds of noise. The uniform logger plays at random. The adaptive logger does so for 200 decisions,
and then plays the arm with the best mean so far in nine of ten decisions. A jump adds 0.5 to all
rewards in the second half.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from benchmarks.measure import Array, Row, Say, at_most, single

from driftbandits.logs import Log

NAME = "log-level"
_ROUNDS, _MEANS, _JUMP = 600, np.array([0.2, 0.5, 0.8, 0.4]), 0.5
_Draw = Callable[[np.random.Generator], Array]
_NOISE: dict[str, _Draw] = {
    "normal": lambda rng: _MEANS + rng.normal(size=(_ROUNDS, 4)),
    "heavy tails": lambda rng: _MEANS + rng.standard_t(2, (_ROUNDS, 4)),
    "noisy arms": lambda rng: _MEANS + rng.normal(size=(_ROUNDS, 4)) * [0.1, 0.5, 2.0, 5.0],
    "growing noise": lambda rng: (
        _MEANS + rng.normal(size=(_ROUNDS, 4)) * np.linspace(0.2, 3.0, _ROUNDS)[:, None]
    ),
    "sales": lambda rng: np.where(
        rng.random((_ROUNDS, 4)) < 0.06, _MEANS * rng.lognormal(3.0, 1.2, (_ROUNDS, 4)), 0.0
    ),
}


def run(*, quick: bool, say: Say) -> list[Row]:
    """False alarms, then power, by logger and kind of noise."""
    logs = 20 if quick else 200
    rows = []
    for adaptive in (False, True):
        name = "adaptive logger" if adaptive else "uniform logger"
        for kind in _NOISE:
            for jump in (0.0, _JUMP):
                say(f"log level: {kind}, jump of {jump:g}, {name}")
                rows += _shares(name, kind, adaptive, jump, logs)
    return rows


def _shares(name: str, kind: str, adaptive: bool, jump: float, logs: int) -> list[Row]:
    found = [
        Log.open(_log(kind, adaptive, jump, seed), arms=4).drift(simulations=99, seed=seed)
        for seed in range(logs)
    ]
    shares = {
        "log called drifting": np.mean([one.drifting for one in found]),
        "level called drifting": np.mean([one.level.drifts for one in found]),
    }
    aim = at_most(0.05 + 3 * (0.05 * 0.95 / logs) ** 0.5) if jump == 0.0 else None
    return [
        single(NAME, name, f"{kind}, jump of {jump:g}: {what}", float(share), aim=aim,
               note=f"{logs} logs, ± {(share * (1 - share) / logs) ** 0.5:.3f}")
        for what, share in shares.items()
    ]  # fmt: skip


def _log(kind: str, adaptive: bool, jump: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([seed, 11])
    table = _NOISE[kind](rng) + jump * (np.arange(_ROUNDS) >= _ROUNDS // 2)[:, None]
    chosen, tries = rng.integers(0, 4, _ROUNDS), rng.random(_ROUNDS) < 0.1
    tries[: _ROUNDS // 3 if adaptive else _ROUNDS] = True
    totals, plays = np.zeros(4), np.zeros(4)
    for t in range(_ROUNDS):
        if not tries[t]:
            chosen[t] = np.argmax(totals / np.maximum(plays, 1.0))
        totals[chosen[t]] += table[t, chosen[t]]
        plays[chosen[t]] += 1.0
    reward = table[np.arange(_ROUNDS), chosen]
    return pd.DataFrame({"time": 600.0 * np.arange(_ROUNDS), "chosen": chosen, "reward": reward})
