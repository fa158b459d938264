"""A server at a steady load for a long time: do its memory and latency stay constant?

    python -m benchmarks.soak FOLDER --minutes 60 --rate 2500

Every decision gets a reward after a second, with probability a half. Once per interval a line is
added to FOLDER/soak.csv: memory, open files and processor time of the server, rates and latencies
as the clients saw them, errors, and the length of the journal.
"""

from __future__ import annotations

import argparse
import csv
import selectors
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .load import Connection, request_bytes
from .service import Host, requests_of, server

_REWARD_AFTER = 1.0  # seconds
_LATEST = 1.0  # a decision that is more than this many seconds late is skipped
_COLUMNS = [
    "seconds",
    "decisions_per_second",
    "rewards_per_second",
    "p50_ms",
    "p99_ms",
    "skipped",
    "errors",
    "rss_mb",
    "files",
    "cpu_share",
    "journal_mb",
    "open",
]


class Soak:
    """Sends requests at fixed times, no matter when answers arrive.

    Args:
        host: The server.
        learner: The policy to ask.
        rate: Decisions per second.
        connections: Largest number of open requests.
    """

    def __init__(self, host: Host, learner: str, *, rate: float, connections: int) -> None:
        self._rate, self._asked = rate, 0
        self._requests = requests_of(learner)
        self._free = deque(Connection(("127.0.0.1", host.port)) for _ in range(connections))
        self._selector = selectors.DefaultSelector()
        for connection in self._free:
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._begun = dict[
            Connection, tuple[float, bool]
        ]()  # when it was due; whether it is a decision
        self._rewards = deque[tuple[float, bytes]]()
        self._random = np.random.default_rng(1)
        self.latencies, self.decided, self.rewarded = list[float](), 0, 0
        self.skipped = self.errors = 0

    def run(self, *, start: float, until: float) -> None:
        """Run until the time ``until``; the rate counts from ``start``."""
        while (now := time.perf_counter()) < until:
            self._send(now, start)
            wait = 0.0 if self._free and self._due(start) <= now else 0.0005
            for key, _ in self._selector.select(timeout=wait):
                self._receive(key.data)

    def _due(self, start: float) -> float:
        return start + self._asked / self._rate

    def _send(self, now: float, start: float) -> None:
        """Send the requests that are due, while a connection is free."""
        while self._free and self._rewards and self._rewards[0][0] <= now:
            self._begin(*self._rewards.popleft(), False)
        while self._free and self._due(start) <= now:
            if now - self._due(start) > _LATEST:
                self.skipped += 1
            else:
                request = self._requests[self._asked % len(self._requests)]
                self._begin(self._due(start), request, True)
            self._asked += 1

    def _begin(self, due: float, request: bytes, decides: bool) -> None:
        connection = self._free.popleft()
        self._begun[connection] = due, decides
        connection.send(request)

    def _receive(self, connection: Connection) -> None:
        answer = connection.answer()
        if answer is None:
            return
        due, decides = self._begun.pop(connection)
        self._free.append(connection)
        now = time.perf_counter()
        if not answer.startswith(b"HTTP/1.1 2"):
            self.errors += 1
        elif not decides:
            self.rewarded += 1
        else:
            self.decided += 1
            self.latencies.append(now - due)
            if self._random.random() < 0.5:
                event = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])["event_id"]
                body = b'{"reward": %d}' % (self._random.random() < 0.3)
                reward = request_bytes(f"/v1/decisions/{event}/reward", body)
                self._rewards.append((now + _REWARD_AFTER, reward))

    def taken(self, seconds: float) -> dict[str, Any]:
        """The measurements since the last call, which was ``seconds`` ago."""
        seen = np.array(self.latencies or [np.nan]) * 1000.0
        row = {
            "decisions_per_second": round(self.decided / seconds, 1),
            "rewards_per_second": round(self.rewarded / seconds, 1),
            "p50_ms": round(float(np.quantile(seen, 0.5)), 3),
            "p99_ms": round(float(np.quantile(seen, 0.99)), 3),
            "skipped": self.skipped,
            "errors": self.errors,
        }
        self.latencies, self.decided, self.rewarded, self.skipped, self.errors = [], 0, 0, 0, 0
        return row


def vitals(host: Host, folder: Path) -> dict[str, Any]:
    """Measurements of the server by the operating system."""
    process = Path(f"/proc/{host.process}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    size = sum(file.stat().st_size for file in folder.iterdir())
    return {
        "rss_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "files": len(list((process / "fd").iterdir())),
        "journal_mb": round(size / 2**20, 1),
    }


def main() -> None:
    """Run and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=2500.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two lines")
    parser.add_argument("--learner", default="D-LinUCB")
    parser.add_argument("--wait", type=float, default=60.0, help="seconds to wait for rewards")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    journal = given.folder / "journal"
    with (
        server("durable", journal, wait=given.wait) as host,
        (given.folder / "soak.csv").open("w") as file,
    ):
        writer = csv.DictWriter(file, _COLUMNS)
        writer.writeheader()
        soak = Soak(host, given.learner, rate=given.rate, connections=given.connections)
        start = last = time.perf_counter()
        used = host.cpu()
        for line in range(1, int(given.minutes * 60 / given.every) + 1):
            soak.run(start=start, until=start + line * given.every)
            now, cpu = time.perf_counter(), host.cpu()
            row = {"seconds": round(now - start, 1), **soak.taken(now - last)}
            row |= {"cpu_share": round((cpu - used) / (now - last), 3), **vitals(host, journal)}
            row["open"] = host.open(given.learner)
            writer.writerow(row)
            file.flush()
            used, last = cpu, now


if __name__ == "__main__":
    main()
