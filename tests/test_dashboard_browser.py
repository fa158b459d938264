"""The dashboard in a real browser: all is drawn, names are text, and keys are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from selenium.webdriver.common.by import By

from driftbandits.service.http.keys import Key, hashed
from service_running import OFFERED, PLAIN, serving
from test_report_browser import Browser, _requests, chromium, until

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=document.title='hacked'>"
KEY = "an-example-of-a-long-key"


def play(client: httpx.Client, policy: str, decisions: int) -> None:
    """Decisions with their rewards; action a is the best."""
    offered: list[dict[str, Any]] = [*OFFERED, {"id": EVIL, "features": {"kind": "c"}}]
    for n in range(decisions):
        body = {"event_id": f"{policy}-{n}", "actions": offered}
        answer = client.post(f"/v1/policies/{policy}/decisions", json=body).raise_for_status()
        reward = {"reward": float(answer.json()["action"] == "a")}
        client.post(f"/v1/decisions/{policy}-{n}/reward", json=reward).raise_for_status()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    policies = {"plain": {**PLAIN, "wait": 0.05}, EVIL: {**PLAIN, "floor": 0.5}}
    with serving(policies=policies) as server, httpx.Client(base_url=server.url) as client:
        play(client, "plain", 60)
        yield f"{server.url}/dashboard"


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Browser]:
    chromium.get_log("performance")  # type: ignore[no-untyped-call]
    chromium.get(address)
    until(lambda: chromium.find_elements(By.CSS_SELECTOR, "#reward-plot canvas"))
    yield chromium
    assert chromium.get_log("browser") == []  # type: ignore[no-untyped-call]
    asked = _requests(chromium, address)
    assert asked
    assert [one for one in asked if not one.startswith(address)] == []


def tile(page: Browser, name: str) -> str:
    """The text of a tile."""
    for box in page.find_elements(By.CSS_SELECTOR, ".tiles div"):
        if box.find_element(By.TAG_NAME, "dt").text == name:
            return str(box.find_element(By.TAG_NAME, "dd").text)
    raise AssertionError(f"no tile {name!r}")


def test_everything_is_drawn(page: Browser) -> None:
    assert page.find_element(By.ID, "state").text == "live"
    assert tile(page, "decisions") == "60"
    assert tile(page, "learner") == "LinUCB, d = 4"
    for plot in ("reward", "memory", "calibration"):
        assert page.find_elements(By.CSS_SELECTOR, f"#{plot}-plot canvas")
    until(lambda: page.find_elements(By.CSS_SELECTOR, "#delays li"))
    shares = page.find_elements(By.CSS_SELECTOR, "#shares .name")
    assert shares[0].text == "a"
    rows = [row.text.split()[0] for row in page.find_elements(By.CSS_SELECTOR, "#estimates tr")[1:]]
    assert rows == ["shown", "learner", "baseline"]


def test_it_follows_the_server(page: Browser, address: str) -> None:
    before = int(tile(page, "decisions"))
    with httpx.Client(base_url=address.removesuffix("/dashboard")) as client:
        client.post("/v1/policies/plain/decisions", json={"actions": OFFERED}).raise_for_status()
    until(lambda: tile(page, "decisions") == str(before + 1))


def test_names_are_text(page: Browser) -> None:
    """Neither the name of a policy nor that of an action becomes part of the page."""
    buttons = page.find_elements(By.CSS_SELECTOR, "#policies button")
    assert [button.text for button in buttons] == ["plain", EVIL]
    buttons[1].click()
    until(lambda: page.find_element(By.ID, "policy-title").text == EVIL)
    assert page.title == "driftbandits"
    assert page.find_elements(By.TAG_NAME, "img") == []


def test_a_key_is_asked_for(chromium: Browser) -> None:
    keys = [Key("eyes", "reader", hashed(KEY))]
    with serving(keys=keys) as server:
        chromium.get(f"{server.url}/dashboard")
        until(lambda: chromium.find_element(By.ID, "key-form").is_displayed())
        assert not chromium.find_element(By.ID, "main").is_displayed()
        chromium.find_element(By.ID, "key").send_keys(KEY)
        chromium.find_element(By.CSS_SELECTOR, "#key-form button").click()
        until(lambda: chromium.find_element(By.ID, "main").is_displayed())
        assert KEY not in chromium.page_source
        # The browser itself writes down that the first request was refused.
        log = chromium.get_log("browser")  # type: ignore[no-untyped-call]
        assert all("401" in entry["message"] for entry in log)
