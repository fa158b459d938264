"""Measurements side by side: interleaved repetitions, medians and quartiles, rows of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Aim(NamedTuple):
    """The target of a number: at least, or at most, a bound."""

    sense: str  # ">=" or "<="
    bound: float

    def met(self, value: float) -> bool:
        """Whether ``value`` meets the aim."""
        return value >= self.bound if self.sense == ">=" else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.sense == '>=' else '≤'} {self.bound:g}"


def at_least(bound: float) -> Aim:
    """An aim that larger numbers meet."""
    return Aim(">=", bound)


def at_most(bound: float) -> Aim:
    """An aim that smaller numbers meet."""
    return Aim("<=", bound)


class Row(NamedTuple):
    """A row of the table: a median with its quartiles, or the reason why there is none."""

    section: str
    subject: str
    quantity: str
    unit: str = ""
    median: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    aim: Aim | None = None
    note: str = ""
    judged: bool = True  # False if the machine was too busy to judge the aim
    failed: bool = False  # True if there should be a number but there is none

    @property
    def verdict(self) -> str:
        """Whether the aim was met, if there is one."""
        if self.failed:
            return "not measured"
        if self.aim is None:
            return ""
        if not self.judged:
            return "not judged"
        return "met" if self.aim.met(self.median) else "missed"


Say = Callable[[str], None]


def summary(
    section: str,
    subject: str,
    quantity: str,
    values: Array,
    *,
    unit: str = "",
    aim: Aim | None = None,
    note: str = "",
    judged: bool = True,
) -> Row:
    """The row of repeated measurements."""
    low, median, high = (float(q) for q in np.percentile(values, [25, 50, 75]))
    return Row(section, subject, quantity, unit, median, low, high, aim, note, judged)


def single(
    section: str,
    subject: str,
    quantity: str,
    value: float,
    *,
    unit: str = "",
    aim: Aim | None = None,
    note: str = "",
) -> Row:
    """The row of a number without a spread."""
    return Row(section, subject, quantity, unit, value, aim=aim, note=note)


class Times(NamedTuple):
    """Seconds of every repetition."""

    cpu: Array  # processor time of this process: fairer on a busy machine
    wall: Array


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: Mapping[str, Callable[[], object]], *, repetitions: int) -> dict[str, Times]:
    """Seconds of every work in every repetition: A, B, A, B, …, after one unmeasured round."""
    for work in works.values():
        work()
    times = {name: Times(np.empty(repetitions), np.empty(repetitions)) for name in works}
    for repetition in range(repetitions):
        for name, work in works.items():
            used = time.process_time()
            times[name].wall[repetition] = seconds(work)
            times[name].cpu[repetition] = time.process_time() - used
    return times


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def mean_and_error(values: Array) -> tuple[float, float]:
    """Mean and its standard error over replications."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))
