"""The leaderboard as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .style import COLUMN, INK, plain, styled

# Colour-blind readers can distinguish purple and orange, and every cell also shows its number.
_COLOURS = "PuOr_r"
_LIMIT = 8.0
_TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


# Columns of the ratio and its interval, and the name of the yardstick.
_YARDSTICKS = {
    "fixed": ("ratio", "low", "high", "the best fixed discount"),
    "twice": ("twice", "twice_low", "twice_high", "D-LinUCB tuned twice"),
}


@styled
def plot_leaderboard(
    scores: pd.DataFrame,
    *,
    policies: Sequence[str] | None = None,
    relative_to: Literal["fixed", "twice"] = "fixed",
) -> Figure:
    """Regret relative to the best fixed discount, or to D-LinUCB tuned twice.

    ``scores`` is the table of `driftbandits.experiments.run_leaderboard`. Rows are policies; by
    default all except the fixed discounts, ordered by geometric mean. Columns are environments. A
    cell is bold if its whole 95% interval is on one side of 1.
    """
    *columns, yardstick = _YARDSTICKS[relative_to]
    names = zip(("ratio", "low", "high"), columns, strict=True)
    grids = {name: _grid(scores, column) for name, column in names}
    labels = list(policies) if policies is not None else _order(scores, grids["ratio"])
    ratios = grids["ratio"].loc[labels]
    figure = Figure(figsize=_size(ratios.shape), layout="constrained")
    axes = figure.subplots()
    norm = LogNorm(1 / _LIMIT, _LIMIT)
    image = axes.imshow(
        ratios.clip(1 / _LIMIT, _LIMIT).to_numpy(), norm=norm, cmap=_COLOURS, aspect="auto"
    )
    _label_axes(axes, ratios)
    cells = {key: grid.loc[labels].to_numpy() for key, grid in grids.items()}
    for row, column in np.ndindex(ratios.shape):
        cell = {key: float(values[row, column]) for key, values in cells.items()}
        _write_cell(axes, column, row, cell, norm)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    bar.ax.yaxis.set_major_locator(FixedLocator(_TICKS))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    bar.set_label(f"regret relative to {yardstick}")
    counts = sorted({int(count) for count in scores["replications"].dropna()})
    axes.set_title(f"Leaderboard, means over {' or '.join(map(str, counts))} replications")
    return figure


def _grid(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    grid = scores.pivot(index="policy", columns="environment", values=column).astype(float)
    return grid[list(scores["environment"].drop_duplicates())]


def _order(scores: pd.DataFrame, ratios: pd.DataFrame) -> list[str]:
    labels = scores.loc[~scores["fixed"].astype(bool), "policy"].drop_duplicates()
    return list(np.log(ratios.loc[labels]).mean(axis=1).sort_values(kind="stable").index)


def _size(shape: tuple[int, int]) -> tuple[float, float]:
    rows, columns = shape
    return max(COLUMN, 1.6 + 0.36 * columns), 1.3 + 0.22 * rows


def _label_axes(axes: Axes, ratios: pd.DataFrame) -> None:
    rows, columns = ratios.shape
    names = [plain(str(name)) for name in ratios.columns]
    axes.set_xticks(range(columns), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(rows), [plain(str(name)) for name in ratios.index])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _write_cell(axes: Axes, x: int, y: int, cell: dict[str, float], norm: LogNorm) -> None:
    ratio = cell["ratio"]
    if not np.isfinite(ratio):
        axes.text(x, y, "–", ha="center", va="center", color=INK, fontsize=6)
        return
    colour: Any = colormaps[_COLOURS](norm(min(max(ratio, 1 / _LIMIT), _LIMIT)))
    luminance = float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))
    sure = cell["low"] > 1 or cell["high"] < 1
    axes.text(
        x,
        y,
        f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}",
        ha="center",
        va="center",
        fontsize=6,
        color=INK if luminance > 0.5 else "white",
        weight="bold" if sure else "normal",
    )
