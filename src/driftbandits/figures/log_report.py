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
from ..logs.evaluation import ALL, LOGGING
from ..logs.memory import say_memory
from ..logs.periods import say_time
from .report_data import embed
from .report_tables import number, table
from .style import styles

_MOST_POINTS = 400
# Rows of a table that are shown without being asked for.
_LONG = 20


@dataclass(frozen=True)
class LogReport:
    """What a report shows; parts that a log cannot give are None.

    Attributes:
        title: Heading of the page.
        check: Health.
        drift: Verdict.
        memory: Evidence over memories.
        values: Values of fixed and of learning policies.
        refused: What could not be answered, and why.
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
        verdict=escape(_verdict(report)),
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


def _verdict(report: LogReport) -> str:
    rows = f"{int(report.check['rows']):,} rows from {report.check['first time']}"
    found = report.drift.sentence if report.drift is not None else "Drift could not be judged."
    return f"{rows} to {report.check['last time']}. {found}"


def _parts(report: LogReport) -> list[tuple[str, str, str]]:
    """Key, heading and HTML of each section."""
    parts = [("health", "Health", _health(report.check))]
    if report.drift is not None:
        parts.append(("drift", "Drift", _drift(report.drift)))
    if report.memory is not None:
        parts.append(("memory", "Memory", _memory(report.memory)))
    if report.values:
        parts.append(("value", "Values by period", _values(report.values)))
    parts.append(("unanswered", "What cannot be answered", _unanswered(report)))
    if report.memory is not None:
        parts.append(("snippet", "Configuration", _snippet(report)))
    return parts


def _records(frame: pd.DataFrame) -> list[Any]:
    return list(frame.itertuples())


def _words(lines: Sequence[str], *, kind: str = "") -> str:
    return "".join(f'<p class="{kind}">{escape(line)}</p>' for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        size = float(value)
        if not np.isfinite(size):
            return "∞" if size > 0 else "–"
        return number(size) if abs(size) >= 0.001 or size == 0 else f"{size:.2g}"
    return escape(str(value))


def _mean(value: float) -> str:
    """A mean reward with three digits that matter: click rates are small."""
    return number(value) if not 0.0 < abs(value) < 0.1 else f"{value:.3g}".replace("-", "−")


def _range(low: float, high: float) -> str:
    return f"[{_mean(low)}, {_mean(high)}]" if np.isfinite([low, high]).all() else "–"


def _quantities(caption: str, frame: pd.DataFrame) -> str:
    rows = [[escape(str(q)), _cell(v)] for q, v in frame[["quantity", "value"]].to_numpy()]
    return table(caption, ["Quantity", "Value"], rows)


def _health(check: Check) -> str:
    periods = [
        [escape(str(cell)) if i == 0 else _cell(cell) for i, cell in enumerate(row)]
        for row in check.periods.to_numpy()
    ]
    head = [escape(str(name)).capitalize() for name in check.periods.columns]
    return (
        _words(check.warnings, kind="warning")
        + _quantities("What is in the log.", check.summary)
        + _folded("By period.", table("By period.", head, periods), len(periods))
    )


def _folded(what: str, html: str, rows: int) -> str:
    """A table that has to be opened where it is long, so that the answers stay in sight."""
    if rows <= _LONG:
        return html
    return f"<details><summary>{escape(what)} {rows} rows.</summary>{html}</details>"


def _drift(drift: Drift) -> str:
    return (
        _words([drift.sentence])
        + _figure("drift", "Evidence of the best memory above that of never forgetting, over time.")
        + _quantities("P-values come from simulated logs that do not drift.", drift.table)
    )


def _memory(memory: Memory) -> str:
    known = {"hours": "Hours", "evidence": "Log-evidence", "regret": "Regret in a model"}
    shown = [name for name in known if memory.table[name].notna().any()]
    rows = [
        [say_memory(row.memory), *(_cell(getattr(row, name)) for name in (*shown, "best"))]
        for row in _records(memory.table)
    ]
    head = ["Memory", *(known[name] for name in shown), "Best"]
    return (
        _words([memory.sentence])
        + _figure("memory", "Log-evidence of every memory above that of never forgetting.")
        + table("Evidence by memory, and the one for a policy.", head, rows)
    )


def _figure(name: str, caption: str) -> str:
    return (
        f'<figure aria-label="{escape(caption)}"><div class="plot" id="{name}-plot"></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _values(values: Sequence[Value]) -> str:
    rows, accepted, lost = list[list[str]](), list[list[str]](), list[str]()
    for value in values:
        whole = value.table[value.table["period"] == ALL]
        for row in _records(whole):
            cells = [escape(f"{row.policy}, {row.estimator}"), _mean(row.estimate)]
            cells += [_range(row.low, row.high), _cell(row.rows), _cell(row.effective)]
            if cells not in rows:  # what was logged is part of every value
                rows.append(cells)
        accepted += [[escape(name), f"{share:.1%}"] for name, share in value.acceptance.items()]
        if value.lost is not None:
            mean, low, high = value.lost
            names = ", ".join(dict.fromkeys(whole["policy"][whole["policy"] != LOGGING]))
            lost.append(
                f"Against the best of these, chosen on the other periods, the logger lost "
                f"{_mean(mean)} per decision {_range(low, high)}: {names}."
            )
    head = ["Policy, estimator", "Estimate", "95% interval", "Rows", "Effective rows"]
    acceptance = (
        table("Share of rows that a policy learned from.", ["Policy", "Accepted"], accepted)
        if accepted
        else ""
    )
    return (
        _figure("value", "Doubly robust estimates with 95% intervals, and what was logged.")
        + table("Over the whole log.", head, rows)
        + _words(lost)
        + acceptance
        + _words([w for value in values for w in value.warnings])
    )


def _unanswered(report: LogReport) -> str:
    lines = [*report.refused, *(line for value in report.values for line in value.refused)]
    return _words(lines or ["Nothing that was asked."])


def _snippet(report: LogReport) -> str:
    """The memory's, which was played in a model of the log, unless drift says otherwise."""
    drift, memory = report.drift, report.memory
    takes = (
        memory is not None and np.isfinite(memory.predictor) and (drift is None or drift.drifting)
    )
    answer = memory if takes or drift is None else drift
    return "" if answer is None else f"<pre><code>{escape(answer.snippet)}</code></pre>"


def _data(report: LogReport) -> dict[str, Any]:
    return {
        "memory": _memory_data(report.memory) if report.memory is not None else None,
        "drift": _drift_data(report.drift) if report.drift is not None else None,
        "value": _value_data(report.values) if report.values else None,
    }


def _numbers(values: Any) -> list[float | None]:
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float)]


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
    times = [say_time(t) if drift.dated else t / 3600.0 for t in when["time"]]
    return {"times": times, "gain": _numbers(when["gain"]), "dated": drift.dated}


def _value_data(values: Sequence[Value]) -> dict[str, Any]:
    frame = pd.concat([value.table for value in values])
    frame = frame[(frame["period"] != ALL) & frame["estimator"].isin(["DR", "mean"])]
    frame = frame.drop_duplicates(["policy", "period", "estimator"])
    looks = styles(dict.fromkeys(frame["policy"]))
    policies = []
    for name, look in looks.items():
        mine = frame[frame["policy"] == name]
        policies.append(
            {
                "label": "logged" if name == LOGGING else name,
                **vars(look),
                "periods": list(mine["period"]),
                "estimate": _numbers(mine["estimate"]),
                "above": _numbers(mine["high"] - mine["estimate"]),
                "below": _numbers(mine["estimate"] - mine["low"]),
            }
        )
    return {"policies": policies}
