"""Kills a service under load again and again, and checks that nothing is lost.

    python tests/service_kills.py FOLDER KILLS

A child process serves a load: decisions and rewards in batches, then a commit, then one line per
acknowledged command. The parent kills the child at a random moment, and compares the journal with
the acknowledged commands. It then starts the next child, which first sends the last commands again.
Prints the results as JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from driftbandits.service.house import House
from driftbandits.service.journal.chain import GENESIS, records_of
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.journal.records import Decided, Rewarded, decode
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.messages import DecisionRequest
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.recovery import recover, verify

SETTINGS = PolicySettings(
    features={
        "context": {"country": {"kind": "one_hot", "values": ["FR", "DE"]}},
        "action": {"id": {"kind": "hashed", "size": 4}},
    },
    learner="LinUCB",
    floor=0.2,
    wait=0.5,  # many decisions close during the run
)


def opened(path: Path) -> House:
    return House.open(SQLiteStore(path), snapshot_every=300)


def serve(path: Path, round_: int, last: dict[str, Any], out: int) -> None:
    """Serve until killed; print one line per acknowledged command."""
    rng, house = random.Random(round_), opened(path)  # noqa: S311
    house.put_policy("p", SETTINGS)
    send_again(house, last)
    batch = 0
    while True:
        lines, batch = list[str](), batch + 1
        for n in range(rng.randrange(1, 20)):
            name = f"{round_}.{batch}.{n}"
            asked = DecisionRequest(
                actions=["a", "b", "c"], context={"country": "FR"}, event_id=name
            )
            answer = house.decide("p", asked)
            lines.append(json.dumps([name, answer.action, None]))
            if rng.random() < 0.7:
                house.reward(name, float(n))
                lines.append(json.dumps([name, answer.action, float(n)]))
        house.commit()
        os.write(out, ("\n".join(lines) + "\n").encode())


def send_again(house: House, last: dict[str, Any]) -> None:
    """Acknowledged commands get the same answers, and are not learned twice."""
    for name, (action, value) in last.items():
        asked = DecisionRequest(actions=["a", "b", "c"], context={"country": "FR"}, event_id=name)
        answer = house.decide("p", asked)
        if not (answer.repeated and answer.action == action):
            raise AssertionError(f"{name} was {action}, and is {answer}")
        if value is not None and house.reward(name, value).status != "duplicate":
            raise AssertionError(f"the reward of {name} was taken twice")


def one_kill(path: Path, round_: int, last: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Start a child, kill it, and return the commands that it acknowledged."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        code = 1
        try:
            serve(path, round_, last, write)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    os.close(write)
    if rng.random() < 0.8:  # the others are usually killed during recovery
        select.select([read], [], [], 60.0)
    time.sleep(0.05 * rng.random())
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise AssertionError("the child ended by itself")
    with os.fdopen(read) as lines:
        told = [json.loads(line) for line in lines.read().split("\n")[:-1]]
    # A decision, and then its reward if there was one.
    return {name: (action, value) for name, action, value in told}


def main(folder: Path, kills: int) -> None:
    warm_up()
    rng, path = random.Random(0), folder / "journal.sqlite"  # noqa: S311
    acknowledged, batches, seen = dict[str, Any](), 0, (0, GENESIS)
    found = dict[str, tuple[str, list[float]]]()
    last: dict[str, Any] = {}
    for round_ in range(kills):
        told = one_kill(path, round_, last, rng)
        acknowledged |= told
        batches += bool(told)
        last = dict(list(told.items())[-10:])
        with closing(SQLiteStore(path)) as store:
            if not recover(store).report.identical:
                raise AssertionError(f"recovery differs after kill {round_}")
            seen = note(store, seen, found)
        check(told, found)
    with closing(SQLiteStore(path)) as store:
        report = verify(store)
    check(acknowledged, found)
    result = {
        "kills": kills,
        "kills with answers": batches,
        "records": report.replayed,
        "acknowledged": len(acknowledged),
        "identical": report.identical,
        "snapshots": report.snapshots,
    }
    sys.stdout.write(json.dumps(result) + "\n")


def warm_up() -> None:
    """Load compiled code, so that the children have it."""
    house = House.open(MemoryStore())
    house.put_policy("p", SETTINGS)
    asked = DecisionRequest(actions=["a", "b", "c"], context={"country": "FR"})
    house.reward(house.decide("p", asked).event_id, 1.0)
    house.commit()


def note(
    store: SQLiteStore, seen: tuple[int, bytes], found: dict[str, tuple[str, list[float]]]
) -> tuple[int, bytes]:
    """Add the records after a number and its link, and return the last number and link."""
    after, link = seen
    for number, own, body in records_of(store.entries(after=after), after=after, link=link):
        seen, record = (number, own), decode(body)
        if isinstance(record, Decided) and record.outcome is not None:
            if record.event_id in found:
                raise AssertionError(f"{record.event_id} was decided twice")
            found[record.event_id] = ("abc"[record.outcome.chosen], [])
        if isinstance(record, Rewarded) and record.status == "learned":
            found[record.event_id][1].append(record.value)
    return seen


def check(acknowledged: dict[str, Any], found: dict[str, tuple[str, list[float]]]) -> None:
    for name, (action, value) in acknowledged.items():
        shown, rewards = found[name]
        if shown != action or rewards != ([] if value is None else [value]):
            raise AssertionError(
                f"{name}: acknowledged {action}, {value}; found {shown}, {rewards}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
