"""The report in a real browser: no errors, no network, and every control works."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from driftbandits.figures import write_report
from test_figures import CHANGES, POLICIES, make_coverage, make_result

pytestmark = pytest.mark.browser
Browser = webdriver.Chrome
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)


def _binaries() -> tuple[str, str]:
    """Chromium and its driver; without them a test is skipped, unless they are required."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium and driver:
        return chromium, driver
    reason = "chromium and chromedriver are not installed"
    if os.environ.get("DRIFTBANDITS_BROWSER") == "required":
        pytest.fail(f"{reason}, and DRIFTBANDITS_BROWSER=required")
    pytest.skip(f"{reason}; set DRIFTBANDITS_BROWSER=required to make this a failure")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    results = {
        "jumps": make_result(published={"D-LinUCB": 30.0}),
        "drift": make_result(title="Drift <i>& more</i>", change_points=[], standin=True),
        "coverage": make_coverage(),
    }
    return write_report(results, tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    binary, driver = _binaries()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


@pytest.fixture
def page(chromium: Browser, report: str) -> Iterator[Browser]:
    """The report, newly opened; afterwards there must be no error and no network request."""
    chromium.get_log("performance")  # type: ignore[no-untyped-call]
    chromium.get(report)
    until(lambda: chromium.execute_script("return document.querySelectorAll('.main-svg').length"))
    yield chromium
    assert chromium.get_log("browser") == []  # type: ignore[no-untyped-call]
    addresses = _requests(chromium, report)
    assert report in addresses
    assert [a for a in addresses if a != report and not a.startswith(("data:", "blob:"))] == []


def _requests(browser: Browser, report: str) -> list[str]:
    """Addresses that the report requested, without the browser's own pages."""
    entries = browser.get_log("performance")  # type: ignore[no-untyped-call]
    messages = [json.loads(entry["message"])["message"] for entry in entries]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [p["request"]["url"] for p in sent if p["documentURL"].startswith(report)]


def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def plot(browser: Browser, name: str, expression: str) -> Any:
    """The value of a JavaScript expression in ``plot``, the element of a picture."""
    script = f"const plot = document.getElementById('{name}-plot'); return {expression};"
    return browser.execute_script(script)


def visibility(browser: Browser, name: str, group: str) -> set[Any]:
    traces = f"plot._fullData.filter(t => t.legendgroup === '{group}').map(t => t.visible)"
    return set(plot(browser, name, traces))


def click_legend(browser: Browser, name: str, label: str) -> None:
    items = browser.find_elements(By.CSS_SELECTOR, f"#{name}-plot .legend .traces")
    item = next(item for item in items if item.text.strip() == label)
    target = item.find_element(By.CSS_SELECTOR, ".legendtoggle")
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", target
    )
    ActionChains(browser).move_to_element(target).click().perform()


def bands_drawn(browser: Browser, name: str) -> int:
    return int(plot(browser, name, "plot.querySelectorAll('.fills path').length"))


def test_everything_is_drawn(page: Browser) -> None:
    drawn = page.execute_script(
        "return [...document.querySelectorAll('.plot')].map(p => [p.id, p.data.length])"
    )
    names = [name for name, count in drawn if count]
    first = [f"experiment-1-{n}-plot" for n in ("regret", "estimates", "detections")]
    last = [f"experiment-3-{n}-plot" for n in ("at_round", "at_all_rounds")]
    assert names[:3] == first
    assert names[-2:] == last
    shapes = "plot.layout.shapes.filter(s => s.name === 'change').map(s => s.x0)"
    assert plot(page, "experiment-1-regret", shapes) == list(CHANGES)
    assert "Drift <i>& more</i> (stand-in data)" in page.find_element(By.TAG_NAME, "nav").text


def test_plots_of_a_stand_in_say_so(page: Browser) -> None:
    for name in ("regret", "estimates", "detections"):
        title = plot(page, f"experiment-2-{name}", "plot.querySelector('.gtitle').textContent")
        assert title == "Drift <i>& more</i> (stand-in data)"


def test_the_legend_hides_a_policy_with_its_band_and_detections(page: Browser) -> None:
    name, group = "experiment-1-regret", "policy-1"
    assert visibility(page, name, group) == {True}
    before = bands_drawn(page, name)
    click_legend(page, name, "dLinUCB")
    until(lambda: visibility(page, name, group) == {"legendonly"})
    until(lambda: bands_drawn(page, name) == before - 1)
    lines = f"plot._fullLayout.shapes.filter(s => s.legendgroup === '{group}').map(s => s.visible)"
    assert set(plot(page, name, lines)) == {"legendonly"}
    assert visibility(page, name, "policy-0") == {True}
    click_legend(page, name, "dLinUCB")
    until(lambda: visibility(page, name, group) == {True})
    until(lambda: bands_drawn(page, name) == before)


def test_a_bound_waits_in_the_legend(page: Browser) -> None:
    name = "experiment-1-regret"
    assert plot(page, name, "plot._fullData.at(-1).visible") == "legendonly"
    click_legend(page, name, "D-LinUCB: bound")
    until(lambda: plot(page, name, "plot._fullData.at(-1).visible") is True)


def test_dragging_zooms_and_a_double_click_zooms_out(page: Browser) -> None:
    name = "experiment-1-regret"
    area = page.find_element(By.CSS_SELECTOR, f"#{name}-plot .nsewdrag")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", area)
    ranges = "plot._fullLayout.xaxis.range.map(Number)"
    assert plot(page, name, ranges) == [0, 300]
    actions = ActionChains(page).move_to_element_with_offset(area, -150, -60).click_and_hold()
    actions.move_by_offset(200, 100).release().perform()
    until(lambda: plot(page, name, ranges) != [0, 300])
    low, high = plot(page, name, ranges)
    assert 0 < low < high < 300
    ActionChains(page).move_to_element(area).double_click().perform()
    until(lambda: plot(page, name, ranges) == [0, 300])


def test_pointing_at_a_curve_tells_its_values(page: Browser) -> None:
    area = page.find_element(By.CSS_SELECTOR, "#experiment-1-regret-plot .nsewdrag")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", area)
    ActionChains(page).move_to_element(area).perform()
    words = "plot.querySelector('.hoverlayer').textContent"
    until(lambda: all(p in plot(page, "experiment-1-regret", words) for p in POLICIES))


def test_the_scale_becomes_logarithmic(page: Browser) -> None:
    box = page.find_element(By.CSS_SELECTOR, "#experiment-1-regret .logarithmic")
    box.send_keys(Keys.SPACE)
    until(lambda: plot(page, "experiment-1-regret", "plot._fullLayout.yaxis.type") == "log")
    box.send_keys(Keys.SPACE)
    until(lambda: plot(page, "experiment-1-regret", "plot._fullLayout.yaxis.type") == "linear")


def test_the_reference_changes_the_table(page: Browser) -> None:
    result = make_result()
    select = Select(page.find_element(By.ID, "experiment-1-reference"))
    for reference in POLICIES:
        select.select_by_visible_text(reference)
        rows = page.find_elements(By.CSS_SELECTOR, "#experiment-1-final tbody tr")
        expected = result.paired(reference).to_dict("records")
        for row, values in zip(rows, expected, strict=True):
            difference = row.find_element(By.CSS_SELECTOR, ".difference").text
            ends = row.find_element(By.CSS_SELECTOR, ".difference-interval").text
            if values["policy"] == reference:
                assert (difference, ends) == ("reference", "–")
                continue
            assert _value(difference) == pytest.approx(values["difference"], rel=0.01, abs=6e-3)
            low, high = (_value(end) for end in ends.strip("[]").split(", "))
            assert low == pytest.approx(values["low"], rel=0.01, abs=6e-3)
            assert high == pytest.approx(values["high"], rel=0.01, abs=6e-3)


def _value(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def test_the_slider_moves_the_estimates(page: Browser) -> None:
    result, name = make_result(), "experiment-1-estimates"
    slider = page.find_element(By.CSS_SELECTOR, f"#{name} .step")
    marker = "plot.data.filter(t => t.legendgroup === 'policy-0').at(-1)"
    means = result.estimates[0].mean(axis=0)
    assert plot(page, name, f"{marker}.x[0]") == pytest.approx(means[0, 0], abs=1e-6)
    slider.send_keys(Keys.ARROW_RIGHT * 12)
    until(lambda: page.find_element(By.CSS_SELECTOR, f"#{name} .round").text == "round 130")
    place = plot(page, name, f"[{marker}.x[0], {marker}.y[0]]")
    assert place == pytest.approx(means[12].tolist(), abs=1e-6)
    truth = plot(page, name, "[plot.data[2].x[0], plot.data[2].y[0]]")
    assert truth == result.path[12].tolist()


def test_the_animation_plays_pauses_and_ends(page: Browser) -> None:
    section = page.find_element(By.ID, "experiment-1-estimates")
    button = section.find_element(By.CSS_SELECTOR, ".play")
    step = section.find_element(By.CSS_SELECTOR, ".step")
    page.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button
    )
    button.click()
    assert button.text == "Pause"
    until(lambda: int(step.get_property("value")) >= 2)  # type: ignore[arg-type]
    button.click()
    assert button.text == "Play"
    paused = step.get_property("value")
    time.sleep(0.6)
    assert step.get_property("value") == paused
    step.send_keys(Keys.END)
    step.send_keys(Keys.ARROW_LEFT)
    button.click()
    until(lambda: button.text == "Play" and step.get_property("value") == "29")


def test_estimates_of_a_policy_come_and_go(page: Browser) -> None:
    name = "experiment-1-estimates"
    click_legend(page, name, "D-LinUCB")
    until(lambda: visibility(page, name, "policy-0") == {"legendonly"})
    assert visibility(page, name, "policy-1") == {True}


def test_coverage_bands_follow_their_line(page: Browser) -> None:
    click_legend(page, "experiment-3-at_round", "Random")
    until(lambda: visibility(page, "experiment-3-at_round", "policy-2") == {"legendonly"})


def test_a_dark_page_has_other_colours_and_keeps_what_was_hidden(page: Browser) -> None:
    name = "experiment-1-regret"
    click_legend(page, name, "Random")
    until(lambda: visibility(page, name, "policy-2") == {"legendonly"})
    light = plot(page, name, "plot.data[3].line.color")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        until(lambda: plot(page, name, "plot.data[3].line.color") != light)
        assert visibility(page, name, "policy-2") == {"legendonly"}
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_narrow_page_does_not_scroll_sideways(page: Browser) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        width = "return document.documentElement.scrollWidth"
        until(lambda: page.execute_script(width) <= 390)
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_picture_can_be_kept(page: Browser) -> None:
    script = "return Plotly.toImage(document.getElementById('experiment-1-regret-plot'))"
    image = page.execute_script(script)
    assert image.startswith("data:image/png;base64,")


def test_tables_and_headings_are_accessible(page: Browser) -> None:
    bare = "return document.querySelectorAll('th:not([scope])').length"
    assert page.execute_script(bare) == 0
    assert len(page.find_elements(By.TAG_NAME, "h1")) == 1
    anchors = (
        "return [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert page.execute_script(anchors)


def test_the_published_value_stands_beside_ours(page: Browser) -> None:
    row = page.find_element(By.CSS_SELECTOR, "#experiment-1-final tbody tr")
    ours = make_result().final("D-LinUCB").mean()
    cells = [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
    assert cells[-2] == "30.0"
    assert f"{(ours - 30) / 30:+.1%}".replace("-", "−") in cells[-1]


def test_absence_is_a_failure_where_the_browser_is_required(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DRIFTBANDITS_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not installed"):
        _binaries()
    monkeypatch.setenv("DRIFTBANDITS_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="required"):
        _binaries()
