"""The report of a log: health, verdict, evidence, values and open questions, as one page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd
from plotly.offline import get_plotlyjs

from ..core.storage import atomic_write
from ..logs import Check, Drift, Memory, Value
from ..logs.memory import say_memory
from ..logs.periods import say_time
from .log_report_parts import cell as _cell
from .log_report_parts import figure as _figure
from .log_report_parts import folded as _folded
from .log_report_parts import numbers as _numbers
from .log_report_parts import words as _words
from .log_report_values import once, said, values_data, values_section
from .report_data import embed
from .report_tables import table

_MOST_POINTS = 400
# The quantities of the check that the page shows first, and their labels.
_TILES = {
    "decisions": "decisions",
    "span in hours": "hours",
    "actions": "actions",
    "rows without reward": "rows without a reward",
    "median delay in hours": "hours until a reward, median",
    "least propensity": "least propensity",
    "effective sample size towards uniform play": "effective decisions for uniform play",
}


@dataclass(frozen=True)
class LogReport:
    """The content of a report; parts that the log cannot answer are None.

    Attributes:
        title: Heading of the page.
        check: Health.
        drift: Verdict.
        memory: Evidence over memories.
        values: Values of fixed and of learning policies.
        refused: Questions that could not be answered, and why.
    """

    title: str
    check: Check
    drift: Drift | None
    memory: Memory | None
    values: Sequence[Value]
    refused: Sequence[str]


def write_log_report(report: LogReport, path: str | os.PathLike[str]) -> Path:
    """Write one self-contained page to ``path``; the same answers give the same bytes."""
    parts = _parts(report)
    contents = "".join(f'<li><a href="#{key}">{heading}</a></li>' for key, heading, _ in parts)
    sections = "".join(
        f'<section class="experiment" id="{key}" aria-labelledby="{key}-heading">'
        f'<h2 id="{key}-heading">{heading}</h2>{body}</section>'
        for key, heading, body in parts
    )
    page = Template(_resource("log_report.html")).substitute(
        title=escape(report.title),
        style=_resource("report.css"),
        short=_in_short(report),
        contents=contents,
        sections=sections,
        data=embed(_data(report)),
        plotly=get_plotlyjs(),
        script=_resource("log_report.js"),
    )
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as file:
        file.write(page.encode())
    return target


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _in_short(report: LogReport) -> str:
    """All answers as sentences, each with a link to its section."""
    answers = [("health", [report.check.sentence])]
    if report.drift is not None:
        answers.append(("drift", [report.drift.sentence]))
    if report.memory is not None:
        answers.append(("memory", [report.memory.sentence]))
    if report.values:
        answers.append(("value", said(report.values)))
    items = "".join(
        f'<li><a href="#{key}">{key}</a><div>{_words(lines)}</div></li>' for key, lines in answers
    )
    return f'<ul class="short">{items}</ul>'


def _parts(report: LogReport) -> list[tuple[str, str, str]]:
    """Key, heading and HTML of each section."""
    parts = [("health", "Health", _health(report.check))]
    if report.drift is not None:
        parts.append(("drift", "Drift", _drift(report.drift)))
    if report.memory is not None:
        parts.append(("memory", "Memory", _memory(report.memory)))
    if report.values:
        parts.append(("value", "Values", values_section(report.values)))
    parts.append(("unanswered", "What cannot be answered", _unanswered(report)))
    if report.memory is not None:
        parts.append(("snippet", "Configuration", _snippet(report)))
    return parts


def _records(frame: pd.DataFrame) -> list[Any]:
    return list(frame.itertuples())


def _quantities(caption: str, frame: pd.DataFrame) -> str:
    rows = [[escape(str(q)), _cell(v)] for q, v in frame[["quantity", "value"]].to_numpy()]
    return table(caption, ["Quantity", "Value"], rows)


def _health(check: Check) -> str:
    periods = [
        [escape(str(value)) if i == 0 else _cell(value) for i, value in enumerate(row)]
        for row in check.periods.to_numpy()
    ]
    head = [escape(str(name)).capitalize() for name in check.periods.columns]
    everything = _quantities("What is in the log.", check.summary)
    return (
        _words(check.warnings, kind="warning")
        + _tiles(check)
        + _folded("All counts.", everything, len(check.summary), always=True)
        + _folded("By period.", table("By period.", head, periods), len(periods))
    )


def _tiles(check: Check) -> str:
    """The most important quantities, in large type."""
    known = [(label, check[quantity]) for quantity, label in _TILES.items()]
    return '<dl class="tiles">{}</dl>'.format(
        "".join(
            f"<div><dt>{escape(label)}</dt><dd>{_cell(value)}</dd></div>"
            for label, value in known
            if not (isinstance(value, float) and np.isnan(value))
        )
    )


def _drift(drift: Drift) -> str:
    return (
        _words([drift.sentence])
        + _figure("drift", _evidence_caption(drift))
        + _folded(
            "All numbers.",
            _quantities("P-values come from simulated logs that do not drift.", drift.table),
            len(drift.table),
            always=True,
        )
    )


def _evidence_caption(drift: Drift) -> str:
    shaded = " The shaded stretch holds the largest change." if drift.changed else ""
    return (
        f"Evidence for the best memory minus the evidence for never forgetting, over time.{shaded}"
    )


def _memory(memory: Memory) -> str:
    known = {"hours": "Hours", "evidence": "Log-evidence", "regret": "Regret in a model"}
    shown = [name for name in known if memory.table[name].notna().any()]
    rows = [
        [
            say_memory(row.memory),
            *(_cell(getattr(row, name)) for name in (*shown, "best", "predictor")),
        ]
        for row in _records(memory.table)
    ]
    head = ["Memory", *(known[name] for name in shown), "Recommended", "Best predictor"]
    return (
        _words([memory.sentence])
        + _figure(
            "memory", "Log-evidence of every memory minus the log-evidence of never forgetting."
        )
        + table("Evidence by memory, and the recommended memory.", head, rows)
    )


def _unanswered(report: LogReport) -> str:
    refused = (line for value in report.values for line in value.refused)
    return _words(once((*report.refused, *refused)) or ["Nothing that was asked."])


def _snippet(report: LogReport) -> str:
    """The snippet of the drift section, with the recommended memory if payoffs drift."""
    answer = report.memory if report.drift is None else report.drift
    return "" if answer is None else f"<pre><code>{escape(answer.snippet)}</code></pre>"


def _data(report: LogReport) -> dict[str, Any]:
    return {
        "memory": _memory_data(report.memory) if report.memory is not None else None,
        "drift": _drift_data(report.drift) if report.drift is not None else None,
        "value": values_data(report.values) if report.values else None,
    }


def _memory_data(memory: Memory) -> dict[str, Any]:
    frame = memory.table
    return {
        "words": [say_memory(m) if np.isfinite(m) else "never" for m in frame["memory"]],
        "evidence": _numbers(frame["evidence"] - frame["evidence"].iloc[-1]),
        "instant": _numbers(frame["instant"] - frame["instant"].iloc[-1]),
    }


def _drift_data(drift: Drift) -> dict[str, Any]:
    kept = np.unique(np.linspace(0, len(drift.when) - 1, _MOST_POINTS).round().astype(int))
    when = drift.when.iloc[kept]
    times, changed = (
        [say_time(t) if drift.dated else t / 3600.0 for t in moments]
        for moments in (when["time"], drift.changed or ())
    )
    gain = _numbers(when["gain"])
    return {"times": times, "gain": gain, "dated": drift.dated, "changed": changed}
