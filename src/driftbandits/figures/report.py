"""The report: results as one HTML page that needs no network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from ..core.storage import atomic_write
from ..simulation.results import Result
from .report_data import embed, experiment_data
from .report_sections import entry, section, unread


def write_report(
    results: Mapping[str, Result],
    path: str | os.PathLike[str],
    *,
    damaged: Mapping[str, str] | None = None,
) -> Path:
    """Write one self-contained page about ``results``, by name, to ``path``.

    ``damaged`` maps names of unreadable results to the reasons; the page lists them.
    The same results give the same bytes.
    """
    keyed = {f"experiment-{i}": result for i, result in enumerate(results.values(), start=1)}
    page = Template(_resource("report.html")).substitute(
        style=_resource("report.css"),
        damaged=unread(damaged or {}),
        contents="".join(entry(key, result) for key, result in keyed.items()),
        sections="".join(section(key, result) for key, result in keyed.items()),
        data=embed([experiment_data(key, result) for key, result in keyed.items()]),
        plotly=get_plotlyjs(),
        script=_resource("report_plots.js") + _resource("report_page.js"),
    )
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as file:
        file.write(page.encode())
    return target


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
