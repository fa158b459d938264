"""The estimate, confidence, memory and noise level of an adaptive policy over time."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from .style import CHANGE, COLUMN, DASHES, INK, styled, styles


@styled
def plot_adaptive(
    trace: pd.DataFrame, *, coordinates: Sequence[int] = (1, 2), title: str = "AdaptiveLinUCB"
) -> Figure:
    """Estimate with its confidence, effective memory and noise level of one run.

    ``trace`` is the table of `driftbandits.experiments.trace`. ``coordinates`` are the coordinates
    of the parameter to draw, counted from 1. Bands show radius times width, the exploration bonus;
    they are not a confidence set. Red lines are changes, dotted lines are detections.
    """
    figure = Figure(figsize=(1.6 * COLUMN, 1.35 * COLUMN), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 1))
    _draw_estimates(panels[0], trace, coordinates)
    _draw_memory(panels[1], trace)
    panels[2].plot(trace["round"], trace["noise"], color=INK, lw=1.0)
    panels[2].set_ylabel("noise level")
    panels[2].set_ylim(bottom=0)
    for axes in panels:
        for change in trace.attrs.get("change_points", ()):
            axes.axvline(change, color=CHANGE, ls=DASHES["dash"], lw=0.7, zorder=0)
    panels[2].xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panels[2].set(xlim=(0, trace["round"].iloc[-1]), xlabel="round")
    panels[0].set_title(title)
    return figure


def _draw_estimates(axes: Axes, trace: pd.DataFrame, coordinates: Sequence[int]) -> None:
    looks = styles(f"coordinate {i}" for i in coordinates)
    for i, look in zip(coordinates, looks.values(), strict=True):
        rounds, theta, half = trace["round"], trace[f"theta_{i}"], trace[f"half_{i}"]
        axes.fill_between(rounds, theta - half, theta + half, color=look.color, alpha=0.16, lw=0)
        axes.plot(rounds, theta, color=look.color, lw=1.1, label=f"estimate, coordinate {i}")
        axes.plot(rounds, trace[f"true_{i}"], color=look.color, ls=":", lw=1.0, label="truth")
    axes.set_ylabel("parameter")
    axes.legend(loc="upper right", ncols=len(coordinates))


def _draw_memory(axes: Axes, trace: pd.DataFrame) -> None:
    axes.plot(trace["round"], trace["memory"], color=INK, lw=1.1)
    for number, found in enumerate(trace.attrs.get("detections", ())):
        label = "detected" if number == 0 else None
        axes.axvline(found, color=INK, ls=DASHES["dot"], lw=0.9, label=label)
    axes.set_yscale("log")
    axes.set_ylabel("memory, rounds")
    if trace.attrs.get("detections"):
        axes.legend(loc="lower right")
