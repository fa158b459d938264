"""Estimates in the plane, compared with the true parameter."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ..core.arrays import Array
from ..simulation.results import Result
from .changes import change_points
from .style import COLUMN, INK, MARKERS, heading, plain, styled, styles


def has_plane(result: Result) -> bool:
    """Whether estimates were recorded and have two dimensions."""
    return bool(result.estimate_rounds.size) and result.path.shape[1] == 2


def has_random_path(result: Result) -> bool:
    """Whether every replication had a different path; a result keeps only the first."""
    path = result.config.get("environment", {}).get("path", {})
    return isinstance(path, dict) and path.get("kind") == "RandomWalk"


def mean_estimates(result: Result) -> dict[str, Array]:
    """θ̂ at the recorded rounds, shape (E, 2), of every policy that has estimates.

    This is the mean over replications. On random paths it is the first replication, because the
    result keeps only its path.
    """
    kept = result.estimates[:, :1] if has_random_path(result) else result.estimates
    means = kept.mean(axis=1)
    return {
        policy: means[p] for p, policy in enumerate(result.policies) if np.isfinite(means[p]).all()
    }


def positions(result: Result) -> list[tuple[str, Array]]:
    """The true positions of an abrupt path, numbered in order; a repeated one has two numbers."""
    stretch = np.searchsorted(change_points(result), result.estimate_rounds, side="right")
    places: dict[tuple[float, ...], list[str]] = {}
    for number in np.unique(stretch):
        place = tuple(float(x) for x in result.path[stretch == number][0])
        places.setdefault(place, []).append(str(int(number) + 1))
    return [(", ".join(numbers), np.array(place)) for place, numbers in places.items()]


@styled
def plot_estimates(result: Result) -> Figure:
    """Mean estimates in the plane at a few rounds, with the true path and the unit circle."""
    if not has_plane(result):
        raise ValueError("result must have estimates of two dimensions to be drawn in the plane")
    figure = Figure(figsize=(COLUMN, 1.2 * COLUMN), layout="constrained")
    axes = figure.subplots()
    axes.add_patch(Circle((0, 0), 1.0, fill=False, ec="#9A9A9A", lw=0.8, ls=(0, (2, 2))))
    _draw_truth(axes, result)
    chosen = _round_numbers(result)
    for policy, means in mean_estimates(result).items():
        look = styles(result.policies)[policy]
        x, y = means[chosen].T
        axes.plot(x, y, color=look.color, lw=0.5, alpha=0.4)
        axes.plot(
            x, y, ls="", marker=MARKERS[look.marker], color=look.color, ms=4, mec="white", mew=0.3,
            label=plain(policy),
        )  # fmt: skip
    axes.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", aspect="equal")
    axes.margins(0.1)
    axes.set_title(heading(result, _what(result, chosen)))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _what(result: Result, chosen: Array) -> str:
    whose = "estimates of one run" if has_random_path(result) else "mean estimates"
    if len(chosen) < 2:
        return whose
    step = int(np.median(np.diff(result.estimate_rounds[chosen])))
    return f"{whose} about every {step:,} rounds"


def _draw_truth(axes: Axes, result: Result) -> None:
    if not change_points(result):
        x, y = result.path.T
        axes.plot(x, y, color=INK, lw=1.6, label="true path")
        for text, place in (("start", result.path[0]), ("end", result.path[-1])):
            axes.plot(*place, marker="o", color=INK, ms=3)
            axes.annotate(text, (place[0], place[1]), xytext=(5, 5), textcoords="offset points")
        return
    for number, (text, place) in enumerate(positions(result)):
        label = "true parameter, in order" if number == 0 else None
        axes.plot(*place, marker="*", ls="", mfc="#FFF3B0", mec=INK, mew=0.7, ms=12, label=label)
        axes.annotate(
            text, (place[0], place[1]), xytext=(7, 6), textcoords="offset points", weight="bold"
        )


def _round_numbers(result: Result) -> Array:
    """Indices of the five to ten recorded rounds nearest to the multiples of a round number."""
    step = result.horizon / 8
    unit = 10.0 ** math.floor(math.log10(step))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= step)
    wanted = np.arange(step, result.horizon + 0.5, step)
    # Skip the round before a change: an oracle policy has just forgotten its estimate there.
    candidates = np.flatnonzero(~np.isin(result.estimate_rounds + 1, change_points(result)))
    if len(candidates) < len(wanted):
        candidates = np.arange(len(result.estimate_rounds))
    distance = np.abs(result.estimate_rounds[candidates][None, :] - wanted[:, None])
    return np.unique(candidates[distance.argmin(axis=1)])
