"""The section of a log's report about values: what policies would have earned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ..logs import Value
from ..logs.estimators import FULL, variants
from ..logs.evaluation import ALL, LOGGING
from .log_report_parts import cell, figure, folded, mean, numbers, span, words
from .report_tables import table
from .style import styles

# Estimators in order of preference: the first one available is shown for a policy.
_ANSWERS = (FULL, *variants("DR"), "mean")


def values_section(values: Sequence[Value]) -> str:
    """Sentences, pictures and folded tables."""
    learning = any(value.acceptance and not value.watched for value in values)
    caption = "What would have been earned per decision over the whole log, with 95% intervals."
    if learning:
        caption += (
            " A replayed policy got only a share of its rewards. The live value, by a model of the "
            "log, is with all of them."
        )
    rows = _rows(values)
    head = ["Policy, estimator", "Estimate", "95% interval", "Rows", "Effective rows"]
    return (
        words(said(values))
        + figure("whole", caption, size=_size(values))
        + figure("value", "The same by period: doubly robust estimates, and what was logged.")
        + folded(
            "All estimators.", table("Over the whole log.", head, rows), len(rows), always=True
        )
        + _acceptance(values)
        + words(once(line for value in values for line in value.warnings), kind="facts")
    )


def said(values: Sequence[Value]) -> list[str]:
    """The answers in sentences."""
    return once(line for value in values for line in value.sentences)


def once(lines: Iterable[str]) -> list[str]:
    """Each line once, in order."""
    return list(dict.fromkeys(lines))


def _size(values: Sequence[Value]) -> str:
    """Height of the picture, with one line per answer."""
    return f"{6 + 2.2 * len(_whole(values)):g}rem"


def _rows(values: Sequence[Value]) -> list[list[str]]:
    """One row per estimator over the whole log; every value contains the row of the logger."""
    rows = list[list[str]]()
    for value in values:
        for row in _records(value.table[value.table["period"] == ALL]):
            cells = [escape(f"{row.policy}, {row.estimator}"), mean(row.estimate)]
            cells += [span(row.low, row.high), cell(row.rows), cell(row.effective)]
            if cells not in rows:
                rows.append(cells)
    return rows


def _acceptance(values: Sequence[Value]) -> str:
    rows = [
        [escape(name), f"{share:.1%}"]
        for value in values
        for name, share in value.acceptance.items()
    ]
    if not rows:
        return ""
    caption = "Share of rows that a policy learned from in replay; live it would be all of them."
    return table(caption, ["Policy", "Accepted"], rows)


def _records(frame: pd.DataFrame) -> list[Any]:
    return list(frame.itertuples())


def _whole(values: Sequence[Value]) -> list[tuple[str, Any]]:
    """Label and row of each answer over the whole log; the logger's is first."""
    found: dict[str, Any] = {}
    for value in values:
        whole = value.table[value.table["period"] == ALL]
        for answer in _ANSWERS:
            for row in _records(whole[whole["estimator"] == answer]):
                if np.isfinite(row.estimate):
                    found.setdefault(_label(value, row), row)
    order = sorted(found, key=lambda label: found[label].policy != LOGGING)
    return [(label, found[label]) for label in order]


def _label(value: Value, row: Any) -> str:
    if row.policy == LOGGING:
        return "logged"
    if row.estimator == FULL:
        return f"{row.policy}, live (model)"
    share = value.acceptance.get(row.policy)
    if share is None or value.watched:
        return str(row.policy)
    return f"{row.policy}, replayed with {share:.0%} of its rewards"


def values_data(values: Sequence[Value]) -> dict[str, Any]:
    """The data of the two pictures."""
    looks = styles(dict.fromkeys(name for value in values for name in value.table["policy"]))
    whole = [(label, pd.DataFrame([row])) for label, row in _whole(values)]
    return {
        "whole": [_trace(label, looks, rows) for label, rows in whole],
        "periods": [_trace(label, looks, rows) for label, rows in _by_period(values).items()],
    }


def _by_period(values: Sequence[Value]) -> dict[str, pd.DataFrame]:
    """Rows of each policy's doubly robust estimates, by label."""
    traces: dict[str, pd.DataFrame] = {}
    for value in values:
        by = value.table[value.table["period"] != ALL]
        for policy in dict.fromkeys(by["policy"]):
            estimator = "mean" if policy == LOGGING else "DR"
            mine = by[(by["policy"] == policy) & by["estimator"].isin(variants(estimator))]
            if len(mine):
                traces.setdefault(_label(value, _records(mine)[0]), mine)
    return traces


def _trace(label: str, looks: Mapping[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "label": label,
        **vars(looks[rows["policy"].iloc[0]]),
        "periods": list(rows["period"]),
        "estimate": numbers(rows["estimate"]),
        "above": numbers(rows["high"] - rows["estimate"]),
        "below": numbers(rows["estimate"] - rows["low"]),
    }
