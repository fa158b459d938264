"""The cache of machine code never mixes up two functions, in one process or across several."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftbandits.core import compiling
from driftbandits.core.entry_points import Kernels, entry_points
from driftbandits.core.identity import identity
from driftbandits.core.packing import FIRST_PARAMETER, Field, fields_of, pack
from driftbandits.core.unpacking import unpacker

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without the compiler"
)

# A factory makes kernels with the same name. They use a recursive function, which LLVM cannot
# inline. Each line of input starts a process; all of them share the slow import of numba.
FACTORY = """
import os
import sys

import numba

from driftbandits.core.compiling import entry_point

for which in sys.stdin:
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()

import helper


def make(answer):
    @numba.njit
    def work(n):
        total = 0
        for i in range(n):
            if i % 7 == 3:
                total += work(n // 2 - 1)
            total += (i * answer) % 3
        return total * 0 + answer

    @numba.njit
    def question(n):
        return work(n) + helper.more()

    return question


def template(n):
    return question(n)


def question(n):
    return 0


for answer in map(int, which.strip()):
    print(entry_point(template, "mine", question=make(answer))(40), end=" ")
"""

HELPER = "import numba\n\n@numba.njit\ndef more():\n    return {}\n"


@contextmanager
def factory(folder: Path) -> Iterator[Callable[[str], list[int]]]:
    """The answers of the kernels of "1", "2", "12" or "21", in a separate process."""
    with subprocess.Popen(
        [sys.executable, "-B", str(folder / "factory.py")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def ask(which: str) -> list[int]:
            assert process.stdin is not None
            assert process.stdout is not None
            print(which, file=process.stdin, flush=True)
            *found, status = map(int, process.stdout.readline().split())
            assert status == 0
            return found

        yield ask


@compiled_only
def test_kernels_of_one_name_keep_their_own_code_across_processes(tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(FACTORY)
    (tmp_path / "helper.py").write_text(HELPER.format(0))
    with factory(tmp_path) as answers:
        assert answers("1") == [1]
        assert answers("2") == [2]
    files = set((tmp_path / "cache").rglob("*.nbc"))
    assert len(files) == 2
    # Both come from the cache, although each process numbers its functions in its own way. Hashes
    # of text differ because Python was started again.
    with factory(tmp_path) as answers:
        assert answers("12") == [1, 2]
        assert answers("21") == [2, 1]
        assert set((tmp_path / "cache").rglob("*.nbc")) == files
        (tmp_path / "helper.py").write_text(HELPER.format(40))
        assert answers("12") == [41, 42]


class Parameters(NamedTuple):
    """One number."""

    unused: float


def _state(*names: str) -> Any:
    """A named tuple called State, with arrays that have these names."""
    return NamedTuple("State", [(name, np.ndarray) for name in names])


@compiling.kernel
def _nothing(*arguments: Any) -> Any:
    return 0


@compiling.kernel
def _advance(parameters: Any, state: Any, rounds: float) -> None:
    state.counters[0] += rounds


def _advanced(kind: Any) -> dict[str, float]:
    """The arrays of a state, each of length 1, after the clock has moved by one."""
    packed, state = pack([0.0] * (FIRST_PARAMETER + 1), kind(np.zeros(1), np.zeros(1)))
    kernels = Kernels("same", Parameters, kind, _nothing, _nothing, _advance, _nothing)
    entry_points(kernels, fields_of(state)).advance(packed, 1.0)
    return {name: float(array[0]) for name, array in state._asdict().items()}


@compiled_only
def test_states_of_one_name_that_order_their_arrays_differently_are_told_apart() -> None:
    for names in (("counters", "other"), ("other", "counters")):
        assert _advanced(_state(*names)) == {"counters": 1.0, "other": 0.0}


def _typed(text: str) -> types.FunctionType:
    names: dict[str, Any] = {"__name__": "typed", "np": np}
    exec(text, names)  # noqa: S102
    function = names["f"]
    assert isinstance(function, types.FunctionType)
    return function


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(): return 1", "def f(): return 2"),
        ("def f(): return 1", "def f(): return 1.0"),
        ("def f(x=1): return x", "def f(x=2): return x"),
        ("c = 1\ndef f(): return c", "c = 2\ndef f(): return c"),
        ("def g(): return 1\ndef f(): return g()", "def g(): return 2\ndef f(): return g()"),
        ("c = np.zeros(2)\ndef f(): return c", "c = np.ones(2)\ndef f(): return c"),
        ("def f(): return np.sin(1)", "def f(): return np.cos(1)"),
        ("def f():\n def g(): return 1\n return g", "def f():\n def g(): return 2\n return g"),
    ],
)
def test_functions_differ_by_all_that_they_use(one: str, other: str) -> None:
    first, again, second = (identity([_typed(text)]) for text in (one, one, other))
    assert first is not None
    assert first == again
    assert first != second


def test_functions_that_call_each_other_end() -> None:
    text = "def g(): return f()\ndef f(): return g()"
    assert identity([_typed(text)]) == identity([_typed(text)])


def test_what_cannot_be_compared_is_not_cached() -> None:
    function = _typed("c = object()\ndef f(): return c")
    assert identity([function]) is None
    if compiling.COMPILING:
        made: Any = compiling.entry_point(_typed("def f(): return 0"), "mine", g=function)
        assert made._cache.cache_path is None


@compiled_only
def test_unpackers_are_told_apart_by_their_fields() -> None:
    state = _state("counters", "other")
    flat, square = (Field(ndim, np.dtype(float)) for ndim in (1, 2))
    made = [identity([unpacker(Parameters, state, (flat, other))]) for other in (flat, square)]
    assert None not in made
    assert made[0] != made[1]
