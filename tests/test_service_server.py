"""The server under bad conditions: slow, half-open, many and broken clients; its shutdown."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from driftbandits.service.errors import JournalError
from driftbandits.service.house import House
from driftbandits.service.http.committing import JOURNAL_FAILED, Committer
from driftbandits.service.http.limits import Limits
from driftbandits.service.journal.memory import MemoryStore
from service_running import OFFERED, PLAIN, connected, process, serving

DECIDE = "/v1/policies/plain/decisions"


def place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 0


def dial(url: str) -> socket.socket:
    return socket.create_connection(place_of(url), timeout=30.0)


def received(sock: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    pieces = []
    try:
        while piece := sock.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


# --- slow and half-open clients


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"POST /v1/policies/plain/decisions HTTP/1.1\r\nhost: loc",
        b"POST /v1/rewards:batch HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
    ],
    ids=["silent", "half a head", "half a body"],
)
def test_a_slow_client_is_sent_away_and_the_others_are_served(beginning: bytes) -> None:
    with serving(limits=Limits(arrival_seconds=0.5)) as server, dial(server.url) as sock:
        sock.sendall(beginning)
        start = time.monotonic()
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert received(sock).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - start < 10.0
        assert httpx.post(server.url + DECIDE, json={"actions": OFFERED}).status_code == 200


def test_a_drop_now_and_then_is_no_arrival() -> None:
    with serving(limits=Limits(arrival_seconds=0.5)) as server, dial(server.url) as sock:
        deadline = time.monotonic() + 10.0
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012
            while time.monotonic() < deadline:
                sock.sendall(b"x")
                time.sleep(0.05)
        assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_a_client_that_leaves_early_leaves_nothing_behind() -> None:
    with serving() as server:
        for cut in (10, 60, 120):
            with dial(server.url) as sock:
                sock.sendall(request_bytes()[:cut])
        with dial(server.url) as sock:
            sock.sendall(request_bytes())  # complete, but nobody waits for the answer
        deadline = time.monotonic() + 10.0
        while server.app.vitals.under_way and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.app.vitals.under_way == 0
        assert httpx.get(f"{server.url}/healthz").status_code == 200


def request_bytes(body: bytes = b'{"actions": [{"id": "a", "features": {"kind": "a"}}]}') -> bytes:
    head = f"POST {DECIDE} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


# --- many connections and requests


def test_many_connections_are_held_and_one_more_gets_an_answer() -> None:
    count = 300
    with serving(limits=Limits(arrival_seconds=60.0)) as server, ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(dial(server.url))
        assert httpx.post(server.url + DECIDE, json={"actions": OFFERED}).status_code == 200


@pytest.mark.thorough
def test_ten_thousand_connections() -> None:
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(10_000, (most - 500) // 2)  # both ends are in this process
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    limits = Limits(connections=count + 10, arrival_seconds=120.0)
    with serving(limits=limits) as server, ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(dial(server.url))
        assert httpx.post(server.url + DECIDE, json={"actions": OFFERED}).status_code == 200
    assert count >= 2_000


def test_beyond_the_limit_connections_are_refused_with_a_reason() -> None:
    with serving(limits=Limits(connections=3)) as server, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(dial(server.url))
        time.sleep(0.2)
        with dial(server.url) as sock:
            answer = received(sock)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in answer


def test_beyond_the_limit_requests_get_503_and_when_to_try_again() -> None:
    with serving(limits=Limits(requests=2)) as server, ExitStack() as stack:
        half = request_bytes()[:-5]
        for _ in range(2):
            stack.enter_context(dial(server.url)).sendall(half)
        time.sleep(0.2)
        refused = httpx.post(server.url + DECIDE, json={"actions": OFFERED})
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["type"].endswith(":busy")
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        stack.close()
        deadline = time.monotonic() + 10.0
        while server.app.vitals.under_way and time.monotonic() < deadline:
            time.sleep(0.02)
        assert httpx.post(server.url + DECIDE, json={"actions": OFFERED}).status_code == 200


def test_pipelined_requests_are_answered_in_order() -> None:
    with serving() as server, dial(server.url) as sock:
        bodies = [
            b'{"event_id": "p%d", "actions": [{"id": "a", "features": {"kind": "a"}}]}' % n
            for n in range(20)
        ]
        sock.sendall(b"".join(map(request_bytes, bodies)))
        text = b""
        while text.count(b'"event_id"') < 20:
            piece = sock.recv(65536)
            assert piece
            text += piece
        places = [text.index(b'"event_id":"p%d"' % n) for n in range(20)]
        assert places == sorted(places)


# --- garbage


def fuzzed(rng: np.random.Generator) -> bytes:
    """A request with bytes changed, removed, doubled or added."""
    request = bytearray(request_bytes())
    for _ in range(int(rng.integers(1, 8))):
        place, kind = int(rng.integers(len(request) or 1)), int(rng.integers(4))
        if kind == 0:
            request[place : place + 1] = rng.bytes(1)
        elif kind == 1:
            del request[place : place + int(rng.integers(1, 20))]
        elif kind == 2:
            request[place:place] = request[: int(rng.integers(40))]
        else:
            request[place:place] = rng.bytes(int(rng.integers(1, 30)))
    return bytes(request)


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_fuzzed_requests_never_break_it(count: int, caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(7)

    async def throw(url: str) -> None:
        host, port = place_of(url)
        for _ in range(count // 10):
            await asyncio.gather(*(shot(host, port, fuzzed(rng)) for _ in range(10)))

    async def shot(host: str, port: int, request: bytes) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(request)
            writer.write_eof()
            answer = await asyncio.wait_for(reader.read(100), timeout=0.05)
            assert answer == b"" or answer[9:12] not in (b"500", b"502")
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    with serving(limits=Limits(arrival_seconds=5.0)) as server:
        asyncio.run(throw(server.url))
        assert httpx.post(server.url + DECIDE, json={"actions": OFFERED}).status_code == 200
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


# --- commits


class Counting:
    """Counts commits."""

    def __init__(self, *, fails: bool = False) -> None:
        self.pending, self.commits, self.fails = 0, 0, fails

    def commit(self) -> None:
        if self.fails:
            raise JournalError("disk full")
        self.commits, self.pending = self.commits + 1, 0


def test_a_tick_has_one_commit_and_answers_wait_for_it() -> None:
    house = Counting()
    committer = Committer(house)

    async def tick() -> list[int]:
        done: list[int] = []
        for _ in range(10):
            house.pending += 1
            committer.then(lambda: done.append(house.commits))
        assert done == []
        await asyncio.sleep(0.05)
        return done

    assert asyncio.run(tick()) == [1] * 10


def test_requests_that_are_ready_together_share_a_commit() -> None:
    house, sizes = House.open(MemoryStore()), list[int]()
    begun, arrived = threading.Event(), threading.Event()

    def commit() -> None:
        sizes.append(house.pending)
        begun.set()
        assert arrived.wait(60.0)  # blocks the loop at the first commit
        House.commit(house)

    with serving(house=house) as server, ExitStack() as stack:
        house.commit = commit  # type: ignore[method-assign]
        sockets = [stack.enter_context(dial(server.url)) for _ in range(17)]
        httpx.get(f"{server.url}/healthz")  # they are all accepted now
        sockets[0].sendall(request_bytes())
        assert begun.wait(60.0)
        for sock in sockets[1:]:
            sock.sendall(request_bytes())
        time.sleep(0.1)
        arrived.set()
        for sock in sockets:
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert sizes == [1, 16]


def test_an_answer_that_cannot_be_sent_holds_up_nobody() -> None:
    house, done = Counting(), list[int]()
    committer = Committer(house)

    def fail() -> None:
        raise RuntimeError("the client is gone")

    async def talk() -> None:
        house.pending = 1
        committer.then(fail)
        committer.then(lambda: done.append(house.commits))
        await asyncio.sleep(0.05)

    asyncio.run(talk())
    assert done == [1]


def test_a_failed_commit_answers_nobody() -> None:
    told, done = list[JournalError](), list[int]()
    committer = Committer(Counting(fails=True), failed=told.append)

    async def talk() -> None:
        committer._house.pending = 1  # type: ignore[misc]
        committer.then(lambda: done.append(1))
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await asyncio.sleep(0.05)

    asyncio.run(talk())
    assert done == []
    assert str(told[0]) == "disk full"


# --- a separate process: signals, exit codes, output


def test_the_printed_lines_work_when_pasted_and_sigterm_drains(tmp_path: Path) -> None:
    with process(tmp_path / "data") as (server, url):
        assert server.stdout is not None
        lines = list[str]()
        while len(lines) < 3:
            line = server.stdout.readline()
            lines += [line] if line.startswith("curl ") else []
        done = [
            subprocess.run(
                ["bash", "-c", f"{line.strip()} --silent --show-error --fail"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for line in lines
        ]
        assert '"action":"' in done[0]
        assert '"status":"learned"' in done[1]
        assert done[2].startswith("{")

        # A request that has begun to arrive is still answered.
        with dial(url) as sock:
            whole = request_bytes(b'{"actions": ["a"]}').replace(b"/plain/", b"/demo/")
            sock.sendall(whole[:-4])
            time.sleep(0.3)
            server.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            with pytest.raises(ConnectionRefusedError):
                dial(url)
            sock.sendall(whole[-4:])
            assert b'"action":"a"' in received(sock)
        assert server.wait(timeout=30) == 0
    with process(tmp_path / "data") as (server, url):
        assert httpx.get(f"{url}/v1/policies/demo").json()["decisions"] == 2


def test_a_second_server_on_the_same_journal_is_refused(tmp_path: Path) -> None:
    with process(tmp_path):
        command = [sys.executable, "-m", "driftbandits", "serve", "--listen", "127.0.0.1:0"]
        second = subprocess.run(
            [*command, "--data", str(tmp_path)], capture_output=True, text=True, timeout=120
        )
    assert second.returncode == 1
    assert "journal" in second.stderr


def test_a_failing_journal_ends_the_process_without_an_answer(tmp_path: Path) -> None:
    """The commit fails in a child: no answer is sent, and the exit code says why."""
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from service_running import serving
from driftbandits.service.errors import JournalError
from driftbandits.service.house import House
from driftbandits.service.journal.memory import MemoryStore

house = House.open(MemoryStore())
with serving(house=house) as server:
    def fail():
        raise JournalError("no space left")
    house.commit = fail
    print(server.url, flush=True)
    import time
    time.sleep(60)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        with pytest.raises(httpx.TransportError):
            httpx.post(url + DECIDE, json={"actions": OFFERED}, timeout=30.0)
        assert child.wait(timeout=30) == JOURNAL_FAILED
        assert child.stderr is not None
        assert "no space left" in child.stderr.read()
    finally:
        child.kill()
        child.communicate()


def test_a_draining_server_says_so() -> None:
    with connected() as http:
        assert http.get("/readyz").status_code == 200
    with serving() as server, httpx.Client(base_url=server.url) as client:
        client.get("/readyz")
        server.app.draining = True
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"


def test_streams_end_when_the_server_does() -> None:
    with serving(policies={"plain": PLAIN}) as server:
        begun, seen = threading.Event(), list[str]()

        def listen() -> None:
            with httpx.stream("GET", f"{server.url}/dashboard/events", timeout=30.0) as stream:
                for line in stream.iter_lines():
                    seen.append(line)
                    begun.set()

        listener = threading.Thread(target=listen)
        listener.start()
        assert begun.wait(20.0)
        start = time.monotonic()
        server.stop()
        listener.join(20.0)
        assert not listener.is_alive()
        assert time.monotonic() - start < 5.0
