"""Questions to your own log: does it drift, how long to remember, what would a policy have earned?

>>> import numpy as np
>>> import pandas as pd
>>> from driftbandits.logs import Log
>>> rng = np.random.default_rng(0)
>>> frame = pd.DataFrame(
...     {
...         "time": np.arange(2000) * 60.0,
...         "chosen": rng.integers(0, 2, 2000),
...         "propensity": 0.5,
...     }
... )
>>> better = (frame["chosen"] == 0) == (frame.index < 1000)  # the better arm changes half-way
>>> frame["reward"] = (rng.random(2000) < np.where(better, 0.6, 0.3)).astype(float)
>>> log = Log.open(frame, arms=("a", "b"), reward_bounds=(0, 1))
>>> log.drift(simulations=99).drifting
True
>>> row = log.value({"uniform": "uniform"}).of("uniform", "IPS")
>>> bool(row["low"] < 0.45 < row["high"])
True
"""

from .batch import Batch
from .health import Check
from .log import Log
from .memory import Memory
from .recorder import Recorder
from .schema import CannotAnswer, Catalogue, Encoder, LogError, Schema
from .sums import Sums
from .value import Value
from .verdict import Drift, Question
from .world import LogModel

__all__ = [
    "Batch",
    "CannotAnswer",
    "Catalogue",
    "Check",
    "Drift",
    "Encoder",
    "Log",
    "LogError",
    "LogModel",
    "Memory",
    "Question",
    "Recorder",
    "Schema",
    "Sums",
    "Value",
]
