"""The command line as a person uses it, in separate processes or nearly so."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from driftbandits import cli
from driftbandits.simulation import Result

PYTHON_EXPERIMENT = """
from driftbandits import LinUCB, Random
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.experiments import Experiment


class AlwaysFirst:
    def select(self, actions):
        return 0

    def update(self, action, reward):
        pass


experiment = Experiment(
    name="mine",
    title="Mine <b>& only</b> mine",
    environment=Environment(
        path=Rotation(angle=1.0, rounds=50),
        actions=ClippedCube(dim=2, count=4),
        noise=Gaussian(0.1),
        horizon=80,
    ),
    policies={"LinUCB": LinUCB(dim=2), "first": lambda replication: AlwaysFirst()},
    replications=3,
)
"""

TOML_EXPERIMENT = """
horizon = 80
replications = 3
policies = ["LinUCB"]
[environment]
path = { kind = "rotation", angle = 1.0, rounds = 50 }
actions = { kind = "clipped-cube", dim = 2, count = 4 }
noise = { kind = "gaussian", level = 0.1 }
"""


InProcess = Callable[..., subprocess.CompletedProcess[str]]


def driftbandits(*arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "driftbandits", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    """The same without a process, because starting one takes longer than the test."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["driftbandits", *arguments])
        capsys.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, code, said.out, said.err)

    return run


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A file that is not Criteo's log."""
    file = tmp_path / "foreign.tsv.gz"
    file.write_text("not a gzip file")
    return file


SMALL = ("--replications", "3", "--horizon", "120")


def test_reproduce_writes_results_figures_and_a_report(tmp_path: Path) -> None:
    done = driftbandits("reproduce", "abrupt", *SMALL, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    summary = pd.read_csv(tmp_path / "abrupt" / "summary.csv")
    assert list(summary["policy"]) == [
        "D-LinUCB",
        "D-LinUCB (as published)",
        "SW-LinUCB",
        "dLinUCB",
        "LinUCB",
        "LinUCB-OR",
        "AdaptiveLinUCB",
    ]
    # Policies that are not in the paper are listed separately.
    papers, _, others = done.stdout.partition("told nothing; not in the paper:")
    assert "LinUCB-OR" in papers
    assert "AdaptiveLinUCB" not in papers
    assert "AdaptiveLinUCB" in others
    page = (tmp_path / "report.html").read_text("utf-8")
    table = page.partition('id="experiment-1-final"')[2].partition("</table>")[0]
    papers, _, others = table.partition('<tr class="group">')
    assert "LinUCB-OR" in papers.rpartition("</thead>")[2]
    assert "Told nothing; not in the paper" in others
    assert "AdaptiveLinUCB" in others.partition("</tr>")[2]
    assert (tmp_path / "abrupt" / "detections.csv").exists()
    assert (tmp_path / "report.html").stat().st_size > 1_000_000
    for suffix in ("png", "pdf", "svg"):
        assert list((tmp_path / "abrupt" / "figures").glob(f"*.{suffix}"))


def test_the_same_command_again_repeats_nothing_and_changes_nothing(tmp_path: Path) -> None:
    driftbandits("reproduce", "slow", *SMALL, "--out", str(tmp_path), "--workers", "1")
    before = files(tmp_path)
    again = driftbandits("reproduce", "slow", *SMALL, "--out", str(tmp_path), "--workers", "2")
    assert "3 of 3 replications were there already" in " ".join(again.stderr.split())
    assert files(tmp_path) == before


def test_overrides_and_policies(tmp_path: Path, in_process: InProcess) -> None:
    done = in_process(
        *("reproduce", "slow", *SMALL, "--out", str(tmp_path), "--seed", "7"),
        *("--set", "environment.noise.level=0.25", "--policy", "LinUCB"),
    )
    assert done.returncode == 0, done.stderr
    assert list(pd.read_csv(tmp_path / "slow" / "summary.csv")["policy"]) == ["LinUCB"]
    command = Result.load(tmp_path / "slow").config["command"]
    assert command == (
        "driftbandits reproduce slow --replications 3 --horizon 120 --seed 7 "
        "--policy LinUCB --set environment.noise.level=0.25"
    )


def test_run_takes_a_python_file(tmp_path: Path, in_process: InProcess) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PYTHON_EXPERIMENT)
    done = in_process("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert set(pd.read_csv(tmp_path / "out" / "mine" / "summary.csv")["policy"]) == {
        "LinUCB",
        "first",
    }
    assert "<b>& only</b>" not in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_report_draws_again(tmp_path: Path, in_process: InProcess) -> None:
    in_process("reproduce", "slow", *SMALL, "--out", str(tmp_path))
    before = files(tmp_path)
    (tmp_path / "report.html").unlink()
    assert in_process("report", str(tmp_path)).returncode == 0
    assert files(tmp_path) == before


def test_policies_are_listed_one_a_line(in_process: InProcess) -> None:
    lines = in_process("policies").stdout.splitlines()
    assert any(re.match(r"D-LinUCB\s+DLinUCB: ", line) for line in lines)
    assert not any("published" in line for line in lines)


@pytest.mark.parametrize("command", ["", "reproduce", "run", "report", "log", "journal", "serve"])
def test_help_is_there(command: str, in_process: InProcess) -> None:
    done = in_process(*command.split(), "-h")
    assert done.returncode == 0
    assert "Usage:" in done.stdout
    assert "\\b" not in done.stdout  # click's mark for "do not wrap" must not appear as text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "nothing"], "nothing"),
        (["reproduce", "slow", "--replications", "0"], "replications"),
        (["reproduce", "slow", "--policy", "Nobody"], "Nobody"),
        (["reproduce", "slow", "--set", "horizon"], "KEY=VALUE"),
        (["reproduce", "slow", "--set", "colour=3"], "colour"),
        (["reproduce", "criteo", "--data", "absent.gz"], "absent.gz"),
        (["run", "absent.toml"], "absent.toml"),
        (["report", "."], "no results"),
        (["unknown"], "unknown"),
        (["reproduce", "slow", "--seed", str(2**63)], "--seed"),
        (["reproduce", "slow", "--set", f"replications={2**63}"], "64 bits"),
        (["reproduce", "slow", "--set", "published=970"], "published"),
        (["reproduce", "slow", "--set", "description=3"], "description"),
        (["reproduce", "slow", "--set", 'policies=[{policy="LinUCB", action_bound=0.5}]'], "norm"),
        (["leaderboard", "--policy", "Nobody"], "Nobody"),
    ],
)
def test_errors_are_sentences_and_exit_with_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_process: InProcess,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_process(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_foreign_criteo_file_is_refused(
    foreign: Path, tmp_path: Path, in_process: InProcess
) -> None:
    done = in_process("reproduce", "criteo", "--data", str(foreign), "--out", str(tmp_path))
    assert done.returncode == 2
    assert "foreign.tsv.gz" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("reproduce", n) for n in ("abrupt", "slow", "coverage")]
    + [("run", "mine.toml"), ("run", "mine.py")],
)
def test_data_that_would_be_ignored_are_refused_before_any_work(
    arguments: tuple[str, str],
    foreign: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_process: InProcess,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(TOML_EXPERIMENT)
    Path("mine.py").write_text(PYTHON_EXPERIMENT)
    done = in_process(*arguments, "--data", str(foreign))
    assert done.returncode == 2
    assert "Usage:" in done.stderr
    assert "--data is read only by" in done.stderr
    assert not Path("results").exists()


def test_reproduce_all_hands_data_to_criteo_alone(
    foreign: Path, tmp_path: Path, in_process: InProcess
) -> None:
    few = ("--replications", "1", "--horizon", "20", "--policy", "LinUCB")
    done = in_process("reproduce", "all", *few, "--data", str(foreign), "--out", str(tmp_path))
    assert done.returncode == 2
    assert "foreign.tsv.gz" in done.stderr
    # The recorded command must be one that can be repeated.
    for name in ("abrupt", "slow"):
        assert "--data" not in Result.load(tmp_path / name).config["command"]


def test_a_policy_may_be_named_by_its_class(tmp_path: Path, in_process: InProcess) -> None:
    few = ("--replications", "2", "--horizon", "30", "--out", str(tmp_path))
    done = in_process("reproduce", "slow", *few, "--policy", "DLinUCB")
    assert done.returncode == 0, done.stderr
    assert list(pd.read_csv(tmp_path / "slow" / "summary.csv")["policy"]) == ["D-LinUCB"]


def test_the_leaderboard_says_nothing_of_a_policy_that_played_nowhere(
    tmp_path: Path, in_process: InProcess
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TOML_EXPERIMENT.replace('policies = ["LinUCB"]\n', ""))
    options = ("--environment", str(file), "--replications", "2", "--out", str(tmp_path))
    done = in_process("leaderboard", *options, "--policy", "LinUCB-OR", "--policy", "LinUCB")
    assert done.returncode == 0, done.stderr
    assert "nan" not in done.stdout
    assert "LinUCB-OR is left out of mine" in done.stdout


RAISING = """
from driftbandits import {what}
from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
from driftbandits.experiments import Experiment


class Player:
    detections = (7,)

    def select(self, actions):
        return {chosen}

    def update(self, action, reward):
        pass


experiment = Experiment(
    name="mine",
    title="Mine",
    environment=Environment(
        path=Rotation(angle=1.0, rounds=50),
        actions=ClippedCube(dim=2, count=4),
        noise=Gaussian(0.1),
        horizon=20,
    ),
    policies={{"mine": lambda replication: Player()}},
    replications={replications},
)
"""


@pytest.mark.parametrize(
    ("values", "line", "message"),
    [
        ({"what": "Nothing"}, "from driftbandits import Nothing", "cannot import name"),
        ({"replications": "0"}, "experiment = Experiment(", "replications must be an integer"),
        ({"replications": "2 +"}, "replications=2 +", "SyntaxError"),
        ({"chosen": "open('absent')"}, "return open('absent')", "FileNotFoundError"),
        ({"chosen": "actions.nothing"}, "return actions.nothing", "AttributeError"),
    ],
)
def test_errors_in_a_python_file_show_its_line(
    values: dict[str, str], line: str, message: str, tmp_path: Path, in_process: InProcess
) -> None:
    file = tmp_path / "mine.py"
    plain = {"what": "Random", "chosen": "0", "replications": "2"}
    file.write_text(RAISING.format(**{**plain, **values}))
    done = in_process("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert line in done.stderr
    assert message in done.stderr
    assert "mine.py" in done.stderr
    # The traceback leaves out the frames that lead to the user's file.
    assert "runpy" not in done.stderr
    assert "cli_experiments.py" not in done.stderr


def test_a_choice_that_is_not_on_offer_is_said_in_one_line(
    tmp_path: Path, in_process: InProcess
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RAISING.format(what="Random", chosen="7", replications="2"))
    done = in_process("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "error: Player.select must return an index below 4, got 7" in done.stderr
    assert "Traceback" not in done.stderr


def test_detections_of_players_of_ones_own_are_written_down(
    tmp_path: Path, in_process: InProcess
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RAISING.format(what="Random", chosen="0", replications="2"))
    done = in_process("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    detections = pd.read_csv(tmp_path / "out" / "mine" / "detections.csv")
    assert detections.to_dict("list") == {
        "policy": ["mine", "mine"],
        "replication": [0, 1],
        "round": [7, 7],
    }


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError])
def test_a_defect_is_not_taken_for_wrong_input(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective() -> dict[str, object]:
        raise error("a defect")

    monkeypatch.setattr(cli, "registered", defective)
    monkeypatch.setattr(sys, "argv", ["driftbandits", "policies"])
    with pytest.raises(error, match="a defect"):
        cli.main()


@pytest.mark.thorough
def test_ctrl_c_then_the_same_command(tmp_path: Path, in_process: InProcess) -> None:
    # Enough replications that most are still to come when the first are on disk.
    arguments = ("reproduce", "slow", "--replications", "200", "--out")
    assert in_process(*arguments, str(tmp_path / "whole")).returncode == 0
    command = [sys.executable, "-m", "driftbandits", *arguments]
    process = subprocess.Popen([*command, str(tmp_path / "cut")], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cut").rglob("parts/*/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr.decode()
    assert b"Traceback" not in stderr
    again = driftbandits(*arguments, str(tmp_path / "cut"))
    assert "were there already" in again.stderr
    # Only the recorded command could differ, and it does not name the folder.
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
