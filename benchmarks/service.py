"""The decision service: durable decisions per second over HTTP, latencies, start and recovery.

Requests of about 1 KB with 50 actions, d = 30, over 32 connections from a second process on the
same machine. Two others are measured too: the same server without durability (a journal in memory),
and Vowpal Wabbit behind the same HTTP layer, which also writes nothing to disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from driftbandits.service.house import SNAPSHOT_EVERY, House
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.messages import DecisionRequest

from .load import Load, ask, get_bytes, load, request_bytes
from .measure import Row, Say, at_least, at_most, single, summary
from .service_host import ACTIONS, COUNTRIES, LEARNERS, house_of

NAME = "service"
_CONNECTIONS = 32
_SUBJECTS = {"durable": "driftbandits", "memory": "without durability", "vw": "Vowpal Wabbit"}


class Turn(NamedTuple):
    """One load on one server, and the processor time that the server used per answer."""

    load: Load
    cpu: float  # µs


class Host(NamedTuple):
    """A server in a separate process."""

    process: int
    port: int

    def cpu(self) -> float:
        """Seconds of processor time that the server has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def open(self, policy: str) -> int:
        """Number of open decisions of a policy."""
        view = msgspec.json.decode(
            ask(("127.0.0.1", self.port), get_bytes(f"/v1/policies/{policy}"))
        )
        return int(view["open"])


def run(*, quick: bool, say: Say) -> list[Row]:
    """Load, then start and recovery."""
    with tempfile.TemporaryDirectory() as name:
        rows = _loads(Path(name), quick, say)
        say("service: first answer after the start")
        rows.append(_first_answer(Path(name) / "start", 3 if quick else 7))
        say("service: recovery")
        events = 10_000 if quick else 100_000
        rows.append(_recovery(Path(name) / "whole", events, snapshot_every=0))
        rows.append(_recovery(Path(name) / "usual", events, snapshot_every=SNAPSHOT_EVERY))
    return rows


def _loads(folder: Path, quick: bool, say: Say) -> list[Row]:
    """Measure the three servers in turns, so that a busy machine slows all of them."""
    found: dict[tuple[str, str], list[Turn]] = {}
    with ExitStack() as stack:
        hosts = {kind: stack.enter_context(server(kind, folder / kind)) for kind in _SUBJECTS}
        for learner in LEARNERS:
            for host in hosts.values():
                _turn(host, learner, seconds=1.0)  # warm-up, not measured
            for _ in range(2 if quick else 5):
                for kind, host in hosts.items():
                    turn = _turn(host, learner, seconds=2.0 if quick else 5.0)
                    say(f"service: {learner}, {_SUBJECTS[kind]}: {turn.load.rate:.0f} decisions/s")
                    found.setdefault((learner, kind), []).append(turn)
    return [row for learner in LEARNERS for row in _rows(learner, found)]


def _turn(host: Host, learner: str, *, seconds: float) -> Turn:
    address, used = ("127.0.0.1", host.port), host.cpu()
    seen = load(address, requests_of(learner), connections=_CONNECTIONS, seconds=seconds)
    return Turn(seen, (host.cpu() - used) / max(seen.latencies.size, 1) * 1e6)


def _rows(learner: str, found: dict[tuple[str, str], list[Turn]]) -> list[Row]:
    rates = {kind: np.array([one.load.rate for one in found[learner, kind]]) for kind in _SUBJECTS}
    rows = []
    for kind, subject in _SUBJECTS.items():
        ours = kind == "durable"
        turns = found[learner, kind]
        what = f"{learner}: decisions" if kind != "vw" else f"beside {learner}: decisions"
        rows.append(
            summary(
                NAME, subject, what, rates[kind], unit="1/s", aim=at_least(5000) if ours else None
            )
        )
        for level, name in ((0.5, "p50"), (0.99, "p99")):
            values = np.array([one.load.quantile(level) for one in turns])
            aim = at_most(10.0) if ours and name == "p99" else None
            rows.append(summary(NAME, subject, f"{what}, {name}", values, unit="ms", aim=aim))
        used = np.array([one.cpu for one in turns])
        rows.append(summary(NAME, subject, f"{what}, processor time", used, unit="µs"))
    for kind in ("memory", "vw"):
        ratio = rates["durable"] / rates[kind]
        rows.append(
            summary(NAME, "driftbandits", f"{learner}: rate relative to {_SUBJECTS[kind]}", ratio)
        )
    return rows


def requests_of(learner: str) -> list[bytes]:
    """One request per country, each with all 50 ids and about 1,000 bytes."""
    path = f"/v1/policies/{learner}/decisions"
    bodies = [
        msgspec.json.encode({"context": {"country": country}, "actions": list(ACTIONS)})
        for country in COUNTRIES
    ]
    return [request_bytes(path, body) for body in bodies]


@contextmanager
def server(kind: str, folder: Path, *, wait: float = 1800.0) -> Iterator[Host]:
    """A server in a separate process; its decisions wait ``wait`` seconds for rewards."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.service_host", kind, str(folder), str(wait)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Host(process.pid, int(process.stdout.readline()))
    finally:
        process.terminate()
        process.communicate()


def _first_answer(folder: Path, repetitions: int) -> Row:
    """Time from the start of `driftbandits serve` to the first decision, with a warm cache."""
    times, used = list[float](), list[float]()
    command = [sys.executable, "-u", "-m", "driftbandits", "serve", "--listen", "127.0.0.1:0"]
    request = request_bytes("/v1/policies/demo/decisions", b'{"actions": ["a", "b"]}')
    for _ in range(repetitions + 1):  # the first one compiles
        start = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--data", str(folder)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split(",")[0].rpartition(":")[2])
            ask(("127.0.0.1", port), request)
            times.append(time.perf_counter() - start)
            used.append(Host(process.pid, port).cpu())
        finally:
            process.terminate()
            process.communicate()
    note = f"{np.median(used[1:]):.2f} s of processor time"
    first = np.array(times[1:])
    what = "start to first answer"
    return summary(NAME, "driftbandits", what, first, unit="s", aim=at_most(2), note=note)


def _recovery(folder: Path, events: int, *, snapshot_every: int) -> Row:
    """Open the data of a process that was killed, so without a snapshot at the end."""
    folder.mkdir()
    store = SQLiteStore(folder / "journal")
    house = house_of(store, snapshot_every=snapshot_every)
    requests = [DecisionRequest(actions=list(ACTIONS), context={"country": c}) for c in COUNTRIES]
    for n in range(events // 2):
        answer = house.decide("D-LinUCB", requests[n % len(requests)])
        house.reward(answer.event_id, float(n % 3 == 0))
        if n % 32 == 0:
            house.commit()
    house.commit()
    store.close()
    start, used = time.perf_counter(), time.process_time()
    recovered = House.open(SQLiteStore(folder / "journal"))
    elapsed, used = time.perf_counter() - start, time.process_time() - used
    recovered.close()
    what = "recovery by replay alone" if snapshot_every == 0 else "recovery with snapshots"
    replayed = recovered.recovered.replayed
    note = f"{events:,} events, {replayed:,} replayed, {used:.2f} s of processor time"
    return single(NAME, "driftbandits", what, elapsed, unit="s", aim=at_most(3.0), note=note)
