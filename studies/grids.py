"""The settings to try for rivals: grids, and a note if a setting is at the end of its grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from benchmarks.players import BayesianBandits, Player, VowpalWabbit

Axes = Mapping[str, tuple[float, ...]]

# Vowpal Wabbit weights a decision of probability p by 1 / (p K), so -l is step · K. With clipping
# at 1, all decisions have the same weight, as for a greedy policy.
VOWPAL_WABBIT: tuple[tuple[str, Axes], ...] = (
    (
        "--squarecb --gamma_scale {gamma} --clip_p 1 --power_t 0 -l {l:g}",
        {"gamma": (30, 100, 300, 1000), "step": (0.02, 0.04, 0.06)},
    ),
    (  # steps that become smaller
        "--squarecb --gamma_scale {gamma} --clip_p 1 --power_t 0.5 -l {l:g}",
        {"gamma": (100, 1000), "step": (0.06, 0.2, 0.6)},
    ),
    (
        "--squarecb --gamma_scale {gamma} --power_t 0 -l {l:g}",
        {"gamma": (10, 30, 100, 300), "step": (0.02, 0.04)},
    ),
    ("--epsilon 0 --power_t 0 -l {l:g}", {"step": (0.02, 0.04, 0.06, 0.09)}),
    ("--epsilon 0 --coin --ftrl_alpha {alpha}", {"alpha": (5, 10, 20, 40)}),
)
# bayesianbandits explores less if it is told less noise; a rate of 1 forgets nothing.
BAYESIAN_BANDITS: Axes = {
    "rate": (0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 1.0),
    "noise": (0.15, 0.4, 1.0),
}
NATURAL_ENDS = {("rate", 1.0)}  # no values exist beyond them


class Setting(NamedTuple):
    """A library at one point of a grid."""

    player: Callable[..., Player]
    options: dict[str, Any]
    words: str
    ends: tuple[str, ...] = ()  # names of the axes on which it is at an end

    def make(self, seed: int) -> Player:
        """A fresh player with this ``seed``."""
        return self.player(**self.options, seed=seed)


def settings(count: int) -> dict[str, list[Setting]]:
    """The settings to try for each library, with ``count`` actions."""
    return {
        "vowpalwabbit": list(_vowpal_wabbit(count)),
        "bayesianbandits": list(_bayesian_bandits(count)),
    }


def _vowpal_wabbit(count: int) -> Iterator[Setting]:
    for words, axes in VOWPAL_WABBIT:
        for values, ends in points(axes):
            arguments = words.format(l=count * values.get("step", 0.0), **values)
            yield Setting(VowpalWabbit, {"arguments": arguments}, arguments, ends)


def _bayesian_bandits(count: int) -> Iterator[Setting]:
    fixed = {"rule": "StabilizedForgetting", "policy": "Thompson", "count": count}
    for values, ends in points(BAYESIAN_BANDITS):
        words = " ".join(f"{name} {value}" for name, value in values.items())
        yield Setting(BayesianBandits, {**fixed, **values}, words, ends)


def points(axes: Axes) -> Iterator[tuple[dict[str, float], tuple[str, ...]]]:
    """The points of a grid, each with the names of the axes on which it is at an end."""
    for numbers in product(*axes.values()):
        values = dict(zip(axes, numbers, strict=True))
        ends = [name for name, value in values.items() if _is_end(name, value, axes[name])]
        yield values, tuple(ends)


def _is_end(name: str, value: float, axis: tuple[float, ...]) -> bool:
    return value in (axis[0], axis[-1]) and (name, value) not in NATURAL_ENDS
