"""Interrupted questions continue where they stopped, and interruptions change no answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from driftbandits import AdaptiveLinUCB, Agent, DLinTS, DLinUCB, LinUCB
from driftbandits.cli import cli
from driftbandits.core.storage import StateFileError
from driftbandits.features import Features, OneHot
from driftbandits.logs import CannotAnswer, Log, Recorder, resuming
from driftbandits.logs.snapshots import restored, written
from driftbandits.logs.targets import uniform
from log_worlds import world

Ask = Callable[..., Any]
ROUNDS = 900
TOPICS = Features(action={"topic": OneHot(["sport", "arts", "law"])})


def _policies() -> dict[str, Any]:
    return {
        "D": DLinUCB(dim=3, gamma=0.98, noise=0.3, action_bound=9.0),
        "random": DLinTS(dim=3, gamma=0.98, noise=0.3, action_bound=9.0, seed=3),
        "adaptive": AdaptiveLinUCB(dim=3, action_bound=9.0),
    }


FIXED = {"uniform": "uniform", "first": "action:0"}
QUESTIONS: dict[str, Ask] = {
    "check": lambda log, **o: log.check(period="100", **o).summary["value"],
    "drift": lambda log, **o: log.drift(simulations=59, **o).table["value"],
    "memory": lambda log, **o: log.memory(**o).table,
    "value": lambda log, **o: log.value(FIXED, period="100", **o).table,
    "estimated": lambda log, **o: log.value(FIXED, propensities="estimated", **o).table,
    "replay": lambda log, **o: log.replay(_policies(), period="100", **o).table,
    "fit": lambda log, **o: log.fit(_policies()["random"], rule="assume", **o).state(),
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    found = world(kind="rotate", rounds=ROUNDS, noise=0.3, delay=90_000.0).frame
    bounded = found.assign(reward=found["reward"].where(found.index % 7 != 3))  # some never came
    return bounded.assign(id=[f"d{i}" for i in range(ROUNDS)])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the work after every batch."""
    monkeypatch.setattr(resuming, "_SECONDS", 0.0)
    monkeypatch.setattr(resuming, "_TIMES", 0.0)


class Stop(Exception):  # noqa: N818
    """An interruption."""


def _open(frame: pd.DataFrame, rows: int = 90) -> Log:
    return Log.open(frame, rows=rows, reward_bounds=(-20, 20))


def _interrupted(ask: Ask, log: Log, path: Path, after: int) -> None:
    """Ask, and stop after a number of calls of progress."""
    calls = 0

    def stop(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Stop

    with pytest.raises(Stop):
        ask(log, resume=path, progress=stop)
    assert path.exists()


def _resumed(ask: Ask, log: Log, path: Path, **options: Any) -> tuple[Any, list[int]]:
    """The answer, and the rows reported to progress."""
    seen: list[int] = []
    found = ask(log, resume=path, progress=lambda done, total: seen.append(done), **options)
    return found, seen


def same(found: Any, expected: Any) -> None:
    """Whether two answers are equal, numbers up to 1e-12 relative."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            np.testing.assert_array_equal(found[key], expected[key])
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9, atol=1e-12)
    else:
        assert [_plain(x) for x in found] == [_plain(x) for x in expected]


def _plain(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, nan_ok=True) if isinstance(value, float) else value


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_interrupted_question_goes_on(name: str, frame: pd.DataFrame, tmp_path: Path) -> None:
    ask, part = QUESTIONS[name], tmp_path / "part.npz"
    expected = ask(_open(frame))
    passes = 2 if name == "drift" else 1
    for after in (5, 12)[:passes]:  # in the first pass of some eleven batches, and in the second
        _interrupted(ask, _open(frame), part, after)
        found, seen = _resumed(ask, _open(frame), part)
        same(found, expected)
        assert min(seen[:1]) > 90 * (after % 11)
        assert len(seen) < 13 * passes - after
        assert not part.exists()


def _agent() -> Agent:
    policy = DLinTS(dim=TOPICS.dim, gamma=0.98, noise=0.3, seed=3)
    return Agent(features=TOPICS, policy=policy, wait=500.0, rule="assume")


@pytest.fixture(scope="module")
def recorded() -> Any:
    """The recorded events of another agent; rewards come late or never."""
    recorder = Recorder(Agent(features=TOPICS, policy=LinUCB(dim=TOPICS.dim), wait=500.0))
    articles = {"a": {"topic": "sport"}, "b": {"topic": "arts"}, "c": {"topic": "law"}}
    coming: list[tuple[float, Any, float]] = []
    for t in range(ROUNDS):
        now = 10.0 * t
        for due, id, reward in [entry for entry in coming if entry[0] <= now]:
            recorder.reward(id, reward, now=due)
        coming = [entry for entry in coming if entry[0] > now]
        choice = recorder.decide({}, articles, now=now)
        if t % 3:
            coming.append((now + 7.0 * (t % 40), choice.id, float(choice.action == "b")))
    return recorder.table()


@pytest.mark.usefixtures("eager")
def test_the_life_of_an_agent_goes_on(recorded: Any, tmp_path: Path) -> None:
    def ask(log: Log, **options: Any) -> Agent:
        return log.fit(_agent(), **options)

    def opened() -> Log:
        return Log.open(recorded, rows=90, features=TOPICS, context="context")

    part = tmp_path / "part.npz"
    _interrupted(ask, opened(), part, 5)
    found, seen = _resumed(ask, opened(), part)
    assert seen[0] > 450
    assert found.to_bytes() == ask(opened()).to_bytes()
    assert not part.exists()


def _counted(name: str, asked: list[str]) -> Ask:
    """A question that is counted; it raises `Stop` while "value" has been asked once."""
    ask = getattr(Log, name)

    def counted(self: Log, *arguments: Any, **options: Any) -> Any:
        asked.append(name)
        if asked.count("value") == 1:
            raise Stop
        return ask(self, *arguments, **options)

    return counted


@pytest.mark.usefixtures("eager")
def test_a_report_goes_on(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame.to_parquet(tmp_path / "log.parquet", row_group_size=90)
    policies = ["--policy", "uniform", "--policy", "LinUCB", "--policy", "D-LinUCB:gamma=2.0"]

    def ask(name: str) -> Result:
        words = ["report", str(tmp_path / "log.parquet"), *policies, "--simulations", "59"]
        return CliRunner().invoke(cli, ["log", *words, "--out", str(tmp_path / name)])

    assert ask("whole.html").exit_code == 0
    asked = list[str]()
    for question in ("check", "drift", "memory", "value", "replay"):
        original = getattr(Log, question)

        def counted(
            self: Log, *a: Any, _name: str = question, _ask: Any = original, **o: Any
        ) -> Any:
            asked.append(_name)
            if _name == "value" and asked.count("value") == 1:
                raise Stop
            return _ask(self, *a, **o)

        monkeypatch.setattr(Log, question, counted)
    assert isinstance(ask("page.html").exception, Stop)
    assert list(tmp_path.glob(".page.html.*"))
    assert ask("page.html").exit_code == 0
    assert asked == ["check", "drift", "memory", "value", "value", "replay"]
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "whole.html").read_bytes()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "check"])
def test_batches_of_any_size_give_the_same_answer(name: str, frame: pd.DataFrame) -> None:
    ask = QUESTIONS[name]
    whole = ask(_open(frame, rows=ROUNDS))
    for rows in (37, 256):
        same(ask(_open(frame, rows=rows)), whole)


@pytest.mark.usefixtures("eager")
def test_another_question_begins_anew(frame: pd.DataFrame, tmp_path: Path) -> None:
    part, ask = tmp_path / "part.npz", QUESTIONS["memory"]
    others: list[tuple[Log, dict[str, Any]]] = [
        (_open(frame.assign(reward=-frame["reward"])), {}),  # as many bytes
        (Log.open(frame, rows=90), {}),  # another schema
        (_open(frame), {"clock": "hours"}),
    ]
    for log, options in others:
        _interrupted(ask, _open(frame), part, 5)
        _, seen = _resumed(ask, log, part, **options)
        assert seen[0] < 100
    _interrupted(ask, _open(frame), part, 5)
    part.write_bytes(part.read_bytes()[:-100])  # damaged
    same(ask(_open(frame), resume=part), ask(_open(frame)))


def test_a_snapshot_names_no_class_from_elsewhere() -> None:
    tree, arrays = written({"a": [1.0, None, "x"], (1, 2): np.eye(2), "n": np.float64(2.0)})
    back = restored(tree, arrays, {})
    assert back["a"] == [1.0, None, "x"]
    np.testing.assert_array_equal(back[1, 2], np.eye(2))
    with pytest.raises(StateFileError, match="cannot be part of saved work"):
        restored({"object": [], "kind": "subprocess:Popen"}, {}, None)


@pytest.mark.usefixtures("eager")
def test_a_policy_that_has_refused_a_row_stays_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    def picky(log: Any, batch: Any) -> Any:
        if (batch.row == 3).any():
            raise CannotAnswer("row 3: not this one")
        return uniform(log, batch)

    def ask(log: Log, **options: Any) -> Any:
        return log.value({"uniform": "uniform", "picky": picky}, period="100", **options)

    part = tmp_path / "part.npz"
    _interrupted(ask, _open(frame), part, 4)
    found, _ = _resumed(ask, _open(frame), part)
    assert "picky: it cannot be evaluated: row 3: not this one" in found.refused
    assert found.table["estimate"][found.table["policy"] == "picky"].isna().all()
    same(found.table, ask(_open(frame)).table)
