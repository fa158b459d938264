"""Figures and the report, drawn from results only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ..simulation.results import Result
from .adaptive import plot_adaptive
from .coverage import has_coverage, plot_coverage
from .detections import has_detections, plot_detections
from .estimates import has_plane, plot_estimates
from .leaderboard import plot_leaderboard
from .regret import has_regret, plot_regret
from .report import write_report
from .style import save

__all__ = [
    "draw",
    "plot_adaptive",
    "plot_coverage",
    "plot_detections",
    "plot_estimates",
    "plot_leaderboard",
    "plot_regret",
    "save",
    "write_report",
]

# Name of the files, a check whether the result has the data, and the drawing function.
_FIGURES: tuple[tuple[str, Callable[[Result], bool], Callable[[Result], Figure]], ...] = (
    ("regret", has_regret, plot_regret),
    ("estimates", has_plane, plot_estimates),
    ("detections", has_detections, plot_detections),
    ("coverage", has_coverage, plot_coverage),
)


def draw(result: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """Write all figures for which ``result`` has data to ``folder``, as PNG, PDF and SVG."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    return [
        path
        for name, applies, plot in _FIGURES
        if applies(result)
        for path in save(plot(result), root / name)
    ]
