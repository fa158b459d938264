"""Interrupted runs: the same command continues, repeats nothing, and gives the same bytes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftbandits import DLinUCB, DynamicLinUCB, Policy
from driftbandits.core.storage import read_state, write_state
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.simulation import Result, simulate
from driftbandits.simulation.engine import Plan, run

POLICIES: dict[str, Policy] = {
    "D-LinUCB": DLinUCB(dim=2, gamma=0.98),
    "dLinUCB": DynamicLinUCB(dim=2),
}


def environment(horizon: int = 400) -> Environment:
    return Environment(
        path=Rotation(angle=3.0, rounds=400),
        actions=ClippedCube(dim=2, count=5),
        noise=Gaussian(0.5),
        horizon=horizon,
    )


class InterruptionError(Exception):
    """Replaces Ctrl-C, at a moment that the test chooses."""


def interrupt_after(count: int, folder: Path, replications: int = 8) -> None:
    def progress(done: int, total: int) -> None:
        if done >= count:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        simulate(
            environment(),
            POLICIES,
            replications=replications,
            folder=folder,
            progress=progress,
            workers=2,
        )


def noting(seen: list[int], folder: Path, *, replications: int) -> Result:
    """Run or continue; ``seen`` gets the reported numbers of finished replications."""
    return simulate(
        environment(),
        POLICIES,
        replications=replications,
        folder=folder,
        progress=lambda done, total: seen.append(done),
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "whole")
    interrupt_after(3, tmp_path / "cut")
    seen: list[int] = []
    noting(seen, tmp_path / "cut", replications=8)
    assert seen[0] >= 3  # found on disk, not played again
    assert len(seen) == 8 - seen[0] + 1
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert not (tmp_path / "cut" / "parts").exists()


def test_a_complete_run_is_only_loaded(tmp_path: Path) -> None:
    first = simulate(environment(), POLICIES, replications=3, folder=tmp_path)
    before = files(tmp_path)
    calls: list[int] = []
    again = noting(calls, tmp_path, replications=3)
    assert calls == [3]
    assert files(tmp_path) == before
    np.testing.assert_array_equal(first.regret, again.regret)


def test_a_shorter_run_takes_nothing_away_from_a_longer_one(tmp_path: Path) -> None:
    interrupt_after(5, tmp_path)
    kept = sorted((tmp_path / "parts").glob("*/*.npz"))
    short = simulate(environment(), POLICIES, replications=2, folder=tmp_path)
    assert set(kept) <= set((tmp_path / "parts").glob("*/*.npz"))
    seen: list[int] = []
    result = noting(seen, tmp_path, replications=8)
    assert seen[0] >= 5
    np.testing.assert_array_equal(result.regret[:, :2], short.regret)
    assert not (tmp_path / "parts").exists()


def test_a_damaged_part_is_played_again(tmp_path: Path) -> None:
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "whole")
    interrupt_after(4, tmp_path / "cut")
    part = next((tmp_path / "cut" / "parts").glob("*/*.npz"))
    part.write_bytes(part.read_bytes()[:100])
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def cut(folder: Path) -> Path:
    """A part of an interrupted run."""
    interrupt_after(4, folder)
    return sorted((folder / "parts").glob("*/*.npz"))[0]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("regret", lambda array: array[:, 1:]),
        ("regret", lambda array: array[0]),
        ("regret", lambda array: array.astype(np.float32)),
        ("detections", lambda array: np.zeros(())),
        ("estimates", lambda array: np.zeros((2, 1, 2))),
        ("missed", lambda array: np.zeros((2, 3))),
        ("5/gram", lambda array: np.zeros(3)),
        ("gram", lambda array: np.zeros(3)),
    ],
)
def test_a_part_of_other_shapes_is_played_again(tmp_path: Path, name: str, change: Any) -> None:
    """A part with right checksums, but with arrays that do not belong to the run."""
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "whole")
    part = cut(tmp_path / "cut")
    header, arrays = read_state(part)
    write_state(part, header, arrays | {name: change(arrays.get(name, np.zeros(3)))})
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_part_that_claims_a_smaller_shape_is_played_again(tmp_path: Path) -> None:
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "whole")
    part = cut(tmp_path / "cut")
    whole = part.read_bytes()
    assert whole.count(b"(2, 200)") == 1
    part.write_bytes(whole.replace(b"(2, 200)", b"(2, 100)"))
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_part_under_the_name_of_another_is_played_again(tmp_path: Path) -> None:
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "whole")
    part = cut(tmp_path / "cut")
    other = next(path for path in part.parent.glob("*.npz") if path != part)
    part.write_bytes(other.read_bytes())
    simulate(environment(), POLICIES, replications=8, folder=tmp_path / "cut")
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_part_that_cannot_be_read_is_named_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    part = cut(tmp_path)
    kept = {path: path.read_bytes() for path in part.parent.iterdir()}
    original = Path.open

    def fail(path: Path, *arguments: Any, **options: Any) -> Any:
        if path == part:
            raise OSError(number, os.strerror(number))
        return original(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fail)
        with pytest.raises(OSError, match=part.name) as caught:
            simulate(environment(), POLICIES, replications=8, folder=tmp_path)
    assert caught.value.errno == number
    assert {path: path.read_bytes() for path in part.parent.iterdir()} == kept
    seen: list[int] = []
    noting(seen, tmp_path, replications=8)
    assert seen[0] == len(kept)


def test_policies_in_another_order_do_not_swap_their_numbers(tmp_path: Path) -> None:
    """Parts store rows by the position of the policy."""
    interrupt_after(4, tmp_path)
    turned = dict(reversed(POLICIES.items()))
    result = simulate(environment(), turned, replications=8, folder=tmp_path)
    expected = simulate(environment(), POLICIES, replications=8)
    for name in POLICIES:
        np.testing.assert_array_equal(result.final(name), expected.final(name))


def test_millions_of_replications_take_no_memory_before_they_run() -> None:
    tracemalloc.start()
    plan = Plan(environment(), POLICIES, 0, (400,))
    next(run(plan, range(2_000_000), workers=2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000  # with one future for each: billions


def test_parts_of_another_configuration_are_not_used(tmp_path: Path) -> None:
    interrupt_after(3, tmp_path)
    seen: list[int] = []
    simulate(
        environment(300),
        POLICIES,
        replications=8,
        folder=tmp_path,
        progress=lambda done, total: seen.append(done),
    )
    assert seen[0] == 0


# Each line of input forks a child, because importing takes longer than simulating.
SCRIPT = """
import os, sys
from test_resume import POLICIES, environment
from driftbandits.simulation import simulate
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        simulate(environment(20_000), POLICIES, replications=30, folder=sys.argv[1], workers=2)
        sys.exit()
    print(child, flush=True)
    sys.stdin.readline()  # until then its number is its own, though it may have ended
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_random_moments(tmp_path: Path, number: signal.Signals) -> None:
    """Killed again and again, it still ends with the bytes of an uninterrupted run."""
    simulate(environment(20_000), POLICIES, replications=30, folder=tmp_path / "whole")
    rng = np.random.default_rng(number.value)
    found = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environ = {**os.environ, "PYTHONPATH": found}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "cut")]
    with subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for attempt in range(7):
            process.stdin.write(b"simulate\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            if attempt < 6:
                time.sleep(rng.uniform(0.0, 0.6))
                os.kill(child, number)
            process.stdin.write(b"wait for it\n")
            process.stdin.flush()
            ended = int(process.stdout.readline())
        assert ended == 0  # the last run, which was not killed
        process.stdin.close()
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
