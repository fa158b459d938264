"""Recovery of the state from a journal, bit for bit, and refusals of damaged journals."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from driftbandits.service.errors import ConflictingEvent, DamagedJournal
from driftbandits.service.house import House
from driftbandits.service.journal.chain import GENESIS, Entry, bodies_of, entry_of
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.journal.records import Decided, decode, encode
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.recovery import Report, recover, verify
from service_house import Desk

LEARNERS: dict[str, dict[str, Any]] = {
    "AdaptiveLinUCB": {},
    "LinUCB": {"noise": 0.3},
    "D-LinUCB": {"gamma": 0.95},
}


def busy(desk: Desk, steps: int = 150) -> None:
    """A history with rewards on time, late and never, deferred decisions and excluded actions."""
    rng = np.random.default_rng(3)
    waiting = list[str]()
    for step in range(steps):
        desk.clock.now += float(rng.exponential(4.0))
        answer = desk.decide(
            context={"country": ["FR", "DE"][rng.integers(2)]},
            exclude=["b"] if rng.random() < 0.2 else [],
            defer=bool(rng.random() < 0.2),
            event_id=f"own-{step}" if rng.random() < 0.5 else None,
        )
        waiting.append(answer.event_id)
        if rng.random() < 0.7:
            desk.house.activate(waiting[int(rng.integers(len(waiting)))])
            desk.reward(waiting[int(rng.integers(len(waiting)))], float(rng.random()))
        if rng.random() < 0.3:
            desk.house.expire()
        if rng.random() < 0.3:
            desk.house.commit()
    desk.house.commit()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rule", ["assume", "hold"])
def test_recovery_is_a_replay_from_nothing(learner: str, rule: str) -> None:
    desk = Desk(learner=learner, config=LEARNERS[learner], rule=rule, rewards="last")
    busy(desk)
    alive = desk.house.to_bytes()
    whole = recover(desk.store)
    assert whole.report.identical
    assert whole.report.replayed == desk.store.last
    assert whole.state.to_bytes() == alive
    desk.house.snapshot()
    busy_again = House.open(desk.store, clock=desk.clock, snapshot_every=0)
    desk.house = busy_again
    for _ in range(40):
        desk.reward(desk.decide().event_id, 1.0)
    desk.house.commit()
    assert recover(desk.store).report.snapshot == whole.state.number
    report = verify(desk.store)
    assert report.identical, report
    assert (report.snapshots, report.replayed) == (1, desk.store.last)


def test_commits_take_snapshots() -> None:
    desk = Desk(snapshot_every=20)
    busy(desk, 60)
    numbers = [made.number for made in desk.store.snapshots()]
    assert len(numbers) >= 2
    assert desk.store.last - numbers[0] < 40  # fewer than 20 decisions are open
    assert recover(desk.store).state.to_bytes() == desk.house.to_bytes()


def test_snapshots_are_rarer_where_many_decisions_are_open() -> None:
    """After n records n − 1 decisions are open, so n about doubles from snapshot to snapshot."""
    desk = Desk(snapshot_every=10, wait=1e6)
    made = set[int]()
    for _ in range(100):
        desk.decide()
        desk.house.commit()
        made |= {snapshot.number for snapshot in desk.store.snapshots()}
    # n − s ≥ max(10, ⌊(n − 1)/2⌋) after a snapshot at s: first at n = 20, then 38, then 74.
    assert made == {10, 20, 38, 74}
    desk.clock.now += 1e6
    desk.house.expire()
    desk.house.commit()
    assert next(desk.store.snapshots()).number == desk.store.last
    assert recover(desk.store).state.to_bytes() == desk.house.to_bytes()


def test_a_damaged_snapshot_is_not_used() -> None:
    desk = Desk(snapshot_every=30)
    busy(desk, 60)
    store: Any = desk.store
    newest, *others = store._snapshots
    store._snapshots = [
        msgspec.structs.replace(newest, payload=b"\0" + newest.payload[1:]),
        *others,
    ]
    recovered = recover(desk.store)
    assert recovered.state.to_bytes() == desk.house.to_bytes()
    assert recovered.report.snapshot == others[0].number
    assert "is damaged; not used" in recovered.report.notes[0]
    with pytest.raises(DamagedJournal, match="snapshot at record"):
        verify(desk.store)


def test_a_snapshot_from_elsewhere_is_used_and_reported() -> None:
    desk = Desk()
    busy(desk, 40)
    desk.house.snapshot()
    store: Any = desk.store
    (made,) = store._snapshots
    store._snapshots = [msgspec.structs.replace(made, stamp='{"cpu": "other"}').sealed()]
    report = recover(desk.store).report
    assert report.snapshot == made.number
    assert "cpu other then" in report.notes[0]
    assert verify(desk.store).identical


def rebuilt(bodies: list[bytes]) -> MemoryStore:
    """A journal with other records and a correct chain."""
    forged = MemoryStore()
    forged.append(entry_of(1, 1.0, bodies, GENESIS))
    return forged


def all_bodies(store: Any) -> list[bytes]:
    return [body for entry in store.entries() for body in bodies_of(entry)]


def test_verify_notices_an_answer_that_was_not_given() -> None:
    desk = Desk(floor=0.5)
    busy(desk, 30)
    bodies = all_bodies(desk.store)
    number = next(n for n, body in enumerate(bodies) if isinstance(decode(body), Decided))
    record = decode(bodies[number])
    assert isinstance(record, Decided)
    assert record.outcome is not None
    record.outcome.propensity += 2**-50
    forged = rebuilt([*bodies[:number], encode(record), *bodies[number + 1 :]])
    report = verify(forged)
    assert report.differing == [number + 1]
    assert not report.identical


def test_a_replay_learns_what_was_shown() -> None:
    """On another processor a choice may differ; the replay learns the action that was shown."""
    desk = Desk(floor=0.5, rule="wait")
    answer = desk.decide()
    desk.reward(answer.event_id, 1.0)
    desk.house.commit()
    bodies = all_bodies(desk.store)
    record = decode(bodies[1])
    assert isinstance(record, Decided)
    assert record.outcome is not None
    names = ["a", "b", "c"]
    other = (record.outcome.chosen + 1) % 3
    record.outcome.chosen = other
    recovered = recover(rebuilt([bodies[0], encode(record), bodies[2]]))
    assert recovered.report.differing == [2]
    agent = recovered.state.policies["p"].agent
    row = agent.features.encode({"country": "FR"}, [names[other]])[0]
    learned: Any = agent.policy
    np.testing.assert_allclose(learned._state.moment[0], row)


def test_missing_and_swapped_records_are_noticed() -> None:
    desk = Desk()
    for _ in range(6):
        desk.decide()
        desk.house.commit()
    store: Any = desk.store
    entries: list[Entry] = list(store._entries)
    swapped = [
        msgspec.structs.replace(entries[2], first=entries[3].first),
        msgspec.structs.replace(entries[3], first=entries[2].first),
    ]
    for damaged in (
        entries[:2] + entries[3:],
        entries[1:],
        entries[:2] + sorted(swapped, key=lambda entry: entry.first) + entries[4:],
    ):
        store._entries = damaged
        with pytest.raises(DamagedJournal):
            recover(store)
    store._entries = entries[:-1]  # the end is missing, but the store knows its last record
    with pytest.raises(DamagedJournal, match="must end at record"):
        recover(store)


def test_pruning_keeps_the_journal_verifiable(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "journal.sqlite")
    desk = Desk(store)
    first = desk.decide(event_id="first")
    busy(desk, 40)
    old = desk.house.snapshot()
    desk.clock.now += 5 * 86_400.0
    busy_since = desk.house.policy("p").decisions
    for step in range(30):
        desk.reward(desk.decide(event_id=f"new-{step}").event_id, 0.5)
    desk.house.snapshot()
    assert desk.house.prune(days=10) == 0
    assert desk.house.prune(days=3) == old
    assert store.first == old + 1
    alive = desk.house.to_bytes()
    with pytest.raises(ConflictingEvent, match="older than the records that the journal keeps"):
        desk.decide(event_id=first.event_id)
    desk.house.close()
    with closing(SQLiteStore(tmp_path / "journal.sqlite")) as again:
        report = verify(again)
        assert report.identical
        assert report.snapshot == old
        assert recover(again).state.to_bytes() == alive
    assert busy_since < desk.house.policy("p").decisions


def test_the_snapshot_that_the_oldest_record_follows_is_kept() -> None:
    """Even if it is not the last of its day, and more snapshots follow."""
    desk = Desk()
    desk.clock.now = 20 * 86_400.0
    desk.decide()
    base = desk.house.snapshot()
    for _ in range(4):
        desk.clock.now += 3600.0
        desk.decide()
        desk.house.snapshot()
        desk.house.prune(days=0.5 / 24)
    assert desk.store.first > base
    report = verify(desk.store)
    assert report.identical
    assert report.snapshot == desk.store.first - 1


def test_a_snapshot_of_another_release_is_not_used() -> None:
    desk = Desk()
    desk.decide()
    desk.house.snapshot()
    store: Any = desk.store
    store._snapshots = [msgspec.structs.replace(store._snapshots[0], payload=b"\xc0").sealed()]
    recovered = recover(desk.store)
    assert recovered.state.to_bytes() == desk.house.to_bytes()
    assert "cannot be read here; not used" in recovered.report.notes[0]


def test_looking_leaves_no_trace() -> None:
    desk = Desk(learner="AdaptiveLinUCB", config={})
    busy(desk, 60)
    before = desk.house.to_bytes()
    desk.house.diagnostics("p")
    desk.house.policies()
    desk.house.events("p", after=0, limit=100)
    assert desk.house.to_bytes() == before


def test_a_report_of_nothing() -> None:
    report = recover(MemoryStore()).report
    assert report == replace(Report())
    assert verify(MemoryStore()).identical
