"""What every policy is: a frozen configuration, a state that moves, and compiled kernels.

A policy is a frozen dataclass. Its fields are the configuration; the state is a named tuple of
arrays that the kernels change in place.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from ..core.arrays import Array, float_array, numbers, positive, whole
from ..core.blocks import Block, BlockError
from ..core.entry_points import (
    LARGEST_REWARD,
    NORM_SLACK,
    EntryPoints,
    Kernels,
    entry_points,
    never_misses,
)
from ..core.packing import BUSY, STALE, claim_entry, fields_of, pack
from ..core.storage import StateFileError, write_state
from ..least_squares.forgetting import CLOCK
from .problem import Problem

_FLOAT = np.dtype(np.float64)
_ON_TIME = np.zeros(1)
_NOTHING = np.zeros(0)

# The squares of norms, and sums of them, stay far from overflow.
LARGEST_BOUND = 1e50


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(ABC):
    """A decision rule that learns: ``select`` an action, ``update`` with its reward.

    One thread at a time: a call while another thread's runs raises RuntimeError, and changes
    nothing. Hold a lock around the calls, or give each thread a `copy`.

    Time is a clock of rounds. ``update`` without a round closes the open one, with the reward or
    the batch of rewards that it brought; ``advance`` closes rounds whose rewards are still to
    come, and ``update(..., round=t)`` brings those in later without moving the clock.

    Attributes:
        dim: Length d of an action vector.
        action_bound: Bound L on the norm of actions; longer ones are refused.
    """

    label: ClassVar[str]
    summary: ClassVar[str]
    kernels: ClassVar[Kernels]

    dim: int
    action_bound: float = 1.0
    _parameters: tuple[float, ...] = field(init=False, repr=False)
    _packed: Array = field(init=False, repr=False)
    _state: Any = field(init=False, repr=False)
    _calls: EntryPoints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole("dim", self.dim, least=1)
        positive("action_bound", self.action_bound)
        if self.action_bound > LARGEST_BOUND:
            raise ValueError(
                f"action_bound must be at most {LARGEST_BOUND:g}, got {self.action_bound!r}"
            )
        self._validate()
        # Frozen for its users; what begins with an underscore is not configuration.
        object.__setattr__(self, "_parameters", tuple(float(p) for p in self._make_parameters()))
        saved = vars(self).pop("_saved", None)
        if saved is not None:
            self._check_dim(saved)
        state = self._initial_state()
        if saved is not None:
            state = self._checked(saved, state)
        object.__setattr__(self, "_calls", entry_points(self.kernels, fields_of(state)))
        self._adopt(state)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are built anew: as they are, the views would lose what they view."""
        return rebuilt, (type(self), self.config, self.state())

    @classmethod
    @abstractmethod
    def tuned(cls, problem: Problem) -> Self:
        """The policy at its documented tuning for a problem."""

    @abstractmethod
    def _validate(self) -> None:
        """Raise ValueError where a field is out of range."""

    @abstractmethod
    def _make_parameters(self) -> Sequence[float]:
        """The configuration as the kernels' named tuple."""

    @abstractmethod
    def _initial_state(self) -> Any:
        """The kernels' state, having seen nothing."""

    def _adopt(self, state: Any) -> None:
        """Go on from a copy of ``state``."""
        packed, copied = pack([self.action_bound, self.dim, 1.0, 0.0, *self._parameters], state)
        object.__setattr__(self, "_packed", packed)
        object.__setattr__(self, "_state", copied)

    def _retire(self) -> None:
        """Claim arrays for good, before others take their place: no thread may still use them."""
        claim_entry(self._packed)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads from changing the arrays."""
        packed = self._packed
        claim_entry(packed)
        try:
            yield
        finally:
            packed[BUSY] = 0.0

    def _prepare(self) -> None:
        """Bring what the state holds besides the sums up to date with them."""
        if self._packed[STALE]:
            self._calls.prepare(self._packed)

    def _make_room(self, more: int) -> None:
        """Grow what has to grow before ``more`` further observations."""

    def _held(self, rounds: int) -> int:
        """How many observations of ``rounds`` rounds, one each, have to be held at once."""
        return rounds

    def _reseed(self, replication: int) -> None:
        """Give a policy that draws at random a stream of its own in each replication."""

    @property
    def round(self) -> int | float:
        """The round that is open, counted from 1; a fraction where time was moved by fractions."""
        opened = float(self._state.counters[CLOCK]) + 1.0
        return int(opened) if opened.is_integer() else opened

    @property
    def config(self) -> dict[str, Any]:
        """The configuration: the arguments that would build this policy anew."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    @property
    def checks_coverage(self) -> bool:
        """Whether `play` can tell if the parameter lies in a confidence set."""
        return self.kernels.misses is not never_misses

    def select(self, actions: Any) -> int:
        """Index of the action to play, from ``actions`` (K, d)."""
        rows = actions if _ready(actions, 2) else float_array("actions", actions, ndim=2)
        chosen = self._calls.select(self._packed, rows)
        if chosen < 0:
            self._refuse(rows)
        return chosen

    def update(
        self,
        actions: Any,
        rewards: Any,
        *,
        round: int | float | Sequence[float] | Array | None = None,
    ) -> None:
        """Learn from an action (d,) and its reward, or a batch (n, d) and (n,).

        Without ``round`` they belong to the open round, which closes: one round, however large
        the batch. With ``round``, one or (n,), they belong to earlier rounds (or the open one),
        count exactly as if they had come on time, and the clock stands still.
        """
        if round is None and isinstance(rewards, float) and _ready(actions, 1):
            # What nearly every call is, without a detour.
            before = self._packed, self._state
            self._make_room(1)
            if self._calls.learn_one(self._packed, actions, rewards):
                return
            self._go_back(before)
        rows, values = self._observations(actions, rewards)
        done = (
            self._learned(rows, values, _ON_TIME, 1.0)
            if round is None
            else self._learned(rows, values, self._ages(round, len(rows)), 0.0)
        )
        if not done:
            self._refuse(rows, values)

    def advance(self, *, rounds: float = 1) -> None:
        """Close rounds without their rewards; a fraction moves the clock by that much."""
        positive("rounds", rounds)
        self._calls.advance(self._packed, float(rounds))

    def play(self, block: Block, *, regret: Array, missing: Array = _NOTHING) -> None:
        """Play a block of n rounds in compiled code.

        ``regret`` (n,) gets the regret summed up from the first round of the block, and
        ``missing`` (n,), where it is given, a 1 where the confidence set that a round starts from
        does not hold its parameter.
        """
        self._check_fit(block, regret, missing)
        before = self._packed, self._state
        self._make_room(self._held(block.rounds))
        _, actions, parameters, means, best, noise, _ = block
        arrays = (actions, parameters, means, best, noise, regret, missing)
        if not self._calls.play(self._packed, *arrays):
            self._go_back(before)
            shapes = [array.shape for array in arrays]
            raise ValueError(f"the arrays of a block must fit each other, got shapes {shapes}")

    def _check_fit(self, block: Block, regret: Array, missing: Array) -> None:
        """Refuse actions that the policy is not for, and nowhere to write to."""
        if block.actions.shape[1] != self.dim:
            raise BlockError(
                f"{self.label} has dim = {self.dim}, "
                f"the environment actions of length {block.actions.shape[1]}"
            )
        if not block.longest <= self.action_bound * (1.0 + NORM_SLACK):
            raise BlockError(
                f"{self.label} has action_bound = {self.action_bound}, "
                f"the environment an action of norm {block.longest:.9g}"
            )
        if missing.size > 0 and not self.checks_coverage:
            raise ValueError(f"{self.label} has no confidence set to check")
        if regret.shape != (block.rounds,) or missing.shape not in ((0,), (block.rounds,)):
            raise ValueError(
                f"regret and missing must have shape ({block.rounds},), "
                f"got {regret.shape} and {missing.shape}"
            )

    def fresh(self, replication: int = 0) -> Self:
        """A policy of the same configuration that has seen nothing, for a replication."""
        twin = self._twin(self._initial_state())
        twin._reseed(replication)
        return twin

    def copy(self) -> Self:
        """An independent policy with the same configuration and state."""
        with self._alone():
            return self._twin(self._state)

    def _twin(self, state: Any) -> Self:
        """A policy of the same configuration, which has been checked, with a copy of ``state``."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._adopt(state)
        return twin

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write configuration and state to ``path``, whole or not at all.

        A state with entries that are not finite could not be loaded, and is not written over one
        that can be.
        """
        kind, state = type(self), self.state()
        header = {"policy": kind.__name__, "module": kind.__module__, "config": self.config}
        for name, array in state.items():
            if not np.isfinite(array).all():
                raise ValueError(f"array {name} has entries that are not finite; nothing is saved")
        write_state(path, header, state)

    def state(self) -> dict[str, Array]:
        """The state, by the names of its arrays; copies, to look at or to `restore`.

        What is computed from the sums, such as ``theta``, is that of the last decision, or room for
        something else: properties bring it up to date.
        """
        with self._alone():
            return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over saved arrays, after a check that they can be this policy's state."""
        state = self._checked(arrays, self._initial_state())
        self._retire()
        self._adopt(state)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> Any:
        """``arrays`` as a state, if it can have come from the ``initial`` one."""
        if arrays.keys() != set(initial._fields):
            raise StateFileError(
                f"the state has arrays {sorted(arrays)}, not {sorted(initial._fields)}"
            )
        for name, expected in initial._asdict().items():
            self._check_restored(name, arrays[name], expected)
        state = initial._replace(**arrays)
        for position, (least, most) in self._counter_ranges(state).items():
            value = state.counters[position]
            if not (least <= value <= most and value.is_integer()):
                raise StateFileError(
                    f"array counters has {value} at {position}, "
                    f"not an integer from {least} to {most}"
                )
        return state

    def _check_dim(self, arrays: dict[str, Any]) -> None:
        """Refuse a forged ``dim`` before a state of that size takes all memory.

        An axis that differs between the states of dim 1 and 2 grows with dim. In ``arrays`` it
        must have grown as well.
        """
        small, large = (self._initial_state_at(dim)._asdict() for dim in (1, 2))
        for name in small.keys() & arrays.keys():
            lengths = zip(small[name].shape, large[name].shape, arrays[name].shape, strict=False)
            if any(one != two and 4 * saved < self.dim for one, two, saved in lengths):
                raise StateFileError(
                    f"array {name} of shape {arrays[name].shape} is not of dim = {self.dim}"
                )

    def _initial_state_at(self, dim: int) -> Any:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), dim=dim)
        return twin._initial_state()

    def _check_restored(self, name: str, saved: Any, expected: Any) -> None:
        grown = (
            name in self._growing()
            and saved.shape[1:] == expected.shape[1:]
            and len(saved) >= len(expected)
        )
        if saved.dtype != expected.dtype or not (saved.shape == expected.shape or grown):
            raise StateFileError(
                f"array {name} is {saved.dtype}{saved.shape}, not {expected.dtype}{expected.shape}"
            )
        if not np.isfinite(saved).all():
            raise StateFileError(f"array {name} has entries that are not finite")

    def _growing(self) -> tuple[str, ...]:
        """Arrays of the state that may have more rows than at the start."""
        return ()

    def _counter_ranges(self, state: Any) -> dict[int, tuple[int, int]]:
        """Ranges of the counters that compiled code takes for positions, and does not check."""
        return {}

    def _scores(self, actions: Any) -> Array:
        """What the kernels write down for every action of ``actions`` (K, d), shape (K,)."""
        rows = actions if _ready(actions, 2) else float_array("actions", actions, ndim=2)
        scores = np.empty(len(rows))
        if self._calls.score(self._packed, rows, scores) < 0:
            self._refuse(rows)
        return scores

    def _learned(self, rows: Array, rewards: Array, ages: Array, rounds: float) -> bool:
        """Whether observations were learned; where they are refused nothing changes."""
        before = self._packed, self._state
        self._make_room(len(rows))
        if self._calls.learn_many(self._packed, rows, rewards, ages, rounds):
            return True
        self._go_back(before)
        return False

    def _go_back(self, before: tuple[Array, Any]) -> None:
        """Undo the growth of a state that had nothing to grow for."""
        if before[0] is not self._packed:
            before[0][BUSY] = 0.0
        object.__setattr__(self, "_packed", before[0])
        object.__setattr__(self, "_state", before[1])

    def _observations(self, actions: Any, rewards: Any) -> tuple[Array, Array]:
        """Actions as (n, d) and rewards as (n,), their values still to be checked."""
        if isinstance(rewards, float) and _ready(actions, 1) and actions.size == self.dim:
            return actions.reshape(1, -1), np.array([rewards])
        rows, values = numbers("actions", actions), numbers("rewards", rewards)
        shape = rows.shape
        if rows.ndim == 1:
            rows = rows.reshape(1, -1)
        if rows.ndim != 2 or rows.shape[1] != self.dim or len(rows) == 0:
            raise ValueError(
                f"actions must have shape ({self.dim},) or (n, {self.dim}) with n of at least 1, "
                f"got {shape}"
            )
        if values.shape != shape[:-1]:
            raise ValueError(f"rewards must have shape {shape[:-1]}, got {values.shape}")
        return rows, values.reshape(-1)

    def _ages(self, round: Any, count: int) -> Array:
        clock = float(self._state.counters[CLOCK])
        if type(round) in (int, float) and 1 <= round <= clock + 1.0:
            return np.array([clock - round])
        rounds = np.atleast_1d(numbers("round", round))
        if rounds.shape not in ((1,), (count,)):
            raise ValueError(f"round must be one number or have shape ({count},), got {round!r}")
        wrong = ~((rounds >= 1) & (rounds <= self.round))
        if wrong.any():
            raise ValueError(
                f"round must lie between 1 and the open round {self.round}, "
                f"got {rounds[wrong][0]:g}"
            )
        return np.asarray(clock - rounds)

    def _refuse(self, rows: Array, rewards: Array = _ON_TIME) -> None:
        """Raise what is wrong with actions, and rewards if given, that compiled code refused."""
        self._rows(rows)
        # The last digit of a norm is not the same in both; what compiled code refused is refused.
        self._check_norms(rows, slack=0.5 * NORM_SLACK)
        values = float_array("rewards", rewards, ndim=1)
        largest = values[np.argmax(np.abs(values))]
        if abs(largest) > LARGEST_REWARD:
            raise ValueError(
                f"rewards must be at most {LARGEST_REWARD:g} in size, got {largest:g}; "
                "use other units"
            )

    def _rows(self, actions: Any, *, none: bool = False) -> Array:
        """``actions`` as an array (K, d) of finite numbers; ``none`` allows for K = 0."""
        rows = float_array("actions", actions, ndim=2)
        if rows.shape[1] != self.dim or (len(rows) == 0 and not none):
            least = "" if none else " with K of at least 1"
            raise ValueError(f"actions must have shape (K, {self.dim}){least}, got {rows.shape}")
        return rows

    def _check_norms(self, rows: Array, *, slack: float = NORM_SLACK) -> None:
        """Refuse actions (K, d) that are longer than the bound."""
        norms = np.linalg.norm(rows, axis=1)
        longest = int(np.argmax(norms))
        if norms[longest] > self.action_bound * (1.0 + slack):
            raise ValueError(
                f"actions must have norms of at most action_bound = {self.action_bound}, "
                f"got {norms[longest]:.9g} in row {longest}"
            )


def _ready(array: Any, ndim: int) -> bool:
    """Whether compiled code can take an array as it is: in one piece, aligned and writeable."""
    return (
        type(array) is np.ndarray
        and array.dtype is _FLOAT
        and array.ndim == ndim
        and array.flags.carray
    )


def rebuilt(kind: type[Policy], config: dict[str, Any], state: dict[str, Array]) -> Policy:
    """The policy of a saved configuration and state."""
    policy = kind.__new__(kind)
    # `__post_init__` compares the state with the configuration before it reserves memory.
    vars(policy)["_saved"] = state
    policy.__init__(**config)  # type: ignore[misc]
    return policy
