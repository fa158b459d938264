"""The report of a log in a real browser: everything is drawn, no errors, no network."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from selenium.webdriver.common.by import By

from driftbandits.figures.log_report import LogReport, write_log_report
from driftbandits.logs import Log
from log_worlds import world
from test_log_replay import POLICIES
from test_report_browser import Browser, _requests, chromium, until

__all__ = ["chromium"]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    w = world(kind="rotate", rounds=600, noise=0.3)
    log = Log.open(w.frame)
    page = LogReport(
        title="Log <i>& more</i>",
        check=log.check(period="100"),
        drift=log.drift(simulations=59),
        memory=log.memory(),
        values=[
            log.value({"uniform": "uniform"}, period="100"),
            log.replay({"D-LinUCB": POLICIES["D-LinUCB"]()}, period="100"),
        ],
        refused=["a question: because <b>no</b>"],
    )
    return write_log_report(page, tmp_path_factory.mktemp("report") / "log.html").as_uri()


@pytest.fixture
def page(chromium: Browser, report: str) -> Iterator[Browser]:
    chromium.get_log("performance")  # type: ignore[no-untyped-call]
    chromium.get(report)
    until(lambda: chromium.execute_script("return document.querySelectorAll('.main-svg').length"))
    yield chromium
    assert chromium.get_log("browser") == []  # type: ignore[no-untyped-call]
    addresses = _requests(chromium, report)
    assert report in addresses
    assert [a for a in addresses if a != report and not a.startswith(("data:", "blob:"))] == []


def test_all_answers_are_there(page: Browser) -> None:
    assert page.find_element(By.TAG_NAME, "h1").text == "Log <i>& more</i>"
    headings = [h.text for h in page.find_elements(By.TAG_NAME, "h2")]
    assert headings == [
        "Health", "Drift", "Memory", "Values", "What cannot be answered", "Configuration",
    ]  # fmt: skip
    for name, traces in (("drift", 1), ("memory", 2), ("whole", 4), ("value", 3)):
        script = f"return document.getElementById('{name}-plot').data?.length"
        until(partial(page.execute_script, script))
        drawn = page.execute_script(script)
        assert drawn == traces
    text = page.find_element(By.ID, "unanswered").text
    assert "because <b>no</b>" in text
    assert "reward_bounds" in text
    assert "DLinUCB(dim=3" in page.find_element(By.ID, "snippet").text
    assert "Accepted" in page.find_element(By.ID, "value").text


def test_the_answers_come_first_and_say_whose_value_a_replay_is(page: Browser) -> None:
    short = page.find_element(By.CSS_SELECTOR, "header .short").text
    assert "600 rows from" in short
    assert "Payoffs drift" in short
    assert "live, by a model of the log" in short
    assert "of its rewards: the value of a policy that learned from less than live" in short
    labels = "return document.getElementById('whole-plot').data.map(trace => trace.name)"
    logged, *others = page.execute_script(labels)
    assert logged == "logged"
    assert any(label == "D-LinUCB, live (model)" for label in others)
    assert any(label.startswith("D-LinUCB, replayed with") for label in others)
    same = (
        "const [a, b] = ['whole', 'value'].map(n => document.getElementById(n + '-plot').data"
        ".find(t => t.name === 'logged')); return (a.marker.color === b.line.color)"
    )
    assert page.execute_script(same)


def test_long_tables_open(page: Browser) -> None:
    folded = page.find_element(By.CSS_SELECTOR, "#health details")
    rows = folded.find_element(By.TAG_NAME, "table")
    assert not rows.is_displayed()
    # By script: the page scrolls smoothly, and a click would land where the summary was.
    page.execute_script("arguments[0].click()", folded.find_element(By.TAG_NAME, "summary"))
    until(rows.is_displayed)


def test_a_dark_page_has_other_colours(page: Browser) -> None:
    colour = "return document.getElementById('value-plot').data[0].line.color"
    light = page.execute_script(colour)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        until(lambda: page.execute_script(colour) != light)
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_narrow_page_does_not_scroll_sideways(page: Browser) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        until(lambda: page.execute_script("return document.documentElement.scrollWidth") <= 390)
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_tables_are_accessible(page: Browser) -> None:
    assert page.execute_script("return document.querySelectorAll('th:not([scope])').length") == 0
    anchors = (
        "return [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert page.execute_script(anchors)
