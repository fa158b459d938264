"""The journal as a log: the same rows, and `driftbandits log` can read them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from driftbandits.cli import cli
from driftbandits.features import Features
from driftbandits.logs import Log
from driftbandits.service.errors import UnknownPolicy
from driftbandits.service.export import export
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.messages import NamedAction
from driftbandits.service.policy_settings import PolicySettings
from service_house import FEATURES, Desk


def rows_of(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


def test_rows_are_the_decisions_that_were_shown(tmp_path: Path) -> None:
    desk = Desk(rewards="sum", default=0.25)
    start = desk.clock.now
    first = desk.decide(context={"country": "DE"}, exclude=["b"])
    desk.clock.now += 10.0
    desk.reward(first.event_id, 1.0)
    desk.clock.now += 10.0
    desk.reward(first.event_id, 0.5)
    never = desk.decide(defer=True)
    late = desk.decide(defer=True)
    desk.house.activate(late.event_id)
    desk.clock.now += 200.0
    desk.house.expire()
    still_open = desk.decide()
    desk.house.commit()
    assert export(desk.store, "p", tmp_path / "log.parquet") == 3
    rows = rows_of(tmp_path / "log.parquet")
    assert [row["id"] for row in rows] == [first.event_id, late.event_id, still_open.event_id]
    assert never.event_id not in [row["id"] for row in rows]
    assert [row["reward"] for row in rows] == [1.5, 0.25, None]
    one = rows[0]
    assert one["names"] == ["a", "c"]
    assert one["name"] == first.action == one["names"][one["chosen"]]
    assert one["propensity"] == first.propensity
    assert one["time"].timestamp() == start
    assert (one["reward_time"] - one["time"]).total_seconds() == 20.0
    assert json.loads(one["context"]) == {"country": "DE"}
    expected = Features.from_dict(FEATURES).encode({"country": "DE"}, ["a", "c"])
    np.testing.assert_array_equal(np.array(one["actions"]), expected)


def test_catalogues_and_blocks_are_followed(tmp_path: Path) -> None:
    features: dict[str, Any] = {
        "action": {"length": {"kind": "number", "centre": 5, "spread": 5, "optional": True}},
        "per_action": {"slots": 1},
    }
    desk = Desk(features=features)
    desk.house.put_action("p", "a", {"length": 2})
    desk.decide(["a", NamedAction(id="b", features={"length": 7})], context={})
    desk.house.put_action("p", "a", {"length": 4})
    desk.decide(["a", "c"], context={})
    desk.house.commit()
    export(desk.store, "p", tmp_path / "log.parquet")
    rows = rows_of(tmp_path / "log.parquet")
    assert {len(vector) for row in rows for vector in row["actions"]} == {3 + 3}
    lengths = [[vector[1] for vector in row["actions"]] for row in rows]
    assert lengths[0][0] < lengths[1][0] < lengths[0][1]
    with pytest.raises(UnknownPolicy, match="the journal has no policy 'q'"):
        export(desk.store, "q", tmp_path / "other.parquet")
    assert not (tmp_path / "other.parquet").exists()


def test_rows_of_an_earlier_declaration_are_left_out(tmp_path: Path) -> None:
    desk = Desk()
    desk.decide()
    other = desk.settings.to_dict() | {"features": {"per_action": {"slots": 4}}}
    desk.house.put_policy("p", PolicySettings.from_dict(other))
    kept = desk.decide(context={})
    desk.house.commit()
    assert export(desk.store, "p", tmp_path / "log.parquet") == 1
    assert rows_of(tmp_path / "log.parquet")[0]["id"] == kept.event_id


def test_the_log_commands_run_on_it(tmp_path: Path) -> None:
    """A policy that only explores, and payoffs that change half-way: the log shows both."""
    path = tmp_path / "journal.sqlite"
    desk = Desk(SQLiteStore(path), learner="Random", floor=1.0, config={}, wait=1000.0)
    rng = np.random.default_rng(5)
    for step in range(1200):
        desk.clock.now += 600.0
        answer = desk.decide(["a", "b"])
        rate = 0.8 if (answer.action == "a") == (step < 600) else 0.2
        desk.reward(answer.event_id, float(rng.random() < rate))
        if step % 50 == 0:
            desk.house.commit()
    desk.house.close()
    run = CliRunner().invoke(
        cli, ["journal", "export", str(path), str(tmp_path / "log.parquet"), "--policy", "p"]
    )
    assert run.exit_code == 0, run.output
    assert "1200 decisions" in run.output
    log = Log.open(tmp_path / "log.parquet", reward_bounds=(0.0, 1.0))
    check = log.check()
    assert (int(check["rows"]), check["least propensity"], check.warnings) == (1200, 0.5, ())
    assert log.drift(simulations=59).drifting
    row = log.value({"uniform": "uniform"}, period="day").of("uniform", "IPS")
    assert row["low"] < 0.5 < row["high"]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    desk = Desk(SQLiteStore(tmp_path / "journal.sqlite"))
    for _ in range(20):
        desk.reward(desk.decide().event_id, 1.0)
    desk.house.close()
    return tmp_path / "journal.sqlite"


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["journal", *map(str, arguments)])
    return done.exit_code, done.output


def test_the_commands_look_after_a_journal(journal: Path, tmp_path: Path) -> None:
    copy, back = tmp_path / "copy.sqlite", tmp_path / "new" / "back.sqlite"
    code, text = run("verify", journal)
    assert (code, text.splitlines()[-1]) == (0, "identical, bit for bit")
    assert "replayed 41 records from nothing, compared 1 snapshots" in text
    assert run("backup", journal, copy) == (0, f"{copy} has records 1 to 41\n")
    assert run("backup", journal, copy)[0] == 1
    assert run("restore", copy, back) == (0, f"{back} has records 1 to 41\n")
    assert run("restore", copy, back)[0] == 1
    with closing(SQLiteStore(journal)) as one, closing(SQLiteStore(back)) as two:
        assert list(one.entries()) == list(two.entries())
        assert list(one.snapshots()) == list(two.snapshots())
    # The times of the journal are long past.
    assert run("prune", journal, "--days", 1) == (0, "removed 41 records; kept 42 to 41\n")
    assert "identical" in run("verify", journal)[1]


def test_errors_are_messages(journal: Path, tmp_path: Path) -> None:
    with closing(SQLiteStore(journal)):
        pass
    other = tmp_path / "text.sqlite"
    other.write_text("not a database, but long enough to be one " * 50)
    code, text = run("verify", other)
    assert code == 1
    assert "is damaged or not a journal" in text
    code, text = run("export", journal, tmp_path / "x.parquet", "--policy", "q")
    assert (code, "the journal has no policy 'q'" in text) == (1, True)
