"""Rows as files: a table to read, a picture, and the raw numbers."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import NamedTuple

from . import machine
from .measure import Row
from .picture import draw

_COLUMNS = (
    "section", "subject", "quantity", "unit", "median", "low", "high", "aim", "verdict", "note"
)  # fmt: skip


class Heading(NamedTuple):
    """The text above the table."""

    title: str
    origin: str  # the command that wrote the table, and the meaning of the numbers


def write(folder: Path, rows: list[Row], *, heading: Heading, quick: bool, elapsed: float) -> None:
    """Write results.md, results.csv, results.json and results.png."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = machine.describe() | {"duration": f"{elapsed / 60:.1f} minutes"}
    if quick:
        facts["sizes"] = "quick: small sizes, for a look only"
    (folder / "results.md").write_text(_markdown(heading, rows, facts), "utf-8")
    with (folder / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerows(_cells(row) for row in rows)
    numbers = {
        "machine": facts,
        "rows": [dict(zip(_COLUMNS, _cells(r), strict=True)) for r in rows],
    }
    (folder / "results.json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False), "utf-8")
    draw(rows, folder / "results.png")


def _cells(row: Row) -> list[str | float | None]:
    numbers = [None if math.isnan(x) else x for x in (row.median, row.low, row.high)]
    aim = "" if row.aim is None else str(row.aim)
    return [row.section, row.subject, row.quantity, row.unit, *numbers, aim, row.verdict, row.note]


def _markdown(heading: Heading, rows: list[Row], facts: dict[str, str]) -> str:
    lines = [
        f"# {heading.title}",
        "",
        heading.origin,
        "",
        *(f"- {name}: {value}" for name, value in facts.items()),
        "",
    ]
    aims = [row for row in rows if row.aim is not None or row.failed]
    lines += ["## Aims", "", *_table(aims), ""]
    for section in dict.fromkeys(row.section for row in rows):
        lines += [f"## {section.capitalize()}", ""]
        lines += [*_table([row for row in rows if row.section == section]), ""]
    return "\n".join(lines)


def _table(rows: list[Row]) -> list[str]:
    head = ["| what | quantity | value | spread | aim | |", "|---|---|--:|--:|--:|---|"]
    return head + [
        f"| {row.subject} | {row.quantity} | {_number(row.median)} {row.unit} | {_spread(row)} | "
        f"{row.aim or ''} | {' '.join(filter(None, (row.verdict, row.note)))} |"
        for row in rows
    ]


def _spread(row: Row) -> str:
    return "" if math.isnan(row.low) else f"{_number(row.low)} to {_number(row.high)}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
