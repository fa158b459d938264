"""Endpoints that are not about policies: health, metrics, OpenAPI description, dashboard."""

from __future__ import annotations

import importlib.resources
import mimetypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..house import House
from .metrics import MEDIA_TYPE as METRICS_TYPE
from .metrics import metrics_text
from .openapi import description
from .problems import Problem
from .routing import Answer, Call, Route, json_answer
from .shapes import HealthView
from .streams import MEDIA_TYPE as EVENTS_TYPE
from .streams import Stream
from .vitals import Vitals

# The page may load scripts, styles and data only from this server.
_PAGE = (
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_FRESH_SECONDS = 0.9  # all listeners within this time share one computed event


class Around:
    """The endpoints around the policies."""

    def __init__(self, house: House, vitals: Vitals, *, draining: Callable[[], bool]) -> None:
        self._house, self._vitals, self._draining = house, vitals, draining
        self._files = _files()
        self._described = b""
        self._event, self._event_time = b"", 0.0

    def routes(self) -> list[Route]:
        """All routes of this class."""
        html = b"text/html"
        return [
            Route("GET", "/healthz", None, self.health, "Answer while the process runs.",
                  gives=HealthView),
            Route("GET", "/readyz", None, self.ready, "Answer 200 if the server accepts requests.",
                  gives=HealthView, refusals=(503,)),
            Route("GET", "/metrics", "reader", self.metrics, "Metrics for Prometheus.",
                  media=METRICS_TYPE),
            Route("GET", "/openapi.json", None, self.openapi, "This description.",
                  gives=dict[str, Any]),
            Route("GET", "/dashboard", None, self.page, "The dashboard.", media=html),
            Route("GET", "/dashboard/events", "reader", self.stream,
                  "All diagnostics once per second, as server-sent events.", media=EVENTS_TYPE),
            Route("GET", "/dashboard/{file}", None, self.file, "A file of the dashboard.",
                  media=b"*/*", refusals=(404,)),
        ]  # fmt: skip

    def describe(self, routes: Sequence[Route]) -> None:
        """Make the OpenAPI description of all routes."""
        self._described = msgspec.json.encode(description(routes))

    def health(self, call: Call) -> Answer:
        """GET /healthz."""
        return json_answer(HealthView(status="ok"))

    def ready(self, call: Call) -> Answer:
        """GET /readyz."""
        if self._draining():
            raise Problem(503, "draining", "The server is shutting down", "ask another one")
        return json_answer(HealthView(status="ready"))

    def metrics(self, call: Call) -> Answer:
        """GET /metrics."""
        return Answer(200, metrics_text(self._house, self._vitals), METRICS_TYPE)

    def openapi(self, call: Call) -> Answer:
        """GET /openapi.json."""
        return Answer(200, self._described)

    def page(self, call: Call) -> Answer:
        """GET /dashboard."""
        return self._file("index.html")

    def file(self, call: Call) -> Answer:
        """GET /dashboard/{file}."""
        return self._file(call.names[0])

    def stream(self, call: Call) -> Stream:
        """GET /dashboard/events."""
        return Stream(self._latest, self._draining)

    def _file(self, name: str) -> Answer:
        if name not in self._files:
            raise Problem(404, "not_found", "No such file", "the dashboard has no such file")
        body, media = self._files[name]
        return Answer(200, body, media, _PAGE)

    def _latest(self) -> bytes:
        now = time.monotonic()
        if now - self._event_time > _FRESH_SECONDS:
            self._event, self._event_time = msgspec.json.encode(self._state()), now
        return self._event

    def _state(self) -> dict[str, Any]:
        """What the dashboard shows."""
        names = [view.name for view in self._house.policies()]
        return {
            "time": time.time(),
            "server": self._vitals.summary(),
            "journal": self._house.journal(),
            "policies": {name: self._house.diagnostics(name) for name in names},
        }


def _files() -> dict[str, tuple[bytes, bytes]]:
    """The dashboard's files with their types, read once: no request can name a path on disk."""
    folder = importlib.resources.files("driftbandits.service.dashboard") / "static"
    files = {}
    for entry in folder.iterdir():
        if entry.is_file():
            media = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
            files[entry.name] = (entry.read_bytes(), media.encode())
    return files
