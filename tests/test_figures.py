"""Figures and the report's page, from small results made by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from driftbandits.figures import (
    draw,
    plot_coverage,
    plot_detections,
    plot_estimates,
    plot_regret,
    write_report,
)
from driftbandits.figures.changes import false_alarm_rate, noticed
from driftbandits.figures.coverage import binomial_interval
from driftbandits.figures.estimates import mean_estimates, positions
from driftbandits.figures.report_data import experiment_data
from driftbandits.figures.report_settings import readable
from driftbandits.figures.report_tables import number
from driftbandits.figures.style import CHANGE, styles
from driftbandits.simulation.results import Result

POLICIES = ("D-LinUCB", "dLinUCB", "Random")
CHANGES = (101, 201)
_COMMON = {"dim": 2, "ridge": 0.1, "noise": 1.0, "delta": 0.05}
_COMMON |= {"theta_bound": 1.0, "action_bound": 1.0}


def make_result(*, dim: int = 2, replications: int = 4, **config: Any) -> Result:
    """Three policies, 300 rounds, two jumps; every array is drawn from a fixed seed."""
    generator = np.random.default_rng(7)
    rounds: Any = np.arange(10, 301, 10)
    shape = (3, replications, 30)
    path = np.zeros((30, dim))
    for number_, (low, high) in enumerate(((0, 100), (100, 200), (200, 300))):
        path[(rounds > low) & (rounds <= high), number_ % dim] = 1.0
    estimates = path + 0.1 * generator.standard_normal((*shape, dim))
    estimates[2] = np.nan
    settings = {"policy": "DLinUCB", **_COMMON, "gamma": 0.9}
    about = {
        "title": "Jumps",
        "change_points": list(CHANGES),
        "budget": 2.0,
        "policies": {"D-LinUCB": settings, "dLinUCB": {**settings, "policy": "DynamicLinUCB"}},
        "environment": {"path": {"kind": "PiecewiseConstant"}},
        "versions": {"driftbandits": "1.2.3"},
        "command": "driftbandits run jumps.toml",
    }
    return Result(
        config=about | config,
        policies=POLICIES,
        regret_rounds=rounds,
        regret=generator.uniform(0, 2, shape).cumsum(axis=2),
        estimate_rounds=rounds,
        estimates=estimates,
        path=path,
        detections=np.array(
            [[1, 0, 50], [1, 0, 120], [1, 0, 150], [1, 2, 140], [1, 3, 299]], float
        ),
        missed=np.zeros((0, 0, 0)),
        missing=np.zeros((0, 0, 0)),
    )


def make_coverage() -> Result:
    """Only coverage: no regret, no estimates, no changes."""
    result = make_result(replications=10, title="Coverage", change_points=[])
    missed = np.zeros((3, 10, 30))
    missed[0, :5, 15:] = 1
    return replace(
        result,
        regret=np.zeros((3, 10, 30)),
        estimate_rounds=np.zeros(0),
        detections=np.zeros((0, 3)),
        missed=missed,
        missing=np.zeros((3, 10, 30)),
        estimates=np.zeros((3, 10, 0, 0)),
        path=np.zeros((0, 0)),
    )


def verticals(axes: Axes, color: str) -> list[float]:
    """Positions of the vertical lines of a colour."""
    found = [
        np.asarray(line.get_xdata())
        for line in axes.lines
        if to_hex(line.get_color()) == color.lower()
    ]
    return [float(x[0]) for x in found if len(x) == 2 and x[0] == x[1]]


def test_known_policies_keep_their_style_and_no_two_look_alike() -> None:
    labels = ("mine", "D-LinUCB", "D-LinUCB (as published)", "SW-LinUCB", "dLinUCB", "LinUCB")
    looks = styles((*labels, "LinUCB-OR", "Random", "yours"))
    assert looks["D-LinUCB"] == styles(["D-LinUCB"])["D-LinUCB"]
    assert looks["mine"] == styles(["other"])["other"]
    assert len({look.color for look in looks.values()}) == len(looks)
    assert len({(look.dash, look.marker) for look in looks.values()}) == len(looks)


def test_detections_are_grouped_by_the_change_before_them() -> None:
    first, second = noticed(make_result())
    assert (first.change, first.rate, first.round) == (101, 0.5, 130.0)
    assert (second.change, second.rate, second.round) == (201, 0.25, 299.0)
    assert false_alarm_rate(make_result(), "dLinUCB") == 0.25


def test_regret_has_a_line_and_a_band_a_policy_and_marks_changes_and_detections() -> None:
    result = make_result()
    axes = plot_regret(result).axes[0]
    curves = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 30]
    assert [line.get_label() for line in curves] == list(POLICIES)
    assert len(axes.collections) == 3
    np.testing.assert_allclose(np.asarray(curves[0].get_ydata()), result.regret[0].mean(axis=0))
    assert verticals(axes, CHANGE) == list(CHANGES)
    assert verticals(axes, styles(POLICIES)["dLinUCB"].color) == [130.0, 299.0]
    assert axes.get_title() == "Jumps"


def test_a_bound_is_drawn_on_demand_and_only_where_there_is_one() -> None:
    figure = plot_regret(make_result(), bounds=["D-LinUCB"])
    assert len(figure.axes[0].lines) == len(plot_regret(make_result()).axes[0].lines) + 1
    assert figure.axes[0].get_yscale() == "log"
    with pytest.raises(ValueError, match=r"\(D-LinUCB\), got 'Random'"):
        plot_regret(make_result(), bounds=["Random"])


def test_a_path_that_moves_all_the_time_has_no_change_lines() -> None:
    result = make_result(change_points=list(range(2, 300)))
    assert verticals(plot_regret(result).axes[0], CHANGE) == []


def test_labels_are_plain_text() -> None:
    result = replace(make_result(title="cost in $"), policies=("$x_", "_hidden", "c"))
    texts = [text.get_text() for text in plot_regret(result).legends[0].get_texts()]
    assert texts[:3] == [r"\$x_", " _hidden", "c"]


def test_figures_leave_matplotlib_as_it_was() -> None:
    before = dict(mpl.rcParams)
    plot_regret(make_result())
    assert dict(mpl.rcParams) == before


def test_estimates_show_means_and_numbered_positions() -> None:
    result = make_result()
    assert [label for label, _ in positions(result)] == ["1, 3", "2"]
    assert list(mean_estimates(result)) == ["D-LinUCB", "dLinUCB"]
    axes = plot_estimates(result).axes[0]
    assert {text.get_text() for text in axes.texts} == {"1, 3", "2"}
    assert len(axes.patches) == 1


def test_estimates_avoid_the_round_right_before_a_change() -> None:
    result = make_result()
    line = next(
        line for line in plot_estimates(result).axes[0].lines if line.get_label() == "D-LinUCB"
    )
    drawn = np.asarray(line.get_xdata())
    right_before = result.estimates[0].mean(axis=0)[9, 0]
    assert right_before not in drawn


def test_a_gradual_path_is_a_line() -> None:
    axes = plot_estimates(make_result(change_points=[])).axes[0]
    assert "true path" in [line.get_label() for line in axes.lines]
    assert {text.get_text() for text in axes.texts} == {"start", "end"}


def test_a_random_path_is_compared_with_its_own_run() -> None:
    result = make_result(environment={"path": {"kind": "RandomWalk"}}, change_points=[])
    np.testing.assert_array_equal(mean_estimates(result)["dLinUCB"], result.estimates[1, 0])


def test_estimates_outside_the_plane_are_left_out(tmp_path: Path) -> None:
    result = make_result(dim=3)
    assert "estimates.png" not in {path.name for path in draw(result, tmp_path)}
    with pytest.raises(ValueError, match="two dimensions"):
        plot_estimates(result)


def test_detections_are_counted_and_their_rates_told() -> None:
    figure = plot_detections(make_result())
    counts = [patch.get_data().values.sum() for patch in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert counts == [5]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[0] == "dLinUCB: changes noticed in 50%, 25% of runs; false alarms in 25%"
    assert verticals(figure.axes[0], CHANGE) == list(CHANGES)


def test_coverage_has_both_kinds_and_the_promised_level() -> None:
    at_round, at_all = plot_coverage(make_coverage()).axes
    for axes in (at_round, at_all):
        assert len(axes.lines) == 4
        assert np.asarray(axes.lines[-1].get_ydata())[0] == pytest.approx(0.95)
    assert np.asarray(at_round.lines[0].get_ydata())[-1] == 1.0
    assert np.asarray(at_all.lines[0].get_ydata())[-1] == 0.5


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_binomial_interval_holds_the_probabilities_that_a_score_test_accepts(
    share: float,
) -> None:
    count = 40
    for end in np.concatenate(binomial_interval(np.array([share]), count)):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / count))


def test_files_are_written_and_the_same_again(tmp_path: Path) -> None:
    first = draw(make_result(), tmp_path / "a")
    second = draw(make_result(), tmp_path / "b")
    names = {
        f"{n}.{s}" for n in ("regret", "estimates", "detections") for s in ("png", "pdf", "svg")
    }
    assert {path.name for path in first} == names
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(tmp_path.glob("*/.*")) == []


def test_only_coverage_is_drawn_where_there_is_nothing_else(tmp_path: Path) -> None:
    names = [path.name for path in draw(make_coverage(), tmp_path)]
    assert names == ["coverage.png", "coverage.pdf", "coverage.svg"]


@pytest.mark.parametrize("plot", [plot_regret, plot_estimates, plot_detections])
def test_a_stand_in_is_called_one(plot: Any) -> None:
    title = plot(make_result(standin=True)).axes[0].get_title()
    assert "Jumps (stand-in data)" in title


def test_the_report_needs_no_network_and_is_the_same_again(tmp_path: Path) -> None:
    results = {"jumps": make_result(standin=True), "coverage": make_coverage()}
    page = write_report(results, tmp_path / "new" / "report.html")
    again = write_report(results, tmp_path / "again.html")
    assert page.read_bytes() == again.read_bytes()
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=.?(https?:)?//", text)
    assert text.count('<span class="mark">stand-in data</span>') >= 4
    assert "driftbandits run jumps.toml" in text
    assert page.stat().st_size < 8_000_000


def test_the_report_escapes_what_users_write(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    result = make_result(title=evil, command=evil, description=evil, extra={evil: evil})
    result = replace(result, policies=(evil, "dLinUCB", "Random"))
    page = write_report({evil: result}, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    island = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert island is not None
    assert json.loads(island.group(1))[0]["policies"][0]["label"] == evil


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    result = make_result()
    rounds: Any = np.arange(1, 5001)
    long = replace(result, regret_rounds=rounds, regret=np.ones((3, 4, 5000)))
    kept = experiment_data("key", long)["regret"]["rounds"]
    assert (kept[0], kept[-1]) == (1, 5000)
    assert len(kept) <= 400


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    single = replace(make_result(replications=1), detections=np.zeros((0, 3)))
    page = write_report({"one": single}, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 run of 300 rounds" in page
    assert "NaN" not in page.split('id="data">')[1].split("</script>")[0]


def test_numbers_and_settings_are_readable() -> None:
    assert [number(x) for x in (4163.4, -12.34, 0.1234, float("nan"))] == [
        "4,163",
        "−12.3",
        "0.123",
        "–",
    ]
    assert readable({"kind": "Gaussian", "level": 1.0}) == "Gaussian (level 1)"
    assert readable([[1.0, -1.0], [0.5, 2]]) == "(1, −1), (0.5, 2)"
    assert readable(list(range(100))) == "0, 1, 2, …, 99"
    assert readable({"on": True, "off": None}) == "on yes; off none"
