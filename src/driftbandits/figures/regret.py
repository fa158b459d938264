"""Cumulative regret over rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from ..simulation.results import Result
from .bound import bound_curve
from .changes import change_points, noticed
from .style import CHANGE, COLUMN, DASHES, PolicyStyle, heading, name_of, plain, styled, styles


def has_regret(result: Result) -> bool:
    """Whether any policy had any regret."""
    return bool(np.any(result.regret))


@styled
def plot_regret(result: Result, *, bounds: Sequence[str] = ()) -> Figure:
    """Mean regret with bands from the 5% to the 95% quantile of the replications.

    Red lines are changes. Dashed lines in a policy's colour (blue for dLinUCB) are the mean rounds
    of its detections. ``bounds`` are labels of policies; their theoretical bounds are added, and
    the regret is then on a logarithmic scale.
    """
    figure = Figure(figsize=(COLUMN, 0.86 * COLUMN), layout="constrained")
    axes = figure.subplots()
    looks = styles(result.policies)
    for number, policy in enumerate(result.policies):
        _draw_policy(axes, result, policy, looks[policy], number)
    for policy in bounds:
        curve = bound_curve(result, policy)
        label = plain(f"{policy}: bound")
        axes.plot(
            result.regret_rounds, curve, color=looks[policy].color, ls=":", lw=0.9, label=label
        )
    if bounds:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    mark_changes(axes, result)
    _mark_detections(axes, result, looks)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set(xlim=(0, result.horizon), xlabel="round", ylabel="cumulative regret")
    axes.set_title(heading(result))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def mark_changes(axes: Axes, result: Result) -> None:
    """A red dashed line at every change point."""
    for number, change in enumerate(change_points(result)):
        label = "change" if number == 0 else None
        axes.axvline(change, color=CHANGE, ls=DASHES["dash"], lw=0.9, label=label)


def _draw_policy(axes: Axes, result: Result, policy: str, look: PolicyStyle, number: int) -> None:
    curves = result.curves()
    mine = curves[curves["policy"] == policy]
    rounds = mine["round"].to_numpy()
    every = max(1, len(rounds) // 6)
    axes.fill_between(rounds, mine["q05"], mine["q95"], color=look.color, alpha=0.16, lw=0)
    # Markers are staggered, so that they do not hide one another.
    start = number * every // len(result.policies)
    name = plain(name_of(result, policy))
    axes.plot(rounds, mine["mean"], **look.line(), markevery=(start, every), label=name)


def _mark_detections(axes: Axes, result: Result, looks: dict[str, PolicyStyle]) -> None:
    labelled: set[str] = set()
    for found in noticed(result):
        if found.rate == 0:
            continue
        label = None if found.policy in labelled else plain(f"mean detection, {found.policy}")
        labelled.add(found.policy)
        color = looks[found.policy].color
        axes.axvline(found.round, color=color, ls=DASHES["dash"], lw=0.9, label=label)
