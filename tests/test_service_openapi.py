"""The OpenAPI description is complete and true, and no request breaks the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from driftbandits.service.journal.sqlite import SQLiteStore
from service_running import serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("service")
    store = SQLiteStore(folder / "journal.sqlite")
    with serving(store=store, backups=folder / "backups") as server:
        yield server.url


def description(url: str) -> dict[str, Any]:
    described: dict[str, Any] = httpx.get(f"{url}/openapi.json").json()
    return described


def test_every_operation_has_a_name_of_its_own(url: str) -> None:
    names = [
        operation["operationId"]
        for item in description(url)["paths"].values()
        for operation in item.values()
    ]
    assert len(names) == len(set(names)) == 26


def test_the_reference_lists_every_path(url: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "http.md").read_text("utf-8")
    paths = description(url)["paths"]
    listed = set(re.findall(r"`(/[^`?]*)", page))
    assert set(paths) <= listed | {"/"}
    for path, item in paths.items():
        for method in item:
            if not path.startswith("/dashboard"):
                assert f"{method.upper()} `{path}" in page


def attack(url: str, examples: int) -> int:
    """Send valid and invalid generated requests to every path that ends; return their number."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path="/dashboard/events")
    sent = 0
    found: list[Any] = list(schema.get_all_operations())
    for operation in (result.ok() for result in found):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def send(case: Any) -> None:
                nonlocal sent
                sent += 1
                case.call_and_validate(checks=CHECKS)

            try:
                send()
            except Unsatisfiable:  # no invalid request exists
                assert mode is GenerationMode.NEGATIVE
    return sent


@pytest.mark.parametrize(
    "examples", [2, pytest.param(40, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_no_generated_request_breaks_the_server(url: str, examples: int) -> None:
    assert attack(url, examples) > 24 * examples
