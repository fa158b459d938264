"""The commands ``log``: they read files, write tables and pictures, and explain refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import driftbandits
from driftbandits import Agent, LinUCB
from driftbandits.cli import cli
from driftbandits.cli_errors import exit_codes
from driftbandits.features import Features, OneHot
from driftbandits.logs import Recorder
from log_worlds import world


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    world(kind="rotate", rounds=400, noise=0.3, delay=4000.0).frame.to_parquet(path)
    return path


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli, ["log", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result


def test_check(log: Path, tmp_path: Path) -> None:
    result = run("check", log, "--out", tmp_path, "--period", "week")
    assert "smallest p of propensities" in result.output
    assert list(pd.read_csv(tmp_path / "check.csv").columns) == ["quantity", "value"]


def test_drift(log: Path, tmp_path: Path) -> None:
    result = run("drift", log, "--out", tmp_path, "--simulations", 59)
    assert "Payoffs drift" in result.output
    table = pd.read_csv(tmp_path / "drift.csv")
    assert list(table.columns) == ["quantity", "value"]
    assert table.set_index("quantity").loc["drifting", "value"] == "True"
    assert (tmp_path / "drift.png").exists()


def test_memory(log: Path, tmp_path: Path) -> None:
    result = run("memory", log, "--out", tmp_path, "--clock", "hours")
    table = pd.read_csv(tmp_path / "memory.csv")
    assert list(table.columns) == ["memory", "hours", "evidence", "best"]
    assert table["best"].sum() == 1
    assert np.isinf(table["memory"].iloc[-1])
    assert "DLinUCB(dim=3, gamma=" in result.output
    assert not (tmp_path / ".memory.part.npz").exists()


def test_rows_without_a_reward_are_not_left_out_in_silence(tmp_path: Path) -> None:
    frame = world(kind="rotate", rounds=200, noise=0.3).frame
    frame.loc[::4, "reward"] = np.nan
    frame.to_parquet(tmp_path / "log.parquet")
    for words in (["drift", "--simulations", 59], ["memory"]):
        told = run(words[0], tmp_path / "log.parquet", *words[1:]).output
        assert "rows without a reward, which are left out: 50" in told
        told = run(words[0], tmp_path / "log.parquet", *words[1:], "--mature-after", 1).output
        assert "rows without a reward" not in told


def test_value(log: Path, tmp_path: Path) -> None:
    words = ["--policy", "uniform", "--policy", "D-LinUCB", "--policy", "LinUCB:ridge=1.0"]
    result = run("value", log, "--out", tmp_path, "--reward-bounds", "-5", "5", *words)
    table = pd.read_csv(tmp_path / "value.csv")
    assert list(table.columns) == [
        "policy", "period", "estimator", "estimate", "low", "high", "rows", "effective",
    ]  # fmt: skip
    assert set(table["policy"]) == {"uniform", "D-LinUCB", "LinUCB:ridge=1.0", "logging"}
    fixed = {"IPS", "SNIPS", "DM", "DR", "IPS, anytime"}
    assert fixed <= set(table["estimator"][table["policy"] == "uniform"])
    learned = set(table["estimator"][table["policy"] == "D-LinUCB"])
    assert not fixed & learned
    assert {f"{name} (learned from accepted rows)" for name in fixed} <= learned
    assert "of its rewards" in result.output
    assert not table.duplicated().any()
    told = (tmp_path / "value.txt").read_text()
    assert "uniform would have earned" in told
    assert "D-LinUCB learned from" in told


def test_a_learning_policy_that_is_refused_leaves_the_others(log: Path, tmp_path: Path) -> None:
    # One policy meets an action above its bound; the other cannot be made at all.
    short, wrong = "LinUCB:action_bound=0.1", "D-LinUCB:gamma=2.0"
    words = [word for name in ("uniform", short, wrong, "LinUCB") for word in ("--policy", name)]
    result = run("value", log, "--out", tmp_path, *words)
    table = pd.read_csv(tmp_path / "value.csv")
    for name in (short, wrong):
        lost = table[table["policy"] == name]
        assert set(lost["estimator"]) == {
            f"{one} (learned from accepted rows)" for one in ("IPS", "SNIPS", "DM", "DR")
        }
        assert lost[["estimate", "low", "high"]].isna().all(axis=None)
        assert (lost["rows"] == 0).all()
    for name in ("uniform", "LinUCB"):
        told = table[(table["policy"] == name) & table["estimator"].str.startswith("DR")]
        assert told["estimate"].notna().all()
    for why in (f"{short}: it cannot be replayed: actions must", "gamma must lie in (0, 1)"):
        assert why in result.output
        assert why in (tmp_path / "value.txt").read_text()


def test_learning_policies_that_are_all_refused_leave_the_fixed_ones(tmp_path: Path) -> None:
    world(rounds=200).frame.assign(count=2.0).to_parquet(tmp_path / "log.parquet")
    words = ["--policy", "uniform", "--policy", "D-LinUCB:gamma=0.99", "--out", tmp_path]
    result = run("value", tmp_path / "log.parquet", *words)
    assert "replay needs one decision per row" in result.output
    table = pd.read_csv(tmp_path / "value.csv")
    assert table["estimate"][table["policy"] == "uniform"].notna().all()
    assert table["estimate"][table["policy"] == "D-LinUCB:gamma=0.99"].isna().all()


def test_fit(log: Path, tmp_path: Path) -> None:
    run("fit", log, "--policy", "D-LinUCB:gamma=0.99", "--out", tmp_path / "policy.npz")
    policy = driftbandits.load(tmp_path / "policy.npz")
    assert isinstance(policy, driftbandits.DLinUCB)
    assert policy.gamma == 0.99
    assert policy.round == 401


def test_fit_of_an_agent(tmp_path: Path) -> None:
    features = Features(action={"topic": OneHot(["sport", "arts"])})
    articles = {"a": {"topic": "sport"}, "b": {"topic": "arts"}}
    agent = Agent(features=features, policy=LinUCB(dim=features.dim), wait=60.0)
    recorder = Recorder(agent)
    for now in range(40):
        choice = recorder.decide({}, articles, now=float(now))
        recorder.reward(choice.id, float(choice.action == "b"), now=now + 0.5)
    recorder.write(tmp_path / "log.parquet")
    (tmp_path / "features.json").write_text(features.to_json())
    options = ["--features", tmp_path / "features.json", "--context", "context"]
    words = ["--policy", "D-LinUCB:gamma=0.99", "--wait", 60, "--out", tmp_path / "agent.npz"]
    run("fit", tmp_path / "log.parquet", *options, *words, "--rule", "assume")
    found = Agent.load(tmp_path / "agent.npz")
    assert found.decided == 40
    assert found.decide({}, articles, now=100.0).action == "b"


def test_a_schema_file_and_options(log: Path, tmp_path: Path) -> None:
    frame = pd.read_parquet(log).rename(columns={"reward": "click", "time": "when"})
    path, schema = tmp_path / "other.csv", tmp_path / "schema.toml"
    arms = frame.drop(columns="actions").assign(x=1.0)
    arms.to_csv(path, index=False)
    schema.write_text('time = "when"\nreward = "nonsense"\narms = ["a", "b", "c", "d", "e"]\n')
    result = run("check", path, "--schema", schema, "--reward", "click")
    assert "rows" in result.output


def test_a_report_keeps_the_answers_that_there_are(tmp_path: Path) -> None:
    frame = world(rounds=200).frame.assign(count=2.0)
    frame.to_parquet(tmp_path / "aggregated.parquet")
    words = ["--policy", "uniform", "--policy", "D-LinUCB:gamma=0.99", "--simulations", 59]
    run("report", tmp_path / "aggregated.parquet", *words, "--out", tmp_path / "log.html")
    page = (tmp_path / "log.html").read_text()
    assert "uniform would have earned" in page
    assert "values of D-LinUCB:gamma=0.99: replay needs one decision per row" in page


def failure(*words: object) -> str:
    with pytest.raises(SystemExit) as ended, exit_codes():
        cli(["log", *map(str, words)], standalone_mode=False)
    assert ended.value.code == 2
    return str(ended.value)


def test_wrong_input_is_a_sentence(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failure("check", log, "--reward", "click")
    assert "no column 'click'" in capsys.readouterr().err
    bare = tmp_path / "bare.parquet"
    pd.read_parquet(log).drop(columns="propensity").to_parquet(bare)
    failure("value", bare)
    assert "ask for estimated ones" in capsys.readouterr().err
    bad = tmp_path / "bad.parquet"
    pd.read_parquet(log).assign(propensity=0.0).to_parquet(bad)
    failure("check", bad)
    assert "row 1: propensity must lie in (0, 1]" in capsys.readouterr().err
    failure("value", bare, "--policy", "D-LinUCB")
    assert "error: values need the probability" in capsys.readouterr().err
    failure("fit", log, "--policy", "LinUCB:action_bound=0.1", "--out", tmp_path / "no.npz")
    assert "cannot learn this log: event 0: actions must" in capsys.readouterr().err
    failure("value", log, "--policy", "nonsense")
    assert "policy must be one of" in capsys.readouterr().err
    failure("check", log, "--unit", "weeks")
    assert "unit must be one of" in capsys.readouterr().err
