"""What every policy is: a frozen configuration, and a state that compiled code changes in place.

The configuration is the fields of a frozen dataclass; the state is a named tuple of arrays, packed
into one array. This module checks, copies, saves and restores both, keeps a second thread out, and
lets the arrays grow.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array, non_negative, plain, positive, whole
from ..core.calls import FULL
from ..core.entry_points import EntryPoints, Kernels, entry_points
from ..core.packing import (
    BUSY,
    CHANGED,
    DRAWN,
    KEY_HIGH,
    claim_entry,
    fields_of,
    pack,
)
from ..core.randomness import stream_state
from ..core.storage import StateFileError, write_state
from ..least_squares.combining import longer
from .restoring import check_counters, check_dim, check_stream, checked_state

# The squares of norms, and sums of them, stay far from overflow and from zero.
SMALLEST_BOUND, LARGEST_BOUND = 1e-50, 1e50

# The name in ``state`` of the floor's stream: its key, and the number of draws made.
FLOOR_STREAM = "floor"


class Alone:
    """Claims an array within a ``with`` block. A generator would take a microsecond longer."""

    __slots__ = ("_packed",)

    def __init__(self, packed: Array) -> None:
        self._packed = packed

    def __enter__(self) -> None:
        claim_entry(self._packed)

    def __exit__(self, *error: object) -> None:
        self._packed[BUSY] = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Stateful(ABC):
    """A configuration and its state; `Policy` adds the behaviour."""

    kernels: ClassVar[Kernels]

    # Position in ``counters`` of the number of detected changes. The state then has an array
    # ``detections`` with their rounds. −1 for a policy that detects no changes.
    detections_counter: ClassVar[int] = -1

    dim: int
    action_bound: float = 1.0
    floor: float = 0.0
    seed: int = 0
    _parameters: tuple[float, ...] = field(init=False, repr=False)
    _packed: Array = field(init=False, repr=False)
    _state: Any = field(init=False, repr=False)
    _calls: EntryPoints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in self.config.items():
            object.__setattr__(self, name, plain(value))
        whole("dim", self.dim, least=1)
        positive("action_bound", self.action_bound)
        if not SMALLEST_BOUND <= self.action_bound <= LARGEST_BOUND:
            raise ValueError(
                f"action_bound must lie between {SMALLEST_BOUND:g} and {LARGEST_BOUND:g}, "
                f"got {self.action_bound!r}"
            )
        non_negative("floor", self.floor)
        if self.floor > 1:
            raise ValueError(f"floor must be at most 1, got {self.floor!r}")
        whole("seed", self.seed, least=0, most=None)
        self._validate()
        # Frozen for users; fields that begin with an underscore are not configuration.
        object.__setattr__(self, "_parameters", tuple(float(p) for p in self._make_parameters()))
        saved = vars(self).pop("_saved", None)
        if saved is not None:
            check_dim(self.dim, saved, self._initial_state_at(1), self._initial_state_at(2))
        state, stream = self._initial_state(), self._floor_stream()
        if saved is not None:
            state, stream = self._checked(saved, state)
        object.__setattr__(self, "_calls", entry_points(self.kernels, fields_of(state)))
        self._adopt(state, stream)
        if saved is not None:
            self.copy()._check_estimates()

    @property
    def _is_loaded(self) -> bool:
        """Whether this is being built from a saved state: a newer rule must not refuse it."""
        return "_saved" in vars(self)

    @abstractmethod
    def _validate(self) -> None:
        """Raise ValueError if a field is out of range."""

    @abstractmethod
    def _make_parameters(self) -> Sequence[float]:
        """The configuration as the kernels' named tuple."""

    @abstractmethod
    def _initial_state(self) -> Any:
        """The kernels' state before any observation."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration: the arguments that would build this policy anew."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def fresh(self, replication: int = 0) -> Self:
        """A policy with the same configuration that has seen nothing, for a replication."""
        twin = self._twin(self._initial_state(), self._floor_stream(replication))
        twin._reseed(replication)
        return twin

    def copy(self) -> Self:
        """An independent policy with the same configuration and state."""
        with self._alone():
            return self._twin(self._state)

    def _twin(self, state: Any, stream: npt.NDArray[np.uint64] | None = None) -> Self:
        """A policy with the same configuration, not checked again, and a copy of ``state``.

        Also with a copy of ``stream`` as the floor's stream, if given.
        """
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._adopt(state, stream)
        return twin

    def _reseed(self, replication: int) -> None:
        """Give a policy that draws at random its own stream in each replication."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write configuration and state to ``path``, whole or not at all.

        A state with entries that are not finite is refused: it could not be loaded, and must not
        replace a file that can.
        """
        write_state(path, *self.content())

    def content(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `save` writes: a header that JSON can hold, and the arrays of the state."""
        kind, state = type(self), self.state()
        for name, array in state.items():
            if not np.isfinite(array).all():
                raise ValueError(f"array {name} has entries that are not finite; nothing is saved")
        return {"policy": kind.__name__, "module": kind.__module__, "config": self.config}, state

    def state(self) -> dict[str, Array]:
        """Copies of the state's arrays by name, to look at or to `restore`.

        Arrays computed from the sums, such as ``theta``, may be out of date, or hold intermediate
        results. The properties are always up to date.
        """
        with self._alone():
            arrays = {name: array.copy() for name, array in self._state._asdict().items()}
            return {**arrays, FLOOR_STREAM: self._floor_state()}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Replace the state by saved arrays, after a check that they can be its state."""
        state, stream = self._checked(arrays, self._initial_state())
        self._twin(state)._check_estimates()
        self._retire()
        self._adopt(state, stream)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> tuple[Any, Any]:
        """``arrays`` as a state that fits the ``initial`` state, and the floor's stream."""
        arrays = dict(arrays)
        if self.floor == 0.0:  # files of 0.1.0 have no floor, and so no stream of draws
            arrays.setdefault(FLOOR_STREAM, self._floor_stream())
        stream = arrays.pop(FLOOR_STREAM, None)
        check_stream(FLOOR_STREAM, stream, self._floor_stream())
        state = checked_state(arrays, initial, growing=self._growing())
        check_counters(state.counters, self._counter_ranges(state))
        return state, stream

    def _check_estimates(self) -> None:
        """Refuse a state whose arrays fit, but whose estimates are not finite."""
        with np.errstate(all="ignore"):
            if not all(np.isfinite(number).all() for number in self._estimates()):
                raise StateFileError("the state gives estimates that are not finite")

    def _estimates(self) -> tuple[Any, ...]:
        """Numbers that decisions depend on; finite in every state that this policy can reach."""
        return ()

    def _initial_state_at(self, dim: int) -> Any:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), dim=dim)
        return twin._initial_state()

    def _growing(self) -> tuple[str, ...]:
        """Arrays of the state that may have more rows than at the start."""
        return ("detections",) if self.detections_counter >= 0 else ()

    def _counter_ranges(self, state: Any) -> dict[int, tuple[int, int]]:
        """Ranges of the counters that compiled code uses as positions without a check."""
        if self.detections_counter < 0:
            return {}
        return {self.detections_counter: (0, len(state.detections))}

    def _floor_stream(self, *names: int) -> npt.NDArray[np.uint64]:
        """The floor's stream at its beginning: its key, and 0 draws."""
        key = stream_state(self.seed, "floor", type(self).__name__, *names)
        return np.append(key, np.zeros(1, dtype=np.uint64))

    def _floor_state(self) -> npt.NDArray[np.uint64]:
        """The floor's stream now: its key, and the number of draws made so far."""
        high, low, drawn = (int(number) for number in self._packed[KEY_HIGH : DRAWN + 1])
        return np.array([high << 32 | low, drawn], dtype=np.uint64)

    def _adopt(
        self, state: Any, stream: npt.NDArray[np.uint64] | None = None, *, claimed: bool = False
    ) -> None:
        """Continue from a copy of ``state``, and of ``stream`` as the floor's stream, if given.

        ``claimed``: the new arrays are claimed for a call that goes on with them.
        """
        if stream is None:
            draws = self._packed[KEY_HIGH : DRAWN + 1]
        else:
            key, drawn = (int(number) for number in stream)
            draws = np.array([key >> 32, key & 0xFFFF_FFFF, drawn], dtype=np.float64)
        first = [self.action_bound, self.dim, CHANGED, float(claimed), self.floor]
        packed, copied = pack([*first, *draws, *self._parameters], state)
        # In this order: a thread that claims the new array then also finds its views.
        object.__setattr__(self, "_state", copied)
        object.__setattr__(self, "_packed", packed)

    def _retire(self) -> None:
        """Claim the arrays for good before new ones replace them: no thread may still use them."""
        claim_entry(self._packed)

    def _alone(self) -> Alone:
        """Keep other threads from changing the arrays while they are read or copied.

        All code that reads more than one number uses this. If two threads meet, the later call is
        refused, as in compiled code.
        """
        return Alone(self._packed)

    def _prepare(self) -> None:
        """Recompute the factor, θ̂ and β for a property, if the sums have changed; within `_alone`.

        Reading a property changes no decision: the next one is the same to the last bit.
        """
        self._calls.prepare(self._packed)

    def _grown(self, state: Any, rounds: float) -> Any:
        """``state`` with room for one more observation, and for what ``rounds`` rounds may add.

        Called if the kernel ``fits`` returns False.
        """
        if self.detections_counter < 0:
            raise NotImplementedError(f"{type(self).__name__} has arrays that grow, but no _grown")
        return state._replace(detections=longer(state.detections, 2 * len(state.detections) + 2))

    def _make_room(self, rounds: float, *, claimed: bool = False) -> None:
        """Let the arrays grow; ``claimed`` if a call has begun and will go on with them."""
        packed = self._packed
        if not claimed:
            self._retire()
        try:
            self._adopt(self._grown(self._state, rounds), claimed=claimed)
        except BaseException:
            packed[BUSY] = 0.0  # no room: the policy stays as it is
            raise

    def _again(self, call: Callable[..., int], rounds: float, *arguments: Any) -> int:
        """Let the arrays grow, and repeat a compiled call that found no room."""
        self._make_room(rounds)
        done = call(self._packed, *arguments)
        if done == FULL:
            raise RuntimeError(f"_grown of {type(self).__name__} made no room for an observation")
        return done

    def _in_parts(
        self, call: Callable[..., int], arguments: tuple[Any, ...], total: int, growth: Array
    ) -> int:
        """Run a compiled call to its end; whenever it stops for lack of room, let the arrays grow.

        ``growth`` (2,) has the rounds to make room for: at the first stop if nothing is done yet,
        and later.
        """
        done, last = call(self._packed, *arguments, 0), -1
        try:
            while 0 <= done < total:
                if done == last:
                    raise RuntimeError(f"_grown of {type(self).__name__} made no room")
                self._make_room(growth[min(done, 1)], claimed=done > 0)
                last, done = done, call(self._packed, *arguments, done)
        except BaseException:
            if done > 0:  # the call has begun, so it holds the claim
                self._packed[BUSY] = 0.0
            raise
        return done
