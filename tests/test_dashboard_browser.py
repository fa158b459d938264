"""The dashboard in a real browser: everything is drawn, names are text, keys are asked for."""

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
    """The text of a tile, read in one step, because the page replaces tiles every second."""
    script = """
        const tiles = [...document.querySelectorAll(".tiles div")];
        const tile = tiles.find((one) => one.querySelector("dt").textContent === arguments[0]);
        return tile.querySelector("dd").textContent;
    """
    return str(page.execute_script(script, name))


def texts(page: Browser, selector: str) -> list[str]:
    """The texts of all elements, read in one step."""
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
    return [str(text) for text in page.execute_script(script, selector)]


def test_everything_is_drawn(page: Browser) -> None:
    assert page.find_element(By.ID, "state").text == "live"
    assert tile(page, "decisions") == "60"
    assert tile(page, "learner") == "LinUCB, d = 4"
    for plot in ("reward", "memory", "calibration"):
        assert page.find_elements(By.CSS_SELECTOR, f"#{plot}-plot canvas")
    until(lambda: page.find_elements(By.CSS_SELECTOR, "#delays li"))
    assert texts(page, "#shares .name")[0] == "a"
    assert texts(page, "#estimates tr + tr th") == ["shown", "learner", "baseline"]


def test_it_follows_the_server(page: Browser, address: str) -> None:
    before = int(tile(page, "decisions"))
    with httpx.Client(base_url=address.removesuffix("/dashboard")) as client:
        client.post("/v1/policies/plain/decisions", json={"actions": OFFERED}).raise_for_status()
    until(lambda: tile(page, "decisions") == str(before + 1))


def test_names_are_text(page: Browser) -> None:
    """Names of policies and actions never become HTML."""
    buttons = page.find_elements(By.CSS_SELECTOR, "#policies button")
    assert texts(page, "#policies button") == ["plain", EVIL]
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
        # The browser itself logs that the first request was refused.
        log = chromium.get_log("browser")  # type: ignore[no-untyped-call]
        assert all("401" in entry["message"] for entry in log)
