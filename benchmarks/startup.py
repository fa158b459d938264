"""Start-up: first decisions with and without compiled code, and compilation for a reproduction."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

from .measure import Row, Say, at_most, seconds, single, summary

NAME = "startup"

_FIRST_DECISION = """
import numpy as np
from driftbandits import DLinUCB
policy = DLinUCB(dim=2, gamma=0.99)
policy.select(np.eye(2))
"""

# Processor time of the first decision, its reward, and a late reward.
_FIRST_REWARDS = """
import time
import numpy as np
from driftbandits import {policy}
actions, policy = np.eye(20), {policy}(dim=20, {options})
start = time.process_time()
chosen = policy.select(actions)
policy.update(actions[chosen], 0.5)
policy.update(actions[0], 0.5, round=1)
print(time.process_time() - start)
"""
# Options of each policy, and the most seconds it may take.
_AIMS = {"DLinUCB": ("gamma=0.99", 5.0), "AdaptiveLinUCB": ("", 8.0)}

# Compile everything for `driftbandits reproduce`, by playing two rounds of each experiment.
_REPRODUCE = """
import pathlib, tempfile, time
from numba.core import event

class Compiling(event.Listener):
    depth, started, total, cpu = 0, (0.0, 0.0), 0.0, 0.0

    def on_start(self, event):
        if self.depth == 0:
            self.started = time.perf_counter(), time.process_time()
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1
        if self.depth == 0:
            self.total += time.perf_counter() - self.started[0]
            self.cpu += time.process_time() - self.started[1]

compiling = Compiling()
event.register("numba:compile", compiling)
from driftbandits.experiments import BUILT_IN, build, built_in
from driftbandits.simulation import warm_up
with tempfile.TemporaryDirectory() as folder:
    for name in BUILT_IN:
        experiment = build(built_in(name), cache=pathlib.Path(folder))
        warm_up(experiment.environment, experiment.policies)
print(compiling.total, compiling.cpu)
"""


def run(*, quick: bool, say: Say) -> list[Row]:
    """All measurements, in fresh processes with separate caches."""
    with tempfile.TemporaryDirectory() as cache:
        say("startup: the first process compiles")
        first = seconds(lambda: _python(_FIRST_DECISION, cache))
        say("startup: the second loads what was compiled")
        repetitions = 3 if quick else 9
        bare = np.array([seconds(lambda: _python("", cache)) for _ in range(repetitions)])
        warm = np.array(
            [seconds(lambda: _python(_FIRST_DECISION, cache)) for _ in range(repetitions)]
        )
    rows = [
        single(NAME, "first process ever", "import and first decision", first, unit="s"),
        summary(NAME, "bare interpreter", "start and exit", bare, unit="s"),
        summary(
            NAME, "second process", "import and first decision", warm, unit="s", aim=at_most(1.5)
        ),
    ]
    repetitions = 1 if quick else 3
    return rows + _first_rewards(repetitions, say) + _compilation(repetitions, say)


def _first_rewards(repetitions: int, say: Say) -> list[Row]:
    rows = []
    for policy, (options, aim) in _AIMS.items():
        say(f"startup: the first decision and rewards of {policy}")
        code, cpu = _FIRST_REWARDS.format(policy=policy, options=options), np.empty(repetitions)
        for repetition in range(repetitions):
            with tempfile.TemporaryDirectory() as cache:
                cpu[repetition] = float(_python(code, cache))
        what = "processor time of select, update and a late reward, d = 20"
        rows.append(summary(NAME, policy, what, cpu, unit="s", aim=at_most(aim)))
    return rows


def _compilation(repetitions: int, say: Say) -> list[Row]:
    wall, cpu, again = np.empty(repetitions), np.empty(repetitions), np.empty(repetitions)
    for repetition in range(repetitions):
        with tempfile.TemporaryDirectory() as cache:
            say("startup: compiling what a reproduction needs")
            wall[repetition], cpu[repetition] = _compiling(cache)
            again[repetition], _ = _compiling(cache)
    return [
        summary(
            NAME,
            "first reproduction ever",
            "processor time compiling",
            cpu,
            unit="s",
            aim=at_most(15),
            note="as numba counts it",
        ),
        summary(NAME, "first reproduction ever", "wall time compiling", wall, unit="s"),
        summary(NAME, "second reproduction", "wall time compiling", again, unit="s"),
    ]


def _compiling(cache: str) -> tuple[float, float]:
    """Wall and processor time that a fresh process spends compiling."""
    wall, cpu = (float(x) for x in _python(_REPRODUCE, cache).split())
    return wall, cpu


def _python(code: str, cache: str) -> str:
    """The output of a fresh interpreter with its compilation cache in ``cache``."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
