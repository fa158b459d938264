"""Encoding in other processes, and the modules that an import of the package loads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_ENCODE = """
from hashlib import sha256
from driftbandits.features import Features, Hashed, OneHot, PerAction, Rest, SlotTable, Tags
features = Features(
    context={"country": OneHot(["FR", "DE"]), "tags": Tags(["a", "b"]), "rest": Rest(7)},
    action={"author": Hashed(9), "title": Hashed(9, of="words"), "topics": Hashed(5, of="tags")},
    per_action=PerAction(slots=4),
)
topics = {"sport", "arts", "money", "travel", "health"}
actions = {
    f"a{n}": {"author": f"writer {n}", "title": f"News of day {n}", "topics": topics}
    for n in range(3)
}
context = {"country": "DE", "tags": {"a", "b", "c"}, "page": "home", "ab": ["x", "y"], "depth": 3}
slots = SlotTable(room=4).with_actions(actions)
print(features.digest, sha256(features.encode(context, actions, slots=slots)).hexdigest())
"""

_IMPORT = """
import sys
import driftbandits.features
heavy = {"pandas", "polars", "pyarrow", "sklearn", "matplotlib"} & set(sys.modules)
print(sorted(heavy))
"""


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_same_bytes_in_every_process(seed: str) -> None:
    """For any order of sets, and with the compiler off.

    The digits are fixed here. They do not depend on the platform either: only square roots,
    divisions and products are involved, and IEEE 754 defines their rounding.
    """
    printed = _python(_ENCODE, PYTHONHASHSEED=seed, NUMBA_DISABLE_JIT="1")
    assert printed.split() == [
        "ce4f3171cc45d0522f26d9893ece0e45",
        "9cbb47b92ecbea4edec8f5877d55ecad3c6d632a2370364881fa29baff7b7f2d",
    ]


def test_the_same_bytes_compiled() -> None:
    assert _python(_ENCODE).split() == _python(_ENCODE, NUMBA_DISABLE_JIT="1").split()


def test_importing_features_imports_no_data_frames() -> None:
    assert _python(_IMPORT) == "[]"
