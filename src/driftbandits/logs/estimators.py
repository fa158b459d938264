"""Names of estimators in a table of values.

A replayed policy learns from some of the rows only. Its estimates are the value of *that* learner,
and their names say so. What the policy would have earned with all of its rewards comes from a
model and has its own name.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from .evaluation import COLUMNS, LOGGING

FULL = "DR, full traffic (model)"
ACCEPTED, WATCHED = " (learned from accepted rows)", " (learned from all logged rows)"


def variants(estimator: str) -> tuple[str, ...]:
    """The names of an estimator for fixed and for replayed policies."""
    return estimator, estimator + ACCEPTED, estimator + WATCHED


def replayed(table: pd.DataFrame, *, watched: bool) -> pd.DataFrame:
    """A table of replayed policies; the names of estimators say which rows were learned from."""
    named = table["estimator"] + (WATCHED if watched else ACCEPTED)
    return table.assign(estimator=named.where(table["policy"] != LOGGING, table["estimator"]))


def unanswered(policies: Sequence[str], *, watched: bool | None) -> pd.DataFrame:
    """Rows without numbers for policies without an answer; ``watched`` is None for fixed ones."""
    rows = [
        (policy, "all", name, float("nan"), float("nan"), float("nan"), 0, 0.0)
        for policy in policies
        for name in ("IPS", "SNIPS", "DM", "DR")
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table if watched is None else replayed(table, watched=watched)
