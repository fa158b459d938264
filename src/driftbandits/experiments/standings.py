"""Tables of the leaderboard, from a row for each environment and contestant."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from .contestants import DRIFT

YARDSTICK = "best fixed discount"


def standings(scores: pd.DataFrame) -> pd.DataFrame:
    """A row a policy, by average rank; last the fixed discount that does best over all.

    Columns:
        told: Facts of the environment that it is tuned by.
        environments: In how many it played.
        rank: Average place by mean regret, among policies that played everywhere.
        rank_in_class: The same among those that are told as much of the drift.
        ratio: Geometric mean of its regret relative to the best fixed discount.
        worst, worst_in: The largest of these, and where.
        twice: Geometric mean of its regret relative to D-LinUCB with the best memory and radius.
        recovery, unfinished: Mean rounds to recover from a change, and how many times it never did.
        microseconds, time: Geometric means of the time per round, and of that relative to D-LinUCB.
    """
    policies = scores[~scores["fixed"].astype(bool)]
    rows = [_standing(policies, label) for label in policies["policy"].drop_duplicates()]
    table = pd.DataFrame(rows).sort_values("rank", kind="stable")
    return pd.concat([table, _best_single(scores)], ignore_index=True)


def average_rank(scores: pd.DataFrame, label: str, among: Iterable[str]) -> float:
    """Mean place of a policy by mean regret, where it played; equals share a place."""
    grid = _grid(scores, "regret")
    mine = grid.loc[label].dropna()
    full = grid.loc[[name for name in among if name != label]].dropna()[mine.index]
    places = 1 + (full < mine).sum() + 0.5 * (full == mine).sum()
    return float(places.mean()) if len(mine) else float("nan")


def told_of_drift(told: str) -> tuple[str, ...]:
    """What of the drift is among the facts, as a class of policies."""
    facts = told.split(", ")
    return tuple(fact for fact in DRIFT if fact in facts)


def markdown(scores: pd.DataFrame) -> str:
    """The standings, the regrets of every environment, and who was left out, as Markdown."""
    parts = [_standings_text(scores), _ratios_text(scores), _left_out_text(scores)]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; what would break a cell is escaped."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines)


def escape(text: str) -> str:
    r"""A cell's text, with nothing in it that Markdown takes for markup.

    Examples:
        >>> print(escape("a|b *c*"))
        a\|b \*c\*
    """
    for mark in ("\\", "|", "*", "_", "`", "<", "["):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _grid(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """(policies, environments), in the order of the table."""
    grid = scores.pivot(index="policy", columns="environment", values=column)
    order = [scores[name].drop_duplicates() for name in ("policy", "environment")]
    return grid.reindex(index=order[0], columns=order[1])


def _standing(policies: pd.DataFrame, label: str) -> dict[str, object]:
    mine = policies[policies["policy"] == label]
    told = str(mine["told"].iloc[0])
    everyone = policies["policy"].drop_duplicates()
    same = policies["told"].map(told_of_drift) == told_of_drift(told)
    return {
        "policy": label,
        "told": told,
        "environments": int(mine["regret"].notna().sum()),
        "rank": average_rank(policies, label, everyone),
        "rank_in_class": average_rank(
            policies, label, policies.loc[same, "policy"].drop_duplicates()
        ),
        **_ratios(mine),
        **_means(mine),
    }


def _ratios(mine: pd.DataFrame) -> dict[str, object]:
    ratios = mine.set_index("environment")["ratio"].astype(float).dropna()
    if ratios.empty:
        return {}
    twice = mine["twice"].astype(float).dropna() if "twice" in mine else ratios[:0]
    return {
        **({} if twice.empty else {"twice": float(np.exp(np.log(twice).mean()))}),
        "ratio": float(np.exp(np.log(ratios).mean())),
        "worst": float(ratios.max()),
        "worst_in": str(ratios.idxmax()),
    }


def _means(mine: pd.DataFrame) -> dict[str, object]:
    facts: dict[str, object] = {}
    if "rounds" in mine:
        facts["recovery"] = float(mine["rounds"].mean())
        facts["unfinished"] = int(mine["unfinished"].sum())
        facts["changes"] = int(mine["changes"].sum())
    for column, name in (("microseconds", "microseconds"), ("relative", "time")):
        if column in mine:
            facts[name] = float(np.exp(np.log(mine[column].astype(float)).mean()))
    return facts


def _best_single(scores: pd.DataFrame) -> pd.DataFrame:
    """The one memory, the same in all environments, of the least geometric mean."""
    fixed = scores[scores["fixed"].astype(bool)]
    everywhere = _grid(fixed, "ratio").astype(float).dropna().apply(np.log).mean(axis=1)
    if everywhere.empty:
        return pd.DataFrame()
    label = str(everywhere.idxmin())
    mine = fixed[fixed["policy"] == label]
    row = {"policy": label, "told": "in hindsight", "environments": len(mine)}
    return pd.DataFrame([row | _ratios(mine) | _means(mine)])


def _standings_text(scores: pd.DataFrame) -> str:
    header = (
        "Policy",
        "Told",
        "Rank",
        "In class",
        "Regret",
        "Worst",
        "Tuned twice",
        "Recovery",
        "Time",
    )
    rows = [
        (
            row["policy"],
            row["told"] or "nothing",
            _number(row.get("rank"), 1),
            _number(row.get("rank_in_class"), 1),
            _number(row.get("ratio"), 2),
            _worst(row),
            _recovery(row),
            _number(row.get("time"), 1),
        )
        for row in standings(scores).to_dict("records")
    ]
    return table(header, rows)


def _worst(row: dict[Hashable, Any]) -> str:
    place = row.get("worst_in")
    where = f" ({place})" if isinstance(place, str) else ""
    return _number(row.get("worst"), 2) + where


def _recovery(row: dict[Hashable, Any]) -> str:
    missed = row.get("unfinished")
    never = f" ({missed:.0f} of {row['changes']:.0f} never)" if missed else ""
    return _number(row.get("recovery"), 0) + never


def _ratios_text(scores: pd.DataFrame) -> str:
    """Regret relative to the best fixed discount with 95% intervals, one row per environment."""
    labels = list(scores.loc[~scores["fixed"].astype(bool), "policy"].drop_duplicates())
    rows = []
    for name, mine in scores.groupby("environment", sort=False):
        by_label = mine.set_index("policy")
        best = mine[mine["yardstick"].astype(bool)].iloc[0]
        memory = str(best["policy"]).removeprefix("D-LinUCB, ")
        cells = [_interval(by_label.loc[label]) for label in labels]
        rows.append((str(name), f"{best['regret']:.1f} ({memory})", *cells))
    return table(("Environment", YARDSTICK.capitalize(), *labels), rows)


def _interval(row: pd.Series) -> str:
    if pd.isna(row["ratio"]):
        return "–"
    half = _number(row["high"] - row["ratio"], 2)
    return f"{row['ratio']:.2f} ± {half}"


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
