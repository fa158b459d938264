"""Speed of code compiled for a family of processors, compared with code for this processor.

``python -m benchmarks.processors`` times a decision and its update, in processes that take
turns, each with its own cache. This is the cost of an image that was built on another machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from driftbandits.experiments.standings_text import table

FAMILIES = {
    "this processor": {},
    "x86-64-v3": {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""},
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}
TURNS = 3
PROGRAM = """
import json, time
import numpy as np
from driftbandits import DLinUCB

def microseconds(dim, count, rounds=500):
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((count, dim))
    actions /= 1.001 * np.linalg.norm(actions, axis=1, keepdims=True)
    policy, times = DLinUCB(dim=dim, gamma=0.99), []
    for _ in range(6):
        start = time.process_time()
        for _ in range(rounds):
            policy.update(actions[policy.select(actions)], 0.5)
        times.append((time.process_time() - start) / rounds * 1e6)
    return min(times[1:])

print(json.dumps([microseconds(2, 50), microseconds(20, 50), microseconds(100, 100)]))
"""


def measure(variables: dict[str, str], cache: Path) -> list[float]:
    """Microseconds at each size, in a process with these environment variables."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | variables | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


def main() -> None:
    """Print a table of microseconds: the minimum of all turns."""
    with tempfile.TemporaryDirectory() as folder:
        turns = [
            {name: measure(of, Path(folder) / name) for name, of in FAMILIES.items()}
            for _ in range(TURNS)
        ]
    rows = [
        (name, *(f"{min(t[name][i] for t in turns):.1f}" for i in range(3))) for name in FAMILIES
    ]
    print(table(("Compiled for", "d = 2, K = 50", "d = 20, K = 50", "d = 100, K = 100"), rows))


if __name__ == "__main__":
    main()
