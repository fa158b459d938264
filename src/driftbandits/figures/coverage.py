"""How often confidence sets contain the parameter."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter, StrMethodFormatter

from ..core.arrays import Array
from ..simulation.results import Result
from .style import COLUMN, INK, heading, plain, styled, styles

# Columns of `Result.coverage_frame`, and their labels.
KINDS = {"at_round": "at the round", "at_all_rounds": "at all rounds so far"}


def has_coverage(result: Result) -> bool:
    """Whether coverage was recorded."""
    return bool(result.missed.size)


def level(result: Result) -> float | None:
    """1 − δ if all policies share δ, else None."""
    settings = result.config.get("policies", {}).values()
    deltas = {policy["delta"] for policy in settings if "delta" in policy}
    return 1.0 - float(deltas.pop()) if len(deltas) == 1 else None


def binomial_interval(share: Array, count: int) -> tuple[Array, Array]:
    """Wilson's 95% interval for a probability, from a share of ``count`` trials."""
    z = 1.959963984540054
    weight = 1.0 / (1.0 + z**2 / count)
    center = weight * (share + z**2 / (2 * count))
    half = weight * z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)


@styled
def plot_coverage(result: Result) -> Figure:
    """Coverage in each round, and in all rounds so far, with binomial 95% intervals."""
    figure = Figure(figsize=(1.6 * COLUMN, 0.8 * COLUMN), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, kind in zip(panels, KINDS, strict=True):
        _draw_panel(axes, result, kind)
    panels[0].set_ylabel("coverage")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    figure.suptitle(heading(result), fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_panel(axes: Axes, result: Result, kind: str) -> None:
    looks = styles(result.policies)
    frame = result.coverage_frame()
    for number, policy in enumerate(result.policies):
        mine = frame[frame["policy"] == policy]
        rounds, share = mine["round"].to_numpy(), mine[kind].to_numpy(dtype=np.float64)
        low, high = binomial_interval(share, result.replications)
        every = max(1, len(rounds) // 6)
        start = number * every // len(result.policies)
        axes.fill_between(rounds, low, high, color=looks[policy].color, alpha=0.16, lw=0)
        axes.plot(
            rounds, share, **looks[policy].line(), markevery=(start, every), label=plain(policy)
        )
    promised = level(result)
    if promised is not None and math.isfinite(promised):
        axes.axhline(promised, color=INK, ls="--", lw=0.9, label=f"$1-\\delta$ = {promised:.4g}")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set(xlim=(0, result.horizon), xlabel="round")
    axes.set_title(KINDS[kind], fontsize=8)
