"""Events: what can happen to a policy, as plain values, or many of them as arrays.

Each event stands for one call. ``policy.apply(event)`` makes that call. ``policy.replay(events)``
makes many calls in compiled code. Both give the same bits as the calls themselves:

    Select(actions)                     policy.select(actions)
    Decide(actions, rounds)             policy.decide(actions, rounds=rounds)
    Update(actions, rewards)            policy.update(actions, rewards)
    Learn(action, reward, round)        policy.update(action, reward, round=round)
    Amend(action, round, old, new)      policy.amend(action, round=round, old=old, new=new)
    Advance(rounds)                     policy.advance(rounds=rounds)
    Forget(coordinates)                 policy.forget(coordinates)

`Select` is an event because choosing changes the state too. Randomised policies draw; others
update their estimate, and that affects how later sums are rounded. A replay that left out the
choices would not end in the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import (
    Array,
    float_array,
    non_negative,
    number,
    numbers,
    observations,
    positive,
)

Integers = npt.NDArray[np.int64]

# Codes for ``Packed.kinds``.
SELECT, DECIDE, UPDATE, ALSO, LEARN, AMEND, ADVANCE, FORGET = range(8)

# Columns of ``Packed.numbers``.
VALUE = 0  # the reward, the old reward of an amendment, or the rounds that are closed
ROUND = 1  # the round that a reward belongs to
NEW = 2  # the new reward of an amendment
NUMBERS = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """What ``decide`` returns.

    Attributes:
        index: Which action was chosen.
        round: The round of the decision; pass it on with the reward.
        propensity: Probability with which this action was chosen. 1 where nothing is random, NaN
            where it has no closed form.
        scores: The scores by which the rule ranked the actions, shape (K,).
        propensities: Probabilities of all actions, shape (K,).
    """

    index: int
    round: int | float
    propensity: float
    scores: Array = field(compare=False, repr=False)
    propensities: Array = field(compare=False, repr=False)


class Outcomes(NamedTuple):
    """What ``replay`` returns: one entry per event.

    Attributes:
        indices: The actions chosen, shape (n,); −1 where an event chooses nothing.
        rounds: The open round before each event, shape (n,).
        propensities: Propensities of decisions, shape (n,); NaN for other events.
    """

    indices: Integers
    rounds: Array
    propensities: Array


class Event:
    """Something that happened to a policy. Events with equal fields are equal."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


@dataclass(frozen=True, eq=False)
class Select(Event):
    """An action was chosen; the round stays open.

    Attributes:
        actions: The actions on offer, shape (K, d).
    """

    actions: Any


@dataclass(frozen=True, eq=False)
class Decide(Event):
    """An action was chosen, and the round closed.

    Attributes:
        actions: The actions on offer, shape (K, d).
        rounds: How far the clock moved.
    """

    actions: Any
    rounds: float = 1.0


@dataclass(frozen=True, eq=False)
class Update(Event):
    """The open round brought its reward, or a batch of rewards, and closed.

    Attributes:
        actions: The action (d,), or a batch (n, d).
        rewards: Its reward, or (n,).
    """

    actions: Any
    rewards: Any


@dataclass(frozen=True, eq=False)
class Learn(Event):
    """The reward of an earlier round, or a batch of them, arrived; the clock stands still.

    Attributes:
        action: The action (d,), or a batch (n, d).
        reward: Its reward, or (n,).
        round: The round that it belongs to, or (n,).
    """

    action: Any
    reward: Any
    round: Any


@dataclass(frozen=True, eq=False)
class Amend(Event):
    """A reward that was learned was wrong, and is corrected.

    Attributes:
        action: The action (d,).
        round: The round that the reward belongs to.
        old: The reward that was learned.
        new: The right reward.
    """

    action: Any
    round: int | float
    old: float
    new: float


@dataclass(frozen=True, eq=False)
class Advance(Event):
    """Rounds closed without rewards.

    Attributes:
        rounds: How far the clock moved.
    """

    rounds: float = 1.0


@dataclass(frozen=True, eq=False)
class Forget(Event):
    """What was known along some coordinates was cleared.

    Attributes:
        coordinates: Which ones, counted from 0.
    """

    coordinates: Any


class Packed(NamedTuple):
    """Events as arrays. Compiled replay runs this form; logs build it directly.

    Event i has the code ``kinds[i]`` and the ``counts[i]`` rows of ``rows`` from ``starts[i]`` on.
    Events may share rows: a catalogue is stored once.

    | kind | rows | numbers: VALUE, ROUND, NEW |
    |---|---|---|
    | SELECT | the actions | |
    | DECIDE | the actions | rounds to close, 0 or more |
    | UPDATE | one action | its reward |
    | ALSO | one action | its reward; it belongs to the same batch as the UPDATE before it |
    | LEARN | one action | its reward, its round |
    | AMEND | one action | the old reward, its round, the new reward |
    | ADVANCE | | rounds to close, above 0 |
    | FORGET | 1 where a coordinate is cleared, else 0 | |

    Empty cells are not read.
    """

    kinds: Integers  # (n,)
    starts: Integers  # (n,)
    counts: Integers  # (n,)
    numbers: Array  # (n, 3)
    rows: Array  # (R, d)

    def checked(self, dim: int) -> Packed:
        """These events with the types that compiled code takes, after a check of shapes."""
        kinds, starts, counts = (
            _integers(name, getattr(self, name)) for name in ("kinds", "starts", "counts")
        )
        values, rows = numbers("numbers", self.numbers), numbers("rows", self.rows)
        shapes = (kinds.shape, starts.shape, counts.shape, values.shape)
        n = len(kinds)
        if shapes != ((n,), (n,), (n,), (n, NUMBERS)):
            raise ValueError(
                f"kinds, starts, counts and numbers must have shapes (n,), (n,), (n,) and "
                f"(n, {NUMBERS}), got {', '.join(map(str, shapes))}"
            )
        if rows.ndim != 2 or rows.shape[1] != dim:
            raise ValueError(f"rows must have shape (R, {dim}), got {rows.shape}")
        return Packed(kinds, starts, counts, values, rows)


def _integers(name: str, value: Any) -> Integers:
    """``value`` as a contiguous int64 array (n,)."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(f"{name} must be integers of shape (n,), got {array.dtype}{array.shape}")
    return np.require(array, np.int64, ["C", "W"])


def pack(events: Iterable[Event], *, dim: int) -> Packed:
    """Events as arrays. A batch becomes one entry per reward."""
    return pack_with_starts(events, dim=dim)[0]


def pack_with_starts(events: Iterable[Event], *, dim: int) -> tuple[Packed, Integers]:
    """Events as arrays, and the first entry of each event.

    Raises the errors that every policy would raise, with the number of the event.
    """
    if isinstance(events, Event):
        raise TypeError(f"events must be a list of events, got {events!r}")
    builder, starts = _Builder(dim), list[int]()
    for i, event in enumerate(events):
        starts.append(len(builder.kinds))
        try:
            builder.add(event)
        except (TypeError, ValueError) as error:
            raise type(error)(f"event {i}: {error}") from None
    return builder.packed(), np.array(starts, dtype=np.int64)


class _Builder:
    """Collects events as entries (kind, rows, numbers)."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.kinds: list[int] = []
        self.counts: list[int] = []
        self.values: list[tuple[float, float, float]] = []
        self.rows: list[Array] = []

    def add(self, event: Event) -> None:
        """Append the entries of an event."""
        match event:
            case Select(actions):
                self._entry(SELECT, float_array("actions", actions, ndim=2))
            case Decide(actions, rounds):
                non_negative("rounds", rounds)
                self._entry(DECIDE, float_array("actions", actions, ndim=2), rounds)
            case Update(actions, rewards):
                rows, values = observations(self.dim, actions, rewards)
                for n in range(len(rows)):
                    self._entry(ALSO if n else UPDATE, rows[n : n + 1], values[n])
            case Learn(action, reward, round):
                rows, values = observations(self.dim, action, reward)
                observed = _rounds(round, len(rows))
                for n in range(len(rows)):
                    self._entry(LEARN, rows[n : n + 1], values[n], observed[n])
            case Amend(action, round, old, new):
                row = float_array("action", action, ndim=1).reshape(1, -1)
                (observed,) = _rounds(round, 1)
                self._entry(AMEND, row, number("old", old), observed, number("new", new))
            case Advance(rounds):
                positive("rounds", rounds)
                self._entry(ADVANCE, np.empty((0, self.dim)), rounds)
            case Forget(coordinates):
                self._entry(FORGET, mask_of(coordinates, self.dim).reshape(1, -1))
            case _:
                raise TypeError(f"an event of driftbandits.events is needed, got {event!r}")

    def _entry(
        self, kind: int, rows: Array, value: float = 0.0, round: float = 0.0, new: float = 0.0
    ) -> None:
        if rows.shape[1] != self.dim:
            raise ValueError(f"actions must have length {self.dim}, got shape {rows.shape}")
        self.kinds.append(kind)
        self.counts.append(len(rows))
        self.values.append((float(value), float(round), float(new)))
        self.rows.append(rows)

    def packed(self) -> Packed:
        """The collected entries as arrays."""
        counts = np.array(self.counts, dtype=np.int64)
        return Packed(
            kinds=np.array(self.kinds, dtype=np.int64),
            starts=np.cumsum(counts) - counts,
            counts=counts,
            numbers=np.array(self.values, dtype=np.float64).reshape(-1, NUMBERS),
            rows=np.concatenate([np.empty((0, self.dim)), *self.rows]),
        )


def _rounds(round: Any, count: int) -> Array:
    """``round``, one number or (count,), as the rounds of ``count`` observations, (count,)."""
    rounds = np.atleast_1d(numbers("round", round))
    if rounds.shape not in ((1,), (count,)):
        raise ValueError(f"round must be one number or have shape ({count},), got {round!r}")
    return np.broadcast_to(rounds, (count,))


def mask_of(coordinates: Any, dim: int) -> Array:
    """1 at ``coordinates``, 0 elsewhere, shape (d,)."""
    try:
        indices = np.atleast_1d(np.asarray(coordinates))
    except ValueError:  # rows of different lengths
        raise ValueError(f"coordinates must be integers, got {coordinates!r}") from None
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError(f"coordinates must be integers, got {coordinates!r}")
    wrong = indices[(indices < 0) | (indices >= dim)]
    if wrong.size:
        raise ValueError(f"coordinates must lie from 0 to {dim - 1}, got {wrong[0]}")
    mask = np.zeros(dim)
    mask[indices.astype(np.int64)] = 1.0
    return mask
