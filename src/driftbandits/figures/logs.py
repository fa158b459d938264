"""Figures of a log's analysis: evidence by memory, drift over time, values by period."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..logs import Drift, Memory, Value
from ..logs.estimators import variants
from ..logs.evaluation import ALL, LOGGING
from ..logs.memory import say_hours
from .style import CHANGE, COLUMN, INK, plain, styled, styles


@styled
def plot_memory(memory: Memory) -> Figure:
    """Log-evidence of every memory, with the logged delays and as if rewards came at once."""
    figure = Figure(figsize=(COLUMN, 0.7 * COLUMN), layout="constrained")
    axes = figure.subplots()
    table = memory.table
    place = _places(table["memory"].to_numpy())
    for column, label, dash in (
        ("evidence", "as rewards came", "-"),
        ("instant", "had they come at once", ":"),
    ):
        gain = table[column] - table[column].iloc[-1]
        axes.plot(place, gain, dash, marker="o", label=label, color=INK if dash == ":" else None)
    close = place[table["close"].to_numpy()]
    half = 0.5 * (place[1] - place[0])
    axes.axvspan(
        close.min() - half,
        close.max() + half,
        color=CHANGE,
        alpha=0.12,
        lw=0,
        label="predict as well",
    )
    best = float(place[table["best"].to_numpy()][0])
    axes.axvline(best, color=CHANGE, ls="--", lw=1, label="recommended")
    _memory_axis(axes, table["memory"].to_numpy(), table["hours"].to_numpy())
    axes.set(ylabel="log-evidence above never", title="Which memory predicts best")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@styled
def plot_drift(drift: Drift) -> Figure:
    """Evidence for drift over time, and the gain of each memory."""
    figure = Figure(figsize=(COLUMN, 1.15 * COLUMN), layout="constrained")
    above, below = figure.subplots(2, 1)
    times = drift.when["time"].to_numpy()
    moments: Any = times / 3600.0
    if drift.dated:
        moments = [datetime.fromtimestamp(t, UTC) for t in times]
    above.plot(moments, drift.when["gain"])
    if drift.changed is not None:
        ends = [
            datetime.fromtimestamp(t, UTC) if drift.dated else t / 3600.0 for t in drift.changed
        ]
        above.axvspan(*ends, color=CHANGE, alpha=0.12, lw=0, label="largest change")
        above.legend(loc="upper left")
    above.set(ylabel="log-evidence for drift", title=plain(_verdict(drift)))
    above.set_xlabel("" if drift.dated else "hours")
    above.tick_params(axis="x", rotation=30 if drift.dated else 0)
    table = drift.evidence
    below.plot(_places(table["memory"].to_numpy()), table["evidence"], marker="o")
    _memory_axis(below, table["memory"].to_numpy(), table["hours"].to_numpy())
    below.set_ylabel("log-evidence above never")
    return figure


def _verdict(drift: Drift) -> str:
    return f"{'Payoffs drift' if drift.drifting else 'No drift found'} (p = {drift.p:.2g})"


@styled
def plot_value(value: Value, estimator: str = "DR") -> Figure:
    """One estimator of every policy by period, with 95% intervals, and the logged rewards."""
    figure = Figure(figsize=(1.4 * COLUMN, COLUMN), layout="constrained")
    axes = figure.subplots()
    table = value.table[value.table["period"] != ALL]
    labels = list(dict.fromkeys(table["period"]))
    names = list(dict.fromkeys(table["policy"]))
    looks = styles(names)
    for number, name in enumerate(names):
        kind = "mean" if name == LOGGING else estimator
        mine = table[(table["policy"] == name) & table["estimator"].isin(variants(kind))]
        at = np.array([labels.index(p) for p in mine["period"]], dtype=float)
        at += (number - 0.5 * (len(names) - 1)) * 0.6 / max(len(names), 1)
        reach = np.abs(mine[["low", "high"]].to_numpy().T - mine["estimate"].to_numpy())
        axes.errorbar(
            at,
            mine["estimate"],
            yerr=np.nan_to_num(reach),
            fmt="o",
            ms=3,
            lw=1,
            color=looks[name].color,
            label=plain(name if name == LOGGING else _label(value, name, estimator)),
        )
    every = max(1, len(labels) // 8)
    axes.set_xticks(range(0, len(labels), every), labels[::every], rotation=30, ha="right")
    axes.set(ylabel="mean reward", title="What would have been earned, by period")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _label(value: Value, name: str, estimator: str) -> str:
    """The label of a policy; if it learned, with the share of rewards it learned from."""
    share = value.acceptance.get(name)
    learned = "" if share is None else f", from {share:.0%} of its rewards"
    return f"{name} ({estimator}{learned})"


def _places(memories: Any) -> Any:
    """Positions on a logarithmic axis; "never" is one step beyond the longest memory."""
    logs = np.log10(np.where(np.isinf(memories), np.nan, memories))
    step = logs[1] - logs[0] if len(logs) > 2 else 1.0
    return np.where(np.isnan(logs), np.nanmax(logs) + step, logs)


def _memory_axis(axes: Axes, memories: Any, hours: Any) -> None:
    place = _places(memories)
    every = max(1, -(-len(place) // 5))
    chosen = [*range(0, len(place) - 1, every), len(place) - 1]
    words = [
        "never" if np.isinf(memories[i]) else f"{memories[i]:,.0f}\n{say_hours(hours[i])}"
        for i in chosen
    ]
    axes.set_xticks(place[chosen], words)
    axes.set_xlabel("memory in decisions, and in time")
