"""The picture: numbers compared with their aims, libraries by time and regret, time by d."""

from __future__ import annotations

import math
import re
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from .measure import Row

_COLOURS = {"met": "tab:green", "missed": "tab:red", "not judged": "tab:grey"}


def draw(rows: list[Row], path: Path) -> None:
    """Draw every panel for which there are rows."""
    figure, axes = plt.subplots(1, 3, figsize=(16, 5.5), layout="constrained")
    _aims(axes[0], [row for row in rows if row.aim is not None])
    _libraries(axes[1], [row for row in rows if row.section == "libraries"])
    _dimension(axes[2], [row for row in rows if row.section == "scaling"])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _aims(axes: Axes, rows: list[Row]) -> None:
    """How far each number is beyond its aim; right of the line is good."""
    rows = [row for row in rows if row.median > 0]
    for position, row in enumerate(reversed(rows)):
        assert row.aim is not None
        sign = 1.0 if row.aim.sense == ">=" else -1.0
        values = [(x / row.aim.bound) ** sign for x in (row.median, row.low, row.high)]
        middle, ends = values[0], sorted(values[1:])
        if not math.isnan(ends[0]):
            axes.plot(ends, [position, position], color="grey", lw=3, alpha=0.5)
        axes.plot(middle, position, "o", color=_COLOURS[row.verdict])
    axes.axvline(1.0, color="black", lw=1)
    axes.set_xscale("log")
    labels = [f"{row.subject}: {row.quantity}" for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), labels, fontsize=6)
    axes.set_title("Aims: right of the line is met")


def _libraries(axes: Axes, rows: list[Row]) -> None:
    """Regret and time per round."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if "/" not in row.subject:
            found.setdefault(row.subject, {})[row.quantity] = row.median
    for subject, of in found.items():
        if "final regret" not in of:
            continue
        round_time = of["time a decision"] + of["time an update"]
        ours = subject.startswith("driftbandits")
        axes.plot(round_time, of["final regret"], "*" if ours else "o", ms=10 if ours else 5)
        axes.annotate(subject, (round_time, of["final regret"]), fontsize=6)
    axes.set(xscale="log", yscale="log", xlabel="µs per round", ylabel="final regret")
    axes.set_title("Libraries: left and down is better")


def _dimension(axes: Axes, rows: list[Row]) -> None:
    """Time per update by d, exact and amortised."""
    for name in ("exact", "amortised"):
        pattern = re.compile(rf"update \+ theta, {name}, d = (\d+)")
        points = [(int(m[1]), row.median) for row in rows if (m := pattern.fullmatch(row.subject))]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", label=name)
    axes.set(xscale="log", yscale="log", xlabel="d", ylabel="µs")
    axes.set_title("Update and estimate against d")
    if axes.lines:
        axes.legend()
