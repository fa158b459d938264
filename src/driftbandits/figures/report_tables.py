"""The report's tables and lists, as HTML. All text that comes from a result is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ..simulation.results import Result
from ..simulation.statistics import mean_interval
from .changes import noticed
from .coverage import KINDS, binomial_interval
from .style import DASHES, group_of, styles

_NOTHING = "–"


def number(value: float, *, sign: bool = False) -> str:
    """A number with about three digits, thousands separators, and a true minus sign."""
    if not math.isfinite(value):
        return _NOTHING
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{value:+,.{digits}f}" if sign else f"{value:,.{digits}f}"
    return text.replace("-", "−")


def interval(low: float, high: float) -> str:
    """An interval in brackets."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return _NOTHING
    return f"[{number(low)}, {number(high)}]"


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: bool = True,
    groups: Sequence[str] | None = None,
) -> str:
    """A table whose first column names the rows; cells are HTML, and so is the caption.

    ``groups`` are the groups of the rows, if any. Each group starts with a heading.
    """
    columns = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body, last = "", ""
    for (first, *rest), group in zip(rows, groups or [""] * len(rows), strict=True):
        if group != last:
            heading = escape(group[:1].upper() + group[1:])
            body += (
                f'<tr class="group"><th scope="colgroup" colspan="{len(head)}">{heading}</th></tr>'
            )
        last = group
        cells = "".join(f"<td>{cell}</td>" for cell in rest)
        body += f'<tr><th scope="row">{first}</th>{cells}</tr>'
    kind = "numbers" if numeric else "words"
    # The caption is outside of the part that scrolls sideways on a narrow page.
    return (
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="table">'
        f'<table class="{kind}"><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>'
        f"</div><figcaption>{caption}</figcaption></figure>"
    )


def swatch(result: Result, policy: str) -> str:
    """A sample of a policy's line, as in the pictures, and its label."""
    look = styles(result.policies)[policy]
    pattern = DASHES[look.dash]
    dashes = "none" if isinstance(pattern, str) else " ".join(str(2 * x) for x in pattern[1])
    line = f'<line x1="0" y1="5" x2="28" y2="5" stroke-dasharray="{dashes}"/>'
    return (
        f'<svg class="swatch" style="--light:{look.color};--dark:{look.dark}" width="28" '
        f'height="10" aria-hidden="true">{line}</svg>{escape(policy)}'
    )


def final_regrets(result: Result) -> str:
    """Final regrets; the page's script fills the differences to the chosen reference."""
    published = _published(result)
    head = ["Policy", "Mean", "95% interval", "5% to 95% of runs"]
    head += ["Difference", "95% interval"]
    head += ["Published", "Ours − published"] if published else []
    rows, groups = [], []
    for row in result.summary().to_dict("records"):
        policy, mean, se = str(row["policy"]), float(row["mean"]), float(row["se"])
        cells = [swatch(result, policy), number(mean)]
        cells += [interval(*mean_interval(mean, se, result.replications))]
        cells += [interval(float(row["q05"]), float(row["q95"]))]
        cells += ['<span class="difference"></span>', '<span class="difference-interval"></span>']
        cells += _beside(mean, published.get(policy)) if published else []
        rows.append(cells)
        groups.append(group_of(result, policy))
    caption = (
        f"Regret after {result.horizon:,} rounds, {result.replications:,} runs. Differences are "
        "paired, run by run, since all policies met the same actions and noise."
    )
    return table(caption, head, rows, groups=groups)


def _published(result: Result) -> dict[str, float]:
    """Published values by policy; entries of older results that are not numbers are left out."""
    values = result.config.get("published")
    pairs = values.items() if isinstance(values, Mapping) else ()
    return {label: float(x) for label, x in pairs if type(x) in (int, float) and math.isfinite(x)}


def _beside(ours: float, theirs: float | None) -> list[str]:
    if theirs is None:
        return [_NOTHING, _NOTHING]
    share = f" ({(ours - theirs) / theirs:+.1%})".replace("-", "−") if theirs else ""
    return [number(theirs), number(ours - theirs, sign=True) + share]


def detection_rates(result: Result) -> str:
    """For every change, the share of runs that noticed it, and when."""
    rows = [
        [
            swatch(result, found.policy),
            f"{found.change:,}",
            f"{found.rate:.0%}",
            number(found.round),
            number(found.round - found.change),
        ]
        for found in noticed(result)
    ]
    head = ["Policy", "Change at round", "Runs that noticed it", "Mean round", "Mean delay"]
    caption = "First detections after each change and before the next one."
    return table(caption, head, rows) if rows else ""


def coverage_shares(result: Result) -> str:
    """Coverage at the end, with binomial intervals."""
    frame = result.coverage_frame()
    last = frame[frame["round"] == result.horizon]
    rows = []
    for row in last.to_dict("records"):
        cells = [swatch(result, row["policy"])]
        for kind in KINDS:
            low, high = binomial_interval(np.array([row[kind]]), result.replications)
            cells += [f"{row[kind]:.1%}", f"[{low[0]:.1%}, {high[0]:.1%}]"]
        rows.append(cells)
    head = ["Policy", "At the last round", "95% interval", "At all rounds", "95% interval"]
    caption = f"Share of {result.replications:,} runs, {result.horizon:,} rounds each."
    return table(caption, head, rows)
