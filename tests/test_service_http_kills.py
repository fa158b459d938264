"""kill -9 under load over HTTP: all answers are still true after the next start."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from service_running import process

THREADS = 6
ACTIONS = [{"id": name, "features": {"kind": name}} for name in "abcd"]


class Caller(threading.Thread):
    """Decides and rewards until the server is gone; remembers the answers."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(name=name)
        self._url = url
        self.decided: dict[str, dict[str, Any]] = {}
        self.rewarded: dict[str, float] = {}
        self.enough = threading.Event()

    def run(self) -> None:
        try:
            with httpx.Client(base_url=self._url, timeout=30.0) as http:
                for n in range(100_000):
                    self._round(http, f"{self.name}-{n}", float(n % 2))
                    if n == 20:
                        self.enough.set()
        except httpx.TransportError:
            pass  # killed, as expected

    def _round(self, http: httpx.Client, event: str, reward: float) -> None:
        self.decided[event] = decide(http, event)
        answer = http.post(f"/v1/decisions/{event}/reward", json={"reward": reward})
        assert answer.json()["status"] == "learned"
        self.rewarded[event] = reward


def decide(http: httpx.Client, event: str) -> dict[str, Any]:
    body = {"event_id": event, "context": {"caller": event[:2]}, "actions": ACTIONS}
    answer = http.post("/v1/policies/demo/decisions", json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def check(url: str, callers: list[Caller]) -> int:
    """Repeat every acknowledged request: it must have happened exactly once."""
    count = 0
    with httpx.Client(base_url=url, timeout=30.0) as http:
        for caller in callers:
            for event, told in caller.decided.items():
                assert decide(http, event) == {**told, "repeated": True}
                count += 1
            for event, reward in caller.rewarded.items():
                answer = http.post(f"/v1/decisions/{event}/reward", json={"reward": reward})
                assert answer.json()["status"] == "duplicate"
    return count


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.thorough)])
def test_what_was_acknowledged_survives(tmp_path: Path, kills: int) -> None:
    callers: list[Caller] = []
    for kill in range(kills):
        with process(tmp_path) as (server, url):
            assert check(url, callers) >= 20 * len(callers)
            callers = [Caller(url, f"{kill}{letter}") for letter in "abcdef"[:THREADS]]
            for caller in callers:
                caller.start()
            for caller in callers:
                assert caller.enough.wait(60.0)
            server.kill()
            for caller in callers:
                caller.join(60.0)
    with process(tmp_path) as (_, url):
        assert check(url, callers) >= 20 * THREADS
    command = [sys.executable, "-m", "driftbandits", "journal", "verify"]
    verified = subprocess.run(
        [*command, str(tmp_path / "journal.sqlite")], capture_output=True, text=True, timeout=300
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "identical, bit for bit" in verified.stdout
