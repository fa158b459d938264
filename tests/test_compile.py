"""The disk cache of compiled code is used only for the sources that it was made from."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from click.testing import CliRunner
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError, UnsupportedError
from numba.core.registry import cpu_target

import driftbandits
from draws import Rows
from driftbandits import FixedCatalogue, LinUCB
from driftbandits.cli import cli
from driftbandits.core import compiling
from driftbandits.core.shortcuts import shortcuts
from driftbandits.environments import Environment, Gaussian, PiecewiseConstant, canonical_basis
from driftbandits.least_squares import estimator
from driftbandits.simulation import simulate

PACKAGE = Path(driftbandits.__file__).parent

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no cache without the compiler"
)


@compiled_only
@pytest.mark.parametrize("name", ["select", "score", "learn_one", "learn_many", "advance", "play"])
def test_entry_points_carry_the_digest_of_the_package(name: str) -> None:
    entry = getattr(LinUCB(dim=2)._calls, name)
    assert entry._cache._cache_file.stamp == compiling.package_digest()


@compiled_only
def test_the_estimators_entry_points_do_too() -> None:
    stamp = estimator.widths_entry._cache._cache_file.stamp  # type: ignore[attr-defined]
    assert stamp == compiling.package_digest()


def test_a_constant_that_changes_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels contain constants from files without kernels."""
    copy = tmp_path / "driftbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiling, "_PACKAGE", copy)
    before = compiling.package_digest.__wrapped__()
    with (copy / "policies/adaptive/state.py").open("a") as file:
        file.write("NEW = 1.0\n")
    assert compiling.package_digest.__wrapped__() != before


@compiled_only
@pytest.mark.parametrize("decorate", [compiling.row_kernel, compiling.precise_kernel])
def test_row_kernels_compare_no_addresses(decorate: Any) -> None:
    """numba accepts the flag silently, even if the flag should have no effect any more."""

    def add(target: Any, source: Any) -> None:
        for i in range(target.size):
            target[i] += source[i]

    def checks(kernel: Any) -> int:
        kernel(np.zeros(8), np.ones(8))
        texts = kernel.for_python.inspect_llvm().values()
        return sum("vector.memcheck:" in text for text in texts)

    assert checks(compiling.lean_kernel(add)) == 1
    assert checks(decorate(add)) == 0


@compiled_only
def test_a_rare_kernel_is_not_copied_into_its_callers() -> None:
    def fill(target: Any) -> None:
        for i in range(8):
            target[i] = target[i] ** 3 + i

    def calls(kernel: Any) -> int:
        @compiling.lean_kernel
        def twice(target: Any) -> None:
            kernel(target)
            kernel(target)

        out = np.arange(8.0)
        twice(out)
        np.testing.assert_array_equal(out[:3], [0.0, 9.0, 1002.0])
        (text,) = twice.for_python.inspect_llvm().values()  # type: ignore[attr-defined]
        return sum(" call " in line and "fill" in line for line in text.splitlines())

    assert calls(compiling.lean_kernel(fill)) == 0
    assert calls(compiling.rare_kernel(fill)) == 2


@compiled_only
def test_a_lean_kernel_cannot_raise() -> None:
    """Its callers look for no exception, so it would be lost."""

    def root(x: float) -> float:
        if x < 0.0:
            raise ValueError("negative")
        return float(np.sqrt(x))

    def called_by(inner: Any) -> Any:
        @compiling.lean_kernel
        def caller(x: float) -> float:
            return float(inner(x))

        return caller

    for caller, message in (
        (called_by(compiling.lean_kernel(root)), "a lean kernel cannot raise"),
        (called_by(called_by(compiling.kernel(root))), "cannot call .*root.*, which may raise"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            caller(4.0)


@compiled_only
@pytest.mark.thorough
def test_indices_can_be_checked_in_lean_kernels(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from driftbandits.core.compiling import lean_kernel\n"
        "last = lean_kernel(lambda row, i: row[i])\n"
        "outer = lean_kernel(lambda row: last(row, row.size) + 1.0)\n"
        "outer(np.zeros(3))\n"
    )
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "IndexError" in run.stderr


@compiled_only
def test_a_definition_that_comes_later_is_found() -> None:
    """While a suite compiles, numba looks for new definitions only if there are more of them."""

    def added(x: float) -> float:
        raise NotImplementedError

    def outer(x: float) -> float:
        return 2.0 * added(x)

    compiled: Any = numba.njit
    with global_compiler_lock, shortcuts(cpu_target.target_context):
        with pytest.raises(TypingError):
            compiled(outer)(1.0)
        numba.extending.overload(added)(lambda x: lambda x: x + 1.0)
        assert compiled(outer)(1.0) == 4.0


@compiled_only
def test_policies_of_one_family_share_their_compiled_code() -> None:
    classes = driftbandits.registered()
    calls = {classes[name].kernels for name in ("LinUCB", "D-LinUCB", "SW-LinUCB", "LinUCB-OR")}
    assert len(calls) == 1


@compiled_only
def test_nothing_is_compiled_again_for_other_layouts() -> None:
    """Read-only arrays, strided arrays and other generators: the compiled code fits all of them."""

    def draw(round: int, generator: np.random.Generator) -> Any:
        return generator.uniform(-0.5, 0.5, (2, 2))

    def compiled() -> dict[str, int]:
        return {name: len(call.signatures) for name, call in calls.items()}

    policy, frozen, catalogue = LinUCB(dim=2), np.eye(2), canonical_basis(2)
    calls: dict[str, Any] = policy._calls._asdict()
    source = Environment(
        path=PiecewiseConstant([[1.0, 0.0]]), actions=catalogue, noise=Gaussian(1.0), horizon=9
    )
    simulate(source, {"LinUCB": policy}, replications=1)
    policy.select(frozen)
    policy.scores(frozen)
    policy.update(frozen[0], 1.0)
    policy.update(frozen, frozen[0])
    before = compiled()
    frozen.setflags(write=False)
    policy.select(frozen)
    policy.scores(np.eye(4)[::2, ::2])
    policy.update(frozen[0], 1.0)
    policy.update(frozen, frozen[0])
    FixedCatalogue(policy, frozen).select()
    simulate(replace(source, actions=Rows(draw)), {"LinUCB": policy}, replications=1)
    assert compiled() == before


@compiled_only
def test_other_kernels_under_the_same_name_are_other_entry_points() -> None:
    names = {
        compiling.entry_point(_answer, "same", question=kernel).__qualname__
        for kernel in (_one, _other)
    }
    assert len(names) == 2


def _answer() -> float:
    return float(question())


def _one() -> float:
    return 1.0


def _other() -> float:
    return 2.0


question = _one


def radius_of(package: Path, cache: Path) -> float:
    """A radius, computed in a separate process."""
    program = "from driftbandits import LinUCB; print(LinUCB(dim=1, delta=0.5).radius)"
    environment = os.environ | {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def copied(tmp_path: Path) -> Path:
    target = tmp_path / "driftbandits"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


@compiled_only
@pytest.mark.thorough
def test_an_edited_kernel_is_compiled_anew(tmp_path: Path) -> None:
    package, cache = copied(tmp_path), tmp_path / "cache"
    before = radius_of(package, cache)
    made = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    assert made
    assert radius_of(package, cache) == before
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == made
    kernel = package / "least_squares" / "radii.py"
    source = kernel.read_text()
    assert source.count("2.0 * np.log(1.0 / delta)") == 1
    kernel.write_text(source.replace("2.0 * np.log(1.0 / delta)", "8.0 * np.log(1.0 / delta)"))
    assert radius_of(package, cache) > before * 1.5


LIFE = """
import numpy as np
from numba.core import event

from driftbandits import Agent, DLinTS
from driftbandits.agent.preparing import compile_calls
from driftbandits.features import Cyclic, Features, PerAction

compile_calls(DLinTS)


class Compiled(event.Listener):
    functions = []

    def on_start(self, event):
        self.functions.append(event.data["dispatcher"].__qualname__)

    def on_end(self, event):
        pass


event.register("numba:compile", Compiled())
policy, actions = DLinTS(dim=5, gamma=0.9, noise=0.1, floor=0.1), np.eye(5)
for t in range(40):
    decision = policy.decide(actions)
    policy.update(actions[decision.index], 0.1 * t, round=decision.round)
    policy.update(actions[policy.select(actions)], 1.0)
policy.amend(actions[decision.index], round=decision.round, old=3.9, new=0.0)
policy.forget([2, 3])
policy.widths(actions), policy.theta, policy.propensities(actions), policy.copy().state()
features = Features(context={"hour": Cyclic(24)}, per_action=PerAction(slots=4))
agent = Agent(features=features, policy=DLinTS(dim=features.dim, gamma=0.9, noise=1.0), wait=2.0)
for t in range(30):
    choice = agent.decide({"hour": t % 24}, ["a", "b", f"c{t // 5}"], now=float(t))
    agent.reward(choice.id, 1.0, now=t + 0.5)
agent.remove(["a"])
agent.explain()
print(Compiled.functions)
"""


@compiled_only
@pytest.mark.thorough
def test_what_an_agent_calls_is_compiled_beforehand(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LIFE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_command_compiles_policies_by_label_or_class() -> None:
    done = CliRunner().invoke(cli, ["compile", "Random"], catch_exceptions=False)
    assert done.exit_code == 0
    assert re.fullmatch(r"Random: ready after \d+\.\d s\n", done.output)
