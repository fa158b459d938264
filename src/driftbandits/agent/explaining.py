"""What drives choices, coordinate by coordinate, and what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..policies import Policy
from .catalogue import Catalogue

# Decisions between two snapshots at first, and the largest number of snapshots. Beyond it, every
# second snapshot is dropped, and the distance doubles.
FIRST_EVERY = 128
MOST = 32


class Snapshots:
    """At most `MOST` earlier estimates, spread evenly over all decisions so far."""

    def __init__(self) -> None:
        self.every = FIRST_EVERY
        self.taken: list[tuple[int, Array]] = []

    def due(self, decided: int) -> bool:
        """Whether to keep the estimate after ``decided`` decisions."""
        return decided % self.every == 0

    def take(self, decided: int, theta: Array) -> None:
        """Keep an estimate."""
        self.taken.append((decided, theta))
        if len(self.taken) > MOST:
            self.every *= 2
            self.taken = [entry for entry in self.taken if entry[0] % self.every == 0]

    def before(self, decided: int) -> tuple[int, Array] | None:
        """The last estimate after at most ``decided`` decisions; if there is none, the first."""
        earlier = [entry for entry in self.taken if entry[0] <= decided]
        return earlier[-1] if earlier else self.taken[0] if self.taken else None


class Driver(NamedTuple):
    """One coordinate of the vectors.

    Attributes:
        name: What it stands for, such as ``country=FR × category=sport``.
        weight: What one unit of it adds to the reward, by the present estimate.
        uncertainty: What the policy adds to the weight when it explores: radius × width.
        change: How much the weight has changed since the reference; NaN without a reference.
    """

    name: str
    weight: float
    uncertainty: float
    change: float


@dataclass(frozen=True)
class Explanation:
    """What drives choices now, from the largest weight down, and what has changed.

    Attributes:
        drivers: One per coordinate.
        level: The policy's estimate of what all rewards have in common, beside the weights; None
            for policies without a level.
        since: Number of decisions before the reference; None without a reference.
        memory: Number of rounds that the policy remembers; None if it does not say.
    """

    drivers: tuple[Driver, ...]
    level: float | None
    since: int | None
    memory: float | None

    def __iter__(self) -> Iterator[Driver]:
        return iter(self.drivers)

    @property
    def changes(self) -> tuple[Driver, ...]:
        """The coordinates, the largest change first."""
        known = [driver for driver in self.drivers if driver.change == driver.change]
        return tuple(sorted(known, key=lambda driver: -abs(driver.change)))

    def __str__(self) -> str:
        """The level, and the ten largest weights as a table."""
        since = "" if self.since is None else f" (change since decision {self.since})"
        lines = [f"{'weight':>9} {'±':>8} {'change':>9}  coordinate{since}"]
        if self.level is not None:
            lines.insert(0, f"{self.level:>9.4f} level: what all rewards have in common")
        for driver in self.drivers[:10]:
            change = f"{driver.change:.4f}" if driver.change == driver.change else "-"
            numbers = f"{driver.weight:>9.4f} {driver.uncertainty:>8.4f} {change:>9}"
            lines.append(f"{numbers}  {driver.name}")
        return "\n".join(lines)


def explanation(
    policy: Policy, catalogue: Catalogue, snapshots: Snapshots, since: int
) -> Explanation:
    """The explanation of a policy's estimate: one driver per coordinate."""
    estimate: Any = policy
    if not hasattr(estimate, "theta"):
        raise ValueError(f"explain needs a policy with an estimate, got {type(policy).__name__}")
    theta = np.asarray(estimate.theta)
    doubt = estimate.radius * np.asarray(estimate.widths(np.eye(policy.dim) * policy.action_bound))
    doubt /= policy.action_bound
    reference = snapshots.before(since)
    change = np.full(policy.dim, np.nan)
    if reference is not None:
        known = reference[1]
        change = theta - np.pad(known, (0, policy.dim - known.size))
    names = _names(catalogue)
    columns = (values.tolist() for values in (theta, doubt, change))
    drivers = [Driver(*row) for row in zip(names, *columns, strict=True)]
    return Explanation(
        drivers=tuple(sorted(drivers, key=lambda driver: -abs(driver.weight))),
        level=getattr(estimate, "level", None),
        since=None if reference is None else reference[0],
        memory=getattr(estimate, "memory", None),
    )


def _names(catalogue: Catalogue) -> list[str]:
    """Names of the coordinates; blocks are named after the actions that have them."""
    taken = {} if catalogue.slots is None else {s: a for a, s in catalogue.slots.slots.items()}
    return [
        coordinate.name
        if coordinate.slot not in taken
        else coordinate.name.replace(f"slot {coordinate.slot}", taken[coordinate.slot], 1)
        for coordinate in catalogue.features.coordinates
    ]
