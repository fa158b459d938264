"""The same tests with the compiler off, as for a debugger."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# Files and a selection of their tests: all of the mathematics, and a part of the rest. Each part
# runs in a process, which takes seconds to start.
PARTS = {
    "mathematics": (
        [
            "test_policies_exact.py",
            "test_invariances.py",
            "test_changed_memory.py",
            "test_events.py",
            "test_estimator.py",
            "test_confidence.py",
        ],
        "",
    ),
    "objects": (
        ["test_contract.py", "test_testing.py", "test_dynamic_linucb.py", "test_bad_input.py"],
        "(test_promise and few and not long_silence) or broken or a_change or quantile"
        " or test_select or test_advance",
    ),
}


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="the compiler is off already"
)
@pytest.mark.parametrize(("files", "choice"), PARTS.values(), ids=PARTS.keys())
def test_without_the_compiler(files: list[str], choice: str) -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "DRIFTBANDITS_PROFILE": "plain"}
    options = ["-q", "-x", "-k", choice, "-m", "not thorough", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *(str(TESTS / name) for name in files), *options],
        env=environment,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
