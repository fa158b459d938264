"""Building blocks of a log's report: paragraphs, numbers, figures, folded tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from .report_tables import number

# A table with more rows than this is folded.
_LONG = 20


def words(lines: Sequence[str], *, kind: str = "") -> str:
    """One paragraph per line."""
    return "".join(f'<p class="{kind}">{escape(line)}</p>' for line in lines)


def cell(value: Any) -> str:
    """A value of any kind as a cell of a table."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        size = float(value)
        if not np.isfinite(size):
            return "∞" if size > 0 else "–"
        if size.is_integer():
            return f"{size:,.0f}".replace("-", "−")
        return number(size) if abs(size) >= 0.001 else f"{size:.2g}"
    return escape(str(value))


def mean(value: float) -> str:
    """A mean reward with three significant digits, because click rates are small."""
    return number(value) if not 0.0 < abs(value) < 0.1 else f"{value:.3g}".replace("-", "−")


def span(low: float, high: float) -> str:
    """An interval of means."""
    return f"[{mean(low)}, {mean(high)}]" if np.isfinite([low, high]).all() else "–"


def figure(name: str, caption: str, *, size: str = "") -> str:
    """A place for a picture, with its caption; ``size`` is the height."""
    style = f' style="height:{size}"' if size else ""
    return (
        f'<figure aria-label="{escape(caption)}"><div class="plot" id="{name}-plot"{style}></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def folded(what: str, html: str, rows: int, *, always: bool = False) -> str:
    """A table that is folded if it is long, so that the answers stay visible."""
    if rows <= _LONG and not always:
        return html
    return f"<details><summary>{escape(what)} {rows} rows.</summary>{html}</details>"


def numbers(values: Any) -> list[float | None]:
    """Numbers for the page's data, rounded to the digits that a picture can show."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float)]
