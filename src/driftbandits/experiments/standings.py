"""Standings of the policies, from a table with one row per environment and contestant."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from .contestants import DRIFT
from .yardsticks import geometric_mean

# For each column of ratios: the columns of its 95% interval, and the column of the replications'
# contributions, which files do not have.
INTERVALS = {"ratio": ("low", "high"), "twice": ("twice_low", "twice_high")}
SHARES = {"ratio": "shares", "twice": "twice_shares"}


def standings(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per policy, by average rank; the last row is the best fixed discount over all.

    Ratios have 95% intervals. If ``scores`` comes from a file, geometric means have none.

    Columns:
        told: Facts of the environment that its tuning reads.
        environments: Number of environments in which it played.
        rank: Average place by mean regret, among policies that played everywhere.
        rank_in_class: The same, among policies that know the same facts about the drift.
        ratio, low, high: Geometric mean of its regret relative to the best fixed discount.
        worst, worst_low, worst_high, worst_in: The largest of these ratios, and its environment.
        twice, twice_low, …: The same relative to D-LinUCB with the best memory and radius.
        recovery, unfinished: Mean rounds to recover from a change, and changes without recovery.
        microseconds, time: Geometric means of the time per round, and of its ratio to D-LinUCB.
    """
    policies = scores[~scores["fixed"].astype(bool)]
    rows = [_standing(policies, label) for label in policies["policy"].drop_duplicates()]
    table = pd.DataFrame(rows).sort_values("rank", kind="stable")
    return pd.concat([table, _best_single(scores)], ignore_index=True)


def average_rank(scores: pd.DataFrame, label: str, among: Iterable[str]) -> float:
    """Mean place of a policy by mean regret where it played, among those that played everywhere.

    Ties share a place.
    """
    grid = _grid(scores, "regret")
    mine = grid.loc[label].dropna()
    full = grid.loc[[name for name in among if name != label]].dropna()[mine.index]
    places = 1 + (full < mine).sum() + 0.5 * (full == mine).sum()
    return float(places.mean()) if len(mine) else float("nan")


def told_of_drift(told: str) -> tuple[str, ...]:
    """The facts about the drift among the facts ``told``; they define a class of policies."""
    facts = told.split(", ")
    return tuple(fact for fact in DRIFT if fact in facts)


def _grid(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column as a grid (policies, environments), in the order of the table."""
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
    """Means and worst cases relative to both yardsticks."""
    played = mine[mine["ratio"].notna()].set_index("environment")
    if played.empty:
        return {}
    return _relative(played, "ratio", "") | _relative(played, "twice", "twice_")


def _relative(played: pd.DataFrame, yardstick: str, prefix: str) -> dict[str, object]:
    ratios, (low, high) = played[yardstick].astype(float), INTERVALS[yardstick]
    place = str(ratios.idxmax())
    worst = {
        f"{prefix}worst": float(ratios.max()),
        f"{prefix}worst_low": float(played[low].astype(float)[place]),
        f"{prefix}worst_high": float(played[high].astype(float)[place]),
        f"{prefix}worst_in": place,
    }
    if SHARES[yardstick] not in played:
        return {yardstick: float(np.exp(np.log(ratios).mean())), **worst}
    mean = geometric_mean(ratios, played[SHARES[yardstick]])
    return dict(zip((yardstick, low, high), mean, strict=True)) | worst


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
    """The row of the memory that has the least geometric mean over all environments."""
    fixed = scores[scores["fixed"].astype(bool)]
    everywhere = _grid(fixed, "ratio").astype(float).dropna().apply(np.log).mean(axis=1)
    if everywhere.empty:
        return pd.DataFrame()
    label = str(everywhere.idxmin())
    mine = fixed[fixed["policy"] == label]
    row = {"policy": label, "told": "in hindsight", "environments": len(mine)}
    return pd.DataFrame([row | _ratios(mine) | _means(mine)])
