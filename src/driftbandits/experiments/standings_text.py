"""The leaderboard as Markdown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from .standings import INTERVALS, standings
from .yardsticks import BEST_FIXED, TUNED_TWICE

_HEADER = (
    *("Policy", "Told", "Rank", "In class", "Best fixed", "Worst", "Tuned twice", "Worst"),
    *("Recovery", "Time"),
)


def markdown(scores: pd.DataFrame) -> str:
    """The standings, the regrets in every environment, and the policies left out, as Markdown.

    If there are several groups of environments, each group has its own tables.
    """
    groups = {str(name): part for name, part in scores.groupby("group", sort=False)}
    parts = []
    if len(groups) > 1:
        parts += ["## All environments", _standings_text(scores)]
    for name, part in groups.items():
        parts += [f"## {escape(name)}", _standings_text(part), *_environments_text(part)]
    return "\n\n".join(part for part in [*parts, _left_out_text(scores)] if part) + "\n"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; characters that would break a cell are escaped."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines)


def escape(text: str) -> str:
    r"""The text of a cell, with Markdown's special characters escaped.

    Examples:
        >>> print(escape("a|b *c*"))
        a\|b \*c\*
    """
    for mark in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _standings_text(scores: pd.DataFrame) -> str:
    rows = [
        (
            row["policy"],
            row["told"] or "nothing",
            _number(row.get("rank"), 1),
            _number(row.get("rank_in_class"), 1),
            _with_half(row, "ratio", *INTERVALS["ratio"]),
            _worst(row, ""),
            _with_half(row, "twice", *INTERVALS["twice"]),
            _worst(row, "twice_"),
            _recovery(row),
            _number(row.get("time"), 1),
        )
        for row in standings(scores).to_dict("records")
    ]
    return table(_HEADER, rows)


def _worst(row: dict[Hashable, Any], prefix: str) -> str:
    place = row.get(f"{prefix}worst_in")
    where = f" ({place})" if isinstance(place, str) else ""
    return _with_half(row, *(f"{prefix}worst{end}" for end in ("", "_low", "_high"))) + where


def _recovery(row: dict[Hashable, Any]) -> str:
    missed = row.get("unfinished")
    never = f" ({missed:.0f} of {row['changes']:.0f} never)" if missed else ""
    return _number(row.get("recovery"), 0) + never


def _environments_text(scores: pd.DataFrame) -> Iterator[str]:
    """Tables of the regrets and of their ratios to both yardsticks, one row per environment."""
    labels = list(scores.loc[~scores["fixed"].astype(bool), "policy"].drop_duplicates())
    places = {
        str(name): mine.set_index("policy")
        for name, mine in scores.groupby("environment", sort=False)
    }
    yield "Regret, mean ± standard error:"
    header = ("Environment", BEST_FIXED.capitalize(), TUNED_TWICE.capitalize(), *labels)
    yield table(
        header,
        (
            (name, *_hindsight(of), *(_regret(of.loc[label]) for label in labels))
            for name, of in places.items()
        ),
    )
    for column, yardstick in (("ratio", BEST_FIXED), ("twice", f"D-LinUCB {TUNED_TWICE}")):
        yield f"Regret relative to {yardstick}, with 95% intervals:"
        ends = column, *INTERVALS[column]
        rows = (
            (name, *(_with_half(of.loc[label].to_dict(), *ends) for label in labels))
            for name, of in places.items()
        )
        yield table(("Environment", *labels), rows)


def _hindsight(of: pd.DataFrame) -> tuple[str, str]:
    """Regrets and labels of the two yardsticks."""
    best = of[of["yardstick"].astype(bool)].iloc[0]
    chosen = (str(best.name), best["regret"]), (best["tuned_twice"], best["tuned_twice_regret"])
    fixed, twice = (
        f"{regret:.1f} ({label.removeprefix('D-LinUCB, ')})" for label, regret in chosen
    )
    return fixed, twice


def _regret(row: pd.Series) -> str:
    error = _number(row["se"], 1)
    return "–" if pd.isna(row["regret"]) else f"{row['regret']:,.1f} ± {error}"


def _with_half(row: dict[Any, Any], value: str, low: str, high: str) -> str:
    """A number, with half the width of its interval if that is known."""
    shown, ends = _number(row.get(value), 2), (row.get(low), row.get(high))
    if shown == "–" or any(end is None or pd.isna(end) for end in ends):
        return shown
    return f"{shown} ± {_number((row[high] - row[low]) / 2, 2)}"


def _left_out_text(scores: pd.DataFrame) -> str:
    if "left_out" not in scores:
        return ""
    absent = scores[scores["left_out"].notna()]
    groups = absent.groupby(["policy", "left_out"], sort=False)["environment"]
    reasons = groups.agg(", ".join).reset_index()
    return "\n".join(
        f"- {escape(row['policy'])} is left out of {escape(row['environment'])}: "
        f"{escape(row['left_out'])}."
        for row in reasons.to_dict("records")
    )


def _number(value: object, digits: int) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "–" if missing else f"{value:,.{digits}f}"
