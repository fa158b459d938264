"""When changes were detected."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ..simulation.results import Result
from .changes import change_points, false_alarm_rate, histogram, noticed
from .regret import mark_changes
from .style import COLUMN, heading, plain, styled, styles


def has_detections(result: Result) -> bool:
    """Whether any policy detected anything."""
    return bool(result.detecting)


@styled
def plot_detections(result: Result) -> Figure:
    """Histogram of detection rounds; the legend has the share of runs that noticed each change."""
    figure = Figure(figsize=(COLUMN, 0.66 * COLUMN), layout="constrained")
    axes = figure.subplots()
    looks = styles(result.policies)
    edges, counts = histogram(result)
    for policy, count in counts.items():
        label = plain(f"{policy}: {rates_in_words(result, policy)}")
        axes.stairs(
            count, edges, fill=True, alpha=0.55, lw=0.8, ec=looks[policy].color,
            fc=looks[policy].color, label=label,
        )  # fmt: skip
    mark_changes(axes, result)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set(xlim=(0, result.horizon), xlabel="round of detection", ylabel="detections")
    axes.set_title(heading(result, f"detections in {result.replications:,} runs"))
    figure.legend(loc="outside lower center", ncols=1)
    return figure


def rates_in_words(result: Result, policy: str) -> str:
    """Share of the runs in which ``policy`` noticed each change, and of false alarms if any."""
    alarms = false_alarm_rate(result, policy)
    if not change_points(result):
        return f"a detection in {alarms:.0%} of runs"
    rates = ", ".join(f"{found.rate:.0%}" for found in noticed(result) if found.policy == policy)
    words = (
        f"{rates} of runs noticed the change"
        if len(change_points(result)) == 1
        else (f"changes noticed in {rates} of runs")
    )
    return f"{words}; false alarms in {alarms:.0%}" if alarms else words
