"""Names of estimators, as they stand in a table of values.

A policy that is replayed learns from some of the rows, so its estimates are the value of *that*
policy, and their names say so. What it would have earned with all of its rewards has a name of its
own, and comes from a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from .evaluation import COLUMNS, LOGGING

FULL = "DR, full traffic (model)"
ACCEPTED, WATCHED = " (learned from accepted rows)", " (learned from all logged rows)"


def variants(estimator: str) -> tuple[str, ...]:
    """The names that an estimator has for fixed and for replayed policies."""
    return estimator, estimator + ACCEPTED, estimator + WATCHED


def replayed(table: pd.DataFrame, *, watched: bool) -> pd.DataFrame:
    """A table of replayed policies, whose estimators say what these learned from."""
    named = table["estimator"] + (WATCHED if watched else ACCEPTED)
    return table.assign(estimator=named.where(table["policy"] != LOGGING, table["estimator"]))


def unanswered(policies: Sequence[str], *, watched: bool | None) -> pd.DataFrame:
    """Rows without numbers of policies that have no answer; ``watched`` is None for fixed ones."""
    rows = [
        (policy, "all", name, float("nan"), float("nan"), float("nan"), 0, 0.0)
        for policy in policies
        for name in ("IPS", "SNIPS", "DM", "DR")
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table if watched is None else replayed(table, watched=watched)
