"""Logs with known truth: how often drift is found, and how often intervals cover.

One log is 500 decisions among five actions in three dimensions, with noise 1. Half-way the
parameter changes sign; its norm is the size of the jump. A jump of size 0 is a log that does not
drift. The adaptive logger is ε-greedy (ε = 0.2) on a ridge regression of the past.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.measure import Array, Row, Say, at_least, at_most, single

from driftbandits.logs import Log

NAME = "log-truth"
_ROUNDS, _ARMS, _DIM = 500, 5, 3
_SIZES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
# Expected maximum of five standard normal numbers.
_MAX_OF_FIVE = 1.1629644736405196


def run(*, quick: bool, say: Say) -> list[Row]:
    """The power curve, then the coverage of weekly intervals."""
    logs = 20 if quick else 100
    rows = []
    for adaptive in (False, True):
        name = "adaptive logger" if adaptive else "uniform logger"
        for size in _SIZES:
            say(f"log truth: drift of size {size}, {name}")
            found = [_drifts(size, adaptive, seed) for seed in range(logs)]
            note = f"{logs} logs of {_ROUNDS} rows, ± {_error(found):.3f}"
            aim = at_most(0.05 + 3 * (0.05 * 0.95 / logs) ** 0.5) if size == 0 else None
            rows.append(
                single(NAME, name, f"jump of {size:g}: called drifting", float(np.mean(found)),
                       aim=aim, note=note)
            )  # fmt: skip
        say(f"log truth: coverage, {name}")
        rows += _coverage(name, adaptive, logs)
    return rows


def _error(found: list[bool]) -> float:
    return float(np.std(found) / np.sqrt(len(found)))


def _drifts(size: float, adaptive: bool, seed: int) -> bool:
    frame, _, _ = _log(size, adaptive, seed)
    return Log.open(frame).drift(simulations=99, seed=seed).drifting


def _coverage(name: str, adaptive: bool, logs: int) -> list[Row]:
    """Share of intervals that contain the true value of playing the largest first coordinate."""
    hits: dict[str, list[bool]] = {"IPS": [], "SNIPS": [], "DR": [], "IPS, anytime": []}
    for seed in range(logs):
        frame, first, theta = _log(1.0, adaptive, seed)
        bounded = frame.assign(reward=frame["reward"].clip(-9.0, 9.0))
        log = Log.open(bounded.assign(pi=first), reward_bounds=(-9.0, 9.0))
        found = log.value({"pi": "column:pi"}, period="168")
        for key, rows in {"168 h": slice(168, 336), "336 h": slice(336, 500)}.items():
            truth = theta[rows, 0].mean() * _MAX_OF_FIVE / np.sqrt(_DIM)
            for estimator, seen in hits.items():
                one = found.of("pi", estimator, key)
                seen.append(bool(one["low"] <= truth <= one["high"]))
    count = 2 * logs
    least = 0.95 - 3 * (0.95 * 0.05 / count) ** 0.5
    return [
        single(NAME, name, f"coverage of weekly intervals, {estimator}", float(np.mean(seen)),
               aim=at_least(least), note=f"{count} weeks")
        for estimator, seen in hits.items()
    ]  # fmt: skip


def _log(size: float, adaptive: bool, seed: int) -> tuple[pd.DataFrame, list[Any], Array]:
    """A log, the probabilities of the fixed policy in it, and the parameters (n, d)."""
    rng = np.random.default_rng([seed, 3])
    actions = rng.normal(size=(_ROUNDS, _ARMS, _DIM)) / np.sqrt(_DIM)
    start = rng.normal(size=_DIM)
    start /= np.linalg.norm(start)
    theta = np.tile(start, (_ROUNDS, 1))
    if size > 0.0:
        theta *= size
        theta[_ROUNDS // 2 :] *= -1.0
    gram, moment = np.eye(_DIM), np.zeros(_DIM)
    chosen, reward = np.empty(_ROUNDS, dtype=int), np.empty(_ROUNDS)
    propensity = np.empty(_ROUNDS)
    for t in range(_ROUNDS):
        p = np.full(_ARMS, 1.0 / _ARMS)
        if adaptive:
            p[:] = 0.2 / _ARMS
            p[int(np.argmax(actions[t] @ np.linalg.solve(gram, moment)))] += 0.8
        chosen[t] = rng.choice(_ARMS, p=p)
        propensity[t] = p[chosen[t]]
        action = actions[t, chosen[t]]
        reward[t] = action @ theta[t] + rng.normal()
        gram += np.outer(action, action)
        moment += reward[t] * action
    frame = pd.DataFrame(
        {
            "time": np.arange(_ROUNDS) * 3600.0,
            "actions": actions.tolist(),
            "chosen": chosen,
            "propensity": propensity,
            "reward": reward,
        }
    )
    first = np.eye(_ARMS)[np.argmax(actions[:, :, 0], axis=1)]
    return frame, first.tolist(), theta
