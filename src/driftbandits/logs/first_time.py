"""The first time that a question is asked, a separate process compiles the code for it.

Compiling takes 150 MB or more, and numba and LLVM never free it. To save this memory, another
process compiles and leaves the code in numba's cache on disk. If there is no such cache, or the
other process fails, the first call compiles as usual.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..core.compiling import stored
from ..policies import DLinUCB, Policy
from .drift import drift
from .earning import regrets
from .fit import fit
from .lanes import walk
from .memory import memory
from .reading import LogReader
from .replay import replay
from .schema import Schema
from .scores import expect, moments
from .sources import open_source
from .targets import uniform
from .value import value
from .world import to_environment

_ROWS = 120
_CHILD = "from driftbandits.logs.first_time import compile_here; compile_here()"


class _Need(NamedTuple):
    """Compiled code of a question: entry points, policy calls, and a function that runs them."""

    entries: tuple[Any, ...]
    calls: tuple[str, ...]
    ask: Callable[[LogReader, list[Policy]], Any]


def _memory(log: LogReader, policies: list[Policy]) -> None:
    found = memory(log)
    regrets(to_environment(log, memory=20.0, rounds=100), found.setup, np.array([20.0, np.inf]))


def _drift(log: LogReader, policies: list[Policy]) -> None:
    drift(log, simulations=59)
    _memory(log, policies)


_NEEDS = {
    "memory": _Need((walk,), ("play",), _memory),
    "drift": _Need((walk,), ("play",), _drift),
    "value": _Need((walk, expect, moments), (), lambda log, _: value(log, {"u": uniform})),
    "replay": _Need(
        (walk, moments), ("select",), lambda log, p: replay(log, {"": p[0]}, full_traffic=False)
    ),
    "fit": _Need((), ("replay",), lambda log, p: fit(log, p[0])),
}


def compile_apart(question: str, policies: Sequence[Policy] = ()) -> None:
    """Let another process compile the code of a question, unless it is on disk already."""
    need = _NEEDS[question]
    played: list[Policy | None] = [None]
    if "play" in need.calls:
        played = [DLinUCB(dim=2, gamma=0.9)]
    elif need.calls:
        played = [p for p in policies if type(p).__module__.startswith("driftbandits.")]
    for policy in played:
        calls = [] if policy is None else [getattr(policy._calls, name) for name in need.calls]
        if all(stored(call) for call in (*need.entries, *calls)):
            continue
        told = {"question": question, "policy": None if policy is None else _described(policy)}
        subprocess.run(  # noqa: S603 - all arguments are our own
            [sys.executable, "-c", _CHILD, json.dumps(told)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )


def _described(policy: Policy) -> dict[str, Any]:
    kind = type(policy)
    return {"module": kind.__module__, "name": kind.__qualname__, "config": policy.config}


def compile_here() -> None:
    """Runs in the other process: ask a short log the same question."""
    told = json.loads(sys.argv[1])
    policies = [] if told["policy"] is None else [_rebuilt(told["policy"])]
    dim = policies[0].dim if policies else 2
    _NEEDS[told["question"]].ask(_short_log(dim), policies)


def _rebuilt(told: Mapping[str, Any]) -> Policy:
    policy: Policy = getattr(import_module(told["module"]), told["name"])(**told["config"])
    return policy


def _short_log(dim: int) -> LogReader:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 2, _ROWS)
    actions = 1e-3 * rng.random((_ROWS, 2, dim))  # within the bound of any policy
    columns = {
        "time": np.arange(_ROWS) * 60.0,
        "actions": actions.tolist(),
        "chosen": chosen,
        "propensity": np.full(_ROWS, 0.5),
        "reward": rng.random(_ROWS),
    }
    source = open_source(pa.table(columns), rows=_ROWS)
    return LogReader(source, Schema(), catalogue=None, features=None, on_bad="stop")
