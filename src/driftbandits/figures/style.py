"""The style of figures: colours that everyone can distinguish, line styles, sizes for a column.

Colours are by Okabe and Ito, with some by Paul Tol. Each has a lighter version for dark pages. No
two known policies share colour, dash and marker, so that a figure is also readable in print without
colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.figure import Figure

from ..core.storage import atomic_write
from ..simulation.results import Result

Drawing = ParamSpec("Drawing")

COLUMN = 3.5  # inches, the width of a column
DPI = 200
CHANGE = "#CC0000"
INK = "#222222"

# Fonts that come with matplotlib, so that every machine draws the same figure.
SETTINGS: dict[Any, Any] = {
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.hashsalt": "driftbandits",
}

# Leave the date out of the files, so that equal figures give equal bytes.
_METADATA: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}

# Plotly's names of dashes, and the same dashes for matplotlib.
DASHES: Mapping[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.5)),
    "dashdot": (0, (5, 1.5, 1, 1.5)),
    "longdash": (0, (8, 2)),
    "dot": (0, (1, 1.2)),
    "longdashdot": (0, (8, 1.5, 1, 1.5)),
}
MARKERS: Mapping[str, str] = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "x": "X",
    "cross": "P",
}


@dataclass(frozen=True)
class PolicyStyle:
    """How a policy is drawn: colours on white and on a dark page, dash and marker by name."""

    color: str
    dark: str
    dash: str
    marker: str

    def line(self) -> dict[str, Any]:
        """Arguments of matplotlib's ``plot``."""
        return {
            "color": self.color,
            "linestyle": DASHES[self.dash],
            "marker": MARKERS[self.marker],
        }


_KNOWN: Mapping[str, PolicyStyle] = {
    "D-LinUCB": PolicyStyle("#009E73", "#35C79B", "solid", "circle"),
    "D-LinUCB (as published)": PolicyStyle("#56B4E9", "#9BD8FF", "dash", "circle"),
    "SW-LinUCB": PolicyStyle("#E69F00", "#F2B233", "dashdot", "square"),
    "dLinUCB": PolicyStyle("#0072B2", "#4C9BE8", "longdash", "triangle-up"),
    "LinUCB": PolicyStyle("#CC79A7", "#E39AC2", "solid", "diamond"),
    "LinUCB-OR": PolicyStyle("#000000", "#F2F2F2", "dot", "triangle-down"),
    "Random": PolicyStyle("#7F7F7F", "#A6A6A6", "longdashdot", "x"),
}
_SPARE: tuple[PolicyStyle, ...] = (
    PolicyStyle("#D55E00", "#FF8A3D", "solid", "cross"),
    PolicyStyle("#332288", "#A99BFF", "dash", "square"),
    PolicyStyle("#999933", "#CFCF6B", "dashdot", "diamond"),
    PolicyStyle("#882255", "#E56AA8", "longdash", "circle"),
    PolicyStyle("#44AA99", "#6FD6C5", "dot", "triangle-up"),
    PolicyStyle("#AA4499", "#DD88CF", "longdashdot", "triangle-down"),
)


def styles(labels: Iterable[str]) -> dict[str, PolicyStyle]:
    """The style of every label: fixed for known policies, spare styles in order for others."""
    chosen: dict[str, PolicyStyle] = {}
    spare = 0
    for label in labels:
        if label in _KNOWN:
            chosen[label] = _KNOWN[label]
        else:
            chosen[label] = _SPARE[spare % len(_SPARE)]
            spare += 1
    return chosen


def group_of(result: Result, policy: str) -> str:
    """The group of a policy that tables show separately; "" for most policies."""
    groups = result.config.get("groups")
    return str(groups.get(policy, "")) if isinstance(groups, Mapping) else ""


def name_of(result: Result, policy: str) -> str:
    """The name of a policy in legends: its label, and its group if it has one."""
    group = group_of(result, policy).partition(";")[0]
    return f"{policy} ({group})" if group else policy


def title(result: Result) -> str:
    """The experiment's title, with a note if the data is a stand-in."""
    name = str(result.config.get("title") or result.config.get("name") or "Experiment")
    return f"{name} (stand-in data)" if result.config.get("standin") else name


def heading(result: Result, what: str = "") -> str:
    """The heading of a figure: the title, wrapped to a column, and below it ``what``."""
    lines = [fill(plain(title(result)), 52), what]
    return "\n".join(line for line in lines if line)


def plain(text: str) -> str:
    """Escape a label, so that matplotlib neither reads it as mathematics nor hides it."""
    escaped = text.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def styled(plot: Callable[Drawing, Figure]) -> Callable[Drawing, Figure]:
    """Draw in this style, and leave matplotlib's settings as they were."""

    @wraps(plot)
    def wrapped(*args: Drawing.args, **kwargs: Drawing.kwargs) -> Figure:
        with mpl.rc_context(SETTINGS):
            figure = plot(*args, **kwargs)
            # Ticks are made at the first drawing, with the settings at that time.
            figure.draw_without_rendering()
            return figure

    return wrapped


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``figure`` as PNG, PDF and SVG; the same figure gives the same bytes."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in _METADATA]
    with mpl.rc_context(SETTINGS):
        for path, (suffix, metadata) in zip(paths, _METADATA.items(), strict=True):
            with atomic_write(path) as file:
                figure.savefig(file, format=suffix, dpi=DPI, metadata=dict(metadata))
    return paths
