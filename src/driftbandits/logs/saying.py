"""Values in words: one sentence per policy, and what the logger lost."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .estimators import FULL, variants
from .evaluation import ALL, LOGGING


def say_values(
    table: pd.DataFrame,
    acceptance: Mapping[str, float],
    *,
    watched: bool,
    doubted: Container[str] = (),
) -> tuple[str, ...]:
    """One sentence per policy, the logger last; ``table`` is the table of a `Value`.

    ``doubted`` are policies whose numbers cannot be trusted.
    """
    whole = table[table["period"] == ALL]
    rows: dict[Any, Any] = {(row.policy, row.estimator): row for row in whole.itertuples()}
    out = []
    for name in dict.fromkeys(whole["policy"][whole["policy"] != LOGGING]):
        full = rows.get((name, FULL))
        dr = next(rows[name, one] for one in variants("DR") if (name, one) in rows)
        if np.isnan(dr.estimate):
            words = f"What {name} would have earned cannot be told from this log."
        elif name not in acceptance:
            words = f"{name} would have earned {_mean(dr)} per decision."
        elif watched:
            chose = f"What {name} would have chosen, having watched the logger,"
            words = f"{chose} is worth {_mean(dr)} per decision."
        else:
            words = _learned(name, dr, full, acceptance[name])
        if name in doubted and not np.isnan(dr.estimate):
            words += " This cannot be trusted: see what cannot be answered."
        out.append(words)
    if (LOGGING, "mean") in rows:
        out.append(f"The log itself earned {_mean(rows[LOGGING, 'mean'])}.")
    return tuple(out)


def _learned(name: str, dr: Any, full: Any | None, accepted: float) -> str:
    """Sentence on a learning policy: live it gets all rewards, in replay only a share of them."""
    replayed = f"it earned {_mean(dr)} in replay, with {accepted:.1%} of its rewards"
    if accepted < 1.0:
        replayed += ": the value of a policy that learned from less than live"
    if full is None:
        return f"What {name} would have earned live is not told; {replayed}."
    live = f"{name} would have earned {_mean(full)} per decision live, by a model of the log"
    return f"{live}; {replayed}."


def say_lost(lost: tuple[float, float, float], names: str) -> str:
    """What the logger lost against the best of some policies, chosen on the other periods."""
    mean, low, high = lost
    best = f"the best of these, chosen on the other periods: {names}."
    if high < 0.0:
        told = f"{_number(-mean)} [{_number(-high)}, {_number(-low)}]"
        return f"The logger earned {told} more per decision than {best}"
    told = f"{_number(mean)} [{_number(low)}, {_number(high)}]"
    if low <= 0.0:
        return f"It is not clear that the logger lost anything ({told} per decision) against {best}"
    return f"The logger lost {told} per decision against {best}"


def _mean(row: Any) -> str:
    if not np.isfinite([row.low, row.high]).all():
        return f"{_number(row.estimate)} (no interval)"
    return f"{_number(row.estimate)} [{_number(row.low)}, {_number(row.high)}]"


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
