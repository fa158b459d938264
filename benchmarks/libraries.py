"""Libraries from PyPI on the same rounds: time per decision and per update, and regret.

All players of a replication meet the same actions and noise. For each library and environment,
several settings for drift are tried on separate replications, and the best one is measured.
driftbandits always has the paper's tuning.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from driftbandits import DLinUCB
from driftbandits.environments import Environment

from . import problems
from .measure import Array, Row, Say, at_least, mean_and_error, summary
from .players import (
    BayesianBandits,
    CobaLinUCB,
    Gittins,
    Library,
    MabWiserLinUCB,
    Player,
    RiverLinUCB,
    VowpalWabbit,
)

NAME = "libraries"
OURS = "driftbandits D-LinUCB"
TUNING_SEED, SEED = 1, 0

SHARED = (
    Library(
        "vowpalwabbit",
        VowpalWabbit,
        tuple(
            {"arguments": arguments}
            for arguments in (
                "--squarecb --gamma_scale 1000 --clip_p 1 --power_t 0 -l 3",
                "--squarecb --gamma_scale 1000 --clip_p 1 --power_t 0 -l 2",
                "--epsilon 0 --power_t 0 -l 3",
                "--epsilon 0 --power_t 0 -l 2",
            )
        ),
        "less work: hashed SGD, no covariance",
        tuning=4,
    ),
    Library(
        "gittins",
        Gittins,
        tuple(
            {"forgetfulness": f, "epsilon": e}
            for f, e in ((0.5, 0.0), (0.9, 0.0), (0.99, 0.0), (0.9, 0.05))
        ),
        "less work: hashed, a diagonal model, ε-greedy",
        tuning=4,
    ),
    Library(
        "bayesianbandits",
        partial(BayesianBandits, count=50, rule="StabilizedForgetting", policy="Thompson"),
        tuple(
            {"rate": rate, "noise": noise}
            for rate, noise in ((0.97, 0.4), (0.98, 0.4), (0.995, 0.15), (0.995, 0.4))
        ),
        "the same V, by Thompson sampling; UCB there is slower, by Monte Carlo",
    ),
    Library(
        "coba",
        CobaLinUCB,
        tuple({"alpha": alpha} for alpha in (1.0, 3.0)),
        "LinUCB; no setting for drift",
        tuning=1,
    ),
)
SEPARATE = (
    Library(
        "river",
        partial(RiverLinUCB, arms=5, alpha=0.1),
        tuple({"smoothing": s, "beta": b} for s in (0.8, 0.9, 0.95) for b in (1.0, 4.0)),
        "a model an arm, smoothing for drift",
    ),
    Library(
        "mabwiser",
        partial(MabWiserLinUCB, arms=5),
        tuple({"alpha": alpha} for alpha in (0.5, 1.0)),
        "a model an arm; no setting for drift",
    ),
)


class Played(NamedTuple):
    """One replication of one player."""

    regret: float
    decision: float  # seconds
    update: float  # seconds


def run(*, quick: bool, say: Say) -> list[Row]:
    """Every library on the environments that it can play."""
    warnings.simplefilter("ignore")  # the libraries warn a lot
    horizon, replications = (1500, 2) if quick else (6000, 3)
    rows = []
    for name, environment, theta_bound, rivals in (
        ("abrupt", problems.abrupt(horizon), 1.0, SHARED),
        ("slow", problems.slow(horizon), 1.0, SHARED),
        ("separate arms", problems.separate_arms(horizon), 5.0**0.5, SEPARATE),
    ):
        ours = partial(DLinUCB.tuned, problems.problem(environment, theta_bound))
        rows += _compare(name, environment, ours, rivals, replications, say)
    return rows


def _compare(
    name: str,
    environment: Environment,
    ours: Callable[[], Player],
    rivals: tuple[Library, ...],
    replications: int,
    say: Say,
) -> list[Row]:
    makes, notes, rows = {OURS: ours}, {OURS: "the paper's tuning"}, []
    play(ours(), environment, TUNING_SEED, 0)  # compiles, so that timing does not include it
    for library in rivals:
        say(f"libraries, {name}: {library.package}, {len(library.settings)} settings")
        try:
            best, tried = _best_setting(library, environment)
        except Exception as error:
            rows.append(unusable(NAME, library.package, name, error))
            continue
        makes[library.package] = partial(library.make, **best)
        notes[library.package] = f"{library.work}; tried {tried}"
    say(f"libraries, {name}: {replications} replications, side by side")
    played = [
        {who: play(make(), environment, SEED, replication) for who, make in makes.items()}
        for replication in range(replications)
    ]
    for who in makes:
        rows += _rows(f"{who}, {name}", who, played, notes[who])
    return rows


def _best_setting(library: Library, environment: Environment) -> tuple[dict[str, Any], str]:
    """The setting with the least mean regret on separate replications, and a list of all tried."""
    regrets = [
        np.mean(
            [
                play(library.make(**setting), environment, TUNING_SEED, replication).regret
                for replication in range(library.tuning)
            ]
        )
        for setting in library.settings
    ]
    words = [" ".join(str(value) for value in s.values()) for s in library.settings]
    tried = ", ".join(f"{w}: {r:.0f}" for w, r in zip(words, regrets, strict=True))
    return library.settings[int(np.argmin(regrets))], tried


def play(player: Player, environment: Environment, seed: int, replication: int) -> Played:
    """Play a replication, timing decisions and updates separately."""
    clock = time.perf_counter
    regret, deciding, updating = 0.0, 0.0, 0.0
    for block in environment.blocks(seed=seed, replication=replication):
        sets = np.ascontiguousarray(block.actions.transpose(0, 2, 1))
        for t in range(block.rounds):
            actions = sets[min(t, len(sets) - 1)]
            before = clock()
            k = player.select(actions)
            decided = clock()
            reward = float(block.means[t, k] + block.noise[t, 0])
            rewarded = clock()
            player.update(actions[k], reward)
            deciding += decided - before
            updating += clock() - rewarded
            regret += float(block.best[t] - block.means[t, k])
    return Played(regret, deciding / environment.horizon, updating / environment.horizon)


def _rows(subject: str, who: str, played: list[dict[str, Played]], note: str) -> list[Row]:
    def column(name: str, field: str) -> Array:
        return np.array([getattr(of[name], field) for of in played])

    decision, update = column(who, "decision"), column(who, "update")
    regret, error = mean_and_error(column(who, "regret"))
    rows = [
        summary(NAME, subject, "time a decision", decision * 1e6, unit="µs"),
        summary(NAME, subject, "time an update", update * 1e6, unit="µs"),
        Row(NAME, subject, "final regret", "", regret, regret - error, regret + error, note=note),
    ]
    if who != OURS:
        ratio = (decision + update) / (column(OURS, "decision") + column(OURS, "update"))
        rows.append(summary(NAME, f"{subject} / driftbandits", "ratio", ratio, aim=at_least(1)))
    return rows


def unusable(section: str, package: str, environment: str, error: Exception) -> Row:
    """The row of a library that is missing or fails."""
    try:
        reason = f"{package} {version(package)} failed: {error!r}"
    except PackageNotFoundError:
        reason = f"could not be installed, or is not: {error!r}"
    return Row(section, f"{package}, {environment}", "not compared", note=reason, failed=True)
