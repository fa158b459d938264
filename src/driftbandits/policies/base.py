"""What every policy is: a frozen configuration, a state that moves, and compiled kernels.

A policy is a frozen dataclass. Its fields are the configuration; the state is a named tuple of
arrays that the kernels change in place.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ..core.arrays import (
    Array,
    float_array,
    non_negative,
    numbers,
    plain,
    positive,
    whole,
)
from ..core.blocks import Block, Waiting
from ..core.calls import FULL, REFUSED, STUCK
from ..core.clock import CLOCK, check_closing, has_begun, open_round, rounds_of
from ..core.entry_points import (
    EntryPoints,
    Kernels,
    cannot_amend,
    cannot_forget,
    entry_points,
    never_misses,
)
from ..core.events import Decision, Event, Outcomes, Packed, mask_of
from ..core.packing import (
    BUSY,
    CHANGED,
    DRAWN,
    KEY_HIGH,
    LOOKED_AT,
    STALE,
    claim_entry,
    fields_of,
    pack,
)
from ..core.randomness import stream_state
from ..core.storage import StateFileError, write_state
from ..least_squares.combining import longer
from . import replay as replaying
from .inputs import (
    check_block,
    check_records,
    check_rewards,
    observations,
    ready,
    refuse,
    waiting_rows,
)
from .problem import Problem
from .restoring import check_counters, check_dim, check_stream, checked_state

_ON_TIME = np.zeros(1)
_NOTHING = np.zeros(0)
_NO_STEPS, _NO_ROWS = np.zeros(0, dtype=np.int64), np.zeros((0, 0))

# What a policy may offer beside choosing and learning.
Operation = Literal["scores", "amend", "forget", "widened", "merged"]

# The squares of norms, and sums of them, stay far from overflow and from nothing.
SMALLEST_BOUND, LARGEST_BOUND = 1e-50, 1e50

# The name that ``state`` gives to the floor's stream: its key, and how many draws were made.
FLOOR_STREAM = "floor"


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(ABC):
    """A decision rule that learns: ``decide`` which action to play, ``update`` with its reward.

    Time is a clock of rounds. ``decide`` chooses and closes the open round; its reward comes later,
    with ``update(..., round=t)``, and counts exactly as if it had come on time. ``select`` chooses
    and leaves the round open; ``update`` without a round then brings the reward, or a batch of
    rewards, and closes it. ``advance`` closes rounds and does nothing else.

    One thread at a time: a call while another thread's runs raises RuntimeError, and changes
    nothing. Hold a lock around the calls, or give each thread a `copy`.

    Attributes:
        dim: Length d of an action vector.
        action_bound: Bound L on the norm of actions; longer ones are refused.
        floor: Probability ε with which the action is drawn from all on offer, each with the same
            chance, instead of chosen by the rule. Every action then has a propensity of at least
            ε/K, which is what off-policy evaluation needs. Each choice draws anew.
        seed: Names the streams of whatever the policy draws at random.
    """

    label: ClassVar[str]
    summary: ClassVar[str]
    kernels: ClassVar[Kernels]

    # What a reward that comes late does differently from one on time. Empty: nothing, to rounding.
    late_rewards: ClassVar[str] = ""
    # Where ``counters`` counts detected changes, for a state with an array ``detections`` of their
    # rounds; −1 for a policy that detects none.
    detections_counter: ClassVar[int] = -1
    # Why an operation is refused, by its name.
    refusals: ClassVar[Mapping[str, str]] = {}

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
        # Frozen for its users; what begins with an underscore is not configuration.
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
        """Whether it is being built from a saved state, which must not be lost to a new rule."""
        return "_saved" in vars(self)

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

    def _adopt(
        self, state: Any, stream: npt.NDArray[np.uint64] | None = None, *, claimed: bool = False
    ) -> None:
        """Go on from a copy of ``state``, and of the floor's ``stream`` if another is given.

        ``claimed`` arrays belong to a call that goes on with them.
        """
        if stream is None:
            draws = self._packed[KEY_HIGH : DRAWN + 1]
        else:
            key, drawn = (int(number) for number in stream)
            draws = np.array([key >> 32, key & 0xFFFF_FFFF, drawn], dtype=np.float64)
        first = [self.action_bound, self.dim, CHANGED, float(claimed), self.floor]
        packed, copied = pack([*first, *draws, *self._parameters], state)
        # In this order: who has claimed the array then finds the views of it.
        object.__setattr__(self, "_state", copied)
        object.__setattr__(self, "_packed", packed)

    def _floor_stream(self, *names: int) -> npt.NDArray[np.uint64]:
        """Key of the floor's stream and the draws made from it, at its beginning."""
        key = stream_state(self.seed, "floor", type(self).__name__, *names)
        return np.append(key, np.zeros(1, dtype=np.uint64))

    def _retire(self) -> None:
        """Claim arrays for good, before others take their place: no thread may still use them."""
        claim_entry(self._packed)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads from changing the arrays, while they are read or copied.

        Everything that reads more than one number does. A call of another thread, before or after,
        is refused as by compiled code.
        """
        packed = self._packed
        claim_entry(packed)
        try:
            yield
        finally:
            packed[BUSY] = 0.0

    def _prepare(self) -> None:
        """Recompute the factor, θ̂ and β for a property, if the sums have changed; within `_alone`.

        Reading a property leaves no trace: the next decision is the same, to the last bit.
        """
        if self._packed[STALE] == CHANGED:
            self._calls.prepare(self._packed)
            self._packed[STALE] = LOOKED_AT

    def _grown(self, state: Any, rounds: float) -> Any:
        """``state`` with room for an observation more, and for what ``rounds`` rounds may add.

        Called where the kernel ``fits`` says that there is none.
        """
        if self.detections_counter < 0:
            raise NotImplementedError(f"{type(self).__name__} has arrays that grow, but no _grown")
        return state._replace(detections=longer(state.detections, 2 * len(state.detections) + 2))

    def _make_room(self, rounds: float, *, claimed: bool = False) -> None:
        """Let the arrays grow; ``claimed`` where a call has begun, which goes on with them."""
        packed = self._packed
        if not claimed:
            self._retire()
        try:
            self._adopt(self._grown(self._state, rounds), claimed=claimed)
        except BaseException:
            packed[BUSY] = 0.0  # no room: the policy stays what it is
            raise

    def _again(self, call: Callable[..., int], rounds: float, *arguments: Any) -> int:
        """A compiled call that found no room, after the arrays have grown."""
        self._make_room(rounds)
        done = call(self._packed, *arguments)
        if done == FULL:
            raise RuntimeError(f"_grown of {type(self).__name__} made no room for an observation")
        return done

    def _in_parts(
        self, call: Callable[..., int], arguments: tuple[Any, ...], total: int, growth: Array
    ) -> int:
        """A compiled call that goes on where it stopped once arrays have grown, until all is done.

        ``growth`` (2,) has the rounds to make room for: before anything is done, and later.
        """
        done, last = call(self._packed, *arguments, 0), -1
        try:
            while 0 <= done < total:
                if done == last:
                    raise RuntimeError(f"_grown of {type(self).__name__} made no room")
                self._make_room(growth[min(done, 1)], claimed=done > 0)
                last, done = done, call(self._packed, *arguments, done)
        except BaseException:
            if done > 0:  # begun, and so claimed
                self._packed[BUSY] = 0.0
            raise
        return done

    def _reseed(self, replication: int) -> None:
        """Give a policy that draws at random a stream of its own in each replication."""

    @property
    def round(self) -> int | float:
        """The round that is open, counted from 1; a fraction where time was moved by fractions."""
        return open_round(self._state.counters[CLOCK])

    @property
    def detections(self) -> tuple[int, ...]:
        """Rounds after which a change was declared; none for policies that look for none."""
        if self.detections_counter < 0:
            return ()
        with self._alone():
            count = int(self._state.counters[self.detections_counter])
            return tuple(int(t) for t in self._state.detections[:count])

    @property
    def config(self) -> dict[str, Any]:
        """The configuration: the arguments that would build this policy anew."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    @property
    def checks_coverage(self) -> bool:
        """Whether `play` can tell if the parameter lies in a confidence set."""
        return self.kernels.misses is not never_misses

    def select(self, actions: Any) -> int:
        """Index of the action to play, from ``actions`` (K, d). The round stays open."""
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        chosen = self._calls.select(self._packed, rows)
        if chosen < 0:
            refuse(self.dim, self.action_bound, rows)
        return chosen

    def decide(self, actions: Any, *, rounds: float = 1) -> Decision:
        """Choose from ``actions`` (K, d), close the round, and return what was decided.

        The same as ``select`` and then ``advance``. The reward is handed in when it is known:
        ``update(action, reward, round=decision.round)``. ``rounds`` says how far the clock moves:
        0 leaves the round open, for a clock that follows the hours and not the decisions.

        The propensities are those of `propensities`, asked for before the decision.
        """
        if not (type(rounds) is int and rounds == 1):
            non_negative("rounds", rounds)
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        scores, chances, clock = np.empty(len(rows)), np.empty(len(rows)), np.empty(1)
        arguments = rows, float(rounds), scores, chances, clock
        chosen = self._calls.decide(self._packed, *arguments)
        if chosen == FULL:
            chosen = self._again(self._calls.decide, float(rounds), *arguments)
        if chosen == STUCK:
            check_closing(clock[0], float(rounds))
        if chosen < 0:
            refuse(self.dim, self.action_bound, rows)
        return Decision(chosen, open_round(clock[0]), float(chances[chosen]), scores, chances)

    def propensities(self, actions: Any) -> Array:
        """Probability that ``decide`` would play each action of ``actions`` (K, d), shape (K,).

        Where nothing is random, 1 for one action and 0 for the others; with a floor ε it is
        (1 − ε) p + ε/K, so never less than ε/K. Where a rule draws and has no closed form, it is
        NaN; with a floor, the propensity given the rule's next draw, which is exact and valid:
        weights 1/p average to the same given each draw. Asking changes no decision.
        """
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        chances = np.empty(len(rows))
        arguments = rows, 0.0, np.empty(len(rows)), chances, np.empty(1)
        with self._alone():
            packed = self._packed.copy()  # asking draws nothing, and changes nothing
        packed[BUSY] = 0.0
        chosen = self._calls.decide(packed, *arguments)
        if chosen == FULL:
            chosen = self.copy()._again(self._calls.decide, 0.0, *arguments)
        if chosen < 0:
            refuse(self.dim, self.action_bound, rows)
        return chances

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
        if isinstance(rewards, float) and ready(actions, 1):
            # What nearly every call is, without a detour.
            if round is None:
                done = self._calls.learn_one(self._packed, actions, rewards, 1.0, 0.0)
                if done == FULL:
                    done = self._again(self._calls.learn_one, 1.0, actions, rewards, 1.0, 0.0)
            else:
                done = self._learn_late(actions, rewards, round)
            if done > 0:
                return
        rows, values = observations(self.dim, actions, rewards)
        if round is None:
            self._learn(rows, values, _ON_TIME, 1.0)
        else:
            clock = float(self._state.counters[CLOCK])
            self._learn(rows, values, rounds_of(clock, round, len(rows)), 0.0)

    def _learn_late(self, action: Array, reward: float, round: Any) -> int:
        """Learn a single reward of a round that has begun, or refuse with nothing changed."""
        if not has_begun(float(self._state.counters[CLOCK]), round):
            return REFUSED
        arguments = action, reward, 0.0, float(round)
        done = self._calls.learn_one(self._packed, *arguments)
        return self._again(self._calls.learn_one, 0.0, *arguments) if done == FULL else done

    def amend(self, action: Any, *, round: int | float, old: float, new: float) -> None:
        """Replace the reward ``old`` of an ``action`` (d,), learned earlier, by ``new``.

        Afterwards the sums are what ``new`` would have given: b changes, V does not. For a reward
        that was assumed, such as no click yet, and is known now. ``round`` is the one that it was
        learned for.
        """
        self._check_offered("amend")
        row = action if ready(action, 1) else float_array("action", action, ndim=1)
        before = old if type(old) is float else float(numbers("old", old))
        after = new if type(new) is float else float(numbers("new", new))
        clock = float(self._state.counters[CLOCK])
        observed = float(round if has_begun(clock, round) else rounds_of(clock, round, 1)[0])
        done = self._calls.amend(self._packed, row, before, after, observed)
        if done < 0:
            refuse(self.dim, self.action_bound, row.reshape(1, -1))
            check_rewards(np.array([before]), "old")
            check_rewards(np.array([after]), "new")
        if done == 0:
            raise ValueError(
                f"round {round} must have an observation of this action with the reward {old}"
            )

    def advance(self, *, rounds: float = 1) -> None:
        """Close rounds without their rewards; a fraction moves the clock by that much."""
        positive("rounds", rounds)
        done = self._calls.advance(self._packed, float(rounds))
        if done == FULL:
            done = self._again(self._calls.advance, float(rounds), float(rounds))
        if done == STUCK:
            check_closing(self._state.counters[CLOCK], float(rounds))

    def forget(self, coordinates: Any) -> None:
        """Clear what is known along ``coordinates``: as if all actions had had zeros there.

        Their rows and columns of V and Ṽ and their entries of b become zero, and the ridge stays.
        A slot of the action vector can then stand for something new. A reward of an earlier round
        that comes in later, for an action that is not zero there, counts as it is.
        """
        self._check_offered("forget")
        self._calls.forget(self._packed, mask_of(coordinates, self.dim))

    def widened(self, *, dim: int) -> Self:
        """A policy for actions of length ``dim``, with the same knowledge of the first d.

        Equal to one that had all coordinates from the start and saw zeros in the new ones, unless
        its class says otherwise. This policy stays as it is.
        """
        self._check_offered("widened")
        whole("dim", dim, least=self.dim)
        wider = type(self)(**self._widened_config(dim))
        with self._alone():
            wider._adopt(self._widened_state(wider), self._floor_state())
        return wider

    def merged(self, other: Policy) -> Self:
        """A policy that knows what this one and ``other`` know together.

        Both count the same rounds: round t of one is round t of the other. Where one clock is
        behind, its policy is moved on first. Both must be of one class and one configuration; the
        seed may differ, and that of this policy stays.
        """
        self._check_offered("merged")
        if type(other) is not type(self):
            raise TypeError(
                f"other must be of the same class {type(self).__name__}, got {type(other).__name__}"
            )
        mine, theirs = ({**policy.config, "seed": None} for policy in (self, other))
        differing = [name for name, value in mine.items() if theirs[name] != value]
        if differing:
            shown = [f"{name} = {mine[name]!r} and {theirs[name]!r}" for name in differing]
            raise ValueError(f"both policies must have one configuration, got {', '.join(shown)}")
        one, two = self.copy(), other.copy()
        behind, clock = sorted((one, two), key=lambda policy: policy._state.counters[CLOCK])
        clock, gap = clock._state.counters[CLOCK], clock.round - behind.round
        if gap > 0:
            behind.advance(rounds=gap)
            behind._state.counters[CLOCK] = clock  # to the last bit
        one._adopt(one._merged_state(two))
        return one

    def apply(self, event: Event) -> Decision | int | None:
        """Make the call that ``event`` stands for, and return what it returns.

        The one way in which a recorded event reaches a policy: see `driftbandits.events`.
        """
        return replaying.apply(self, event)

    def replay(self, events: Iterable[Event] | Packed) -> Outcomes:
        """Apply many events in compiled code; the state gets the same bits as by the calls.

        ``events`` is a sequence of events or their packed form. All are checked first: where one
        cannot be, nothing changes. Returns choices and propensities, one entry per event.
        """
        return replaying.replay(self, events)

    def _widened_config(self, dim: int) -> dict[str, Any]:
        """The configuration of the wider policy."""
        return {**self.config, "dim": dim}

    def _widened_state(self, wider: Self) -> Any:
        """The state of ``wider``: this one's, with zeros along the new coordinates."""
        raise NotImplementedError

    def _merged_state(self, other: Self) -> Any:
        """The state that knows what both do; the clocks agree."""
        raise NotImplementedError

    def refusal(self, operation: Operation) -> str:
        """Why this policy refuses ``operation``; empty where it offers it.

        A class offers an operation by its kernel or method, and takes it back in ``refusals``.
        """
        if operation in self.refusals:
            return self.refusals[operation]
        return "" if self._offers(operation) else "its class does not offer it"

    def _offers(self, operation: Operation) -> bool:
        if operation == "amend":
            return self.kernels.amend is not cannot_amend
        if operation == "forget":
            return self.kernels.forget is not cannot_forget
        if operation == "widened":
            return type(self)._widened_state is not Policy._widened_state
        if operation == "merged":
            return type(self)._merged_state is not Policy._merged_state
        return True

    def _check_offered(self, operation: Operation) -> None:
        """Refuse an operation with the reason why it is not offered."""
        if reason := self.refusal(operation):
            raise TypeError(f"{operation} is not possible with {self.label}: {reason}")

    def play(
        self,
        block: Block,
        *,
        regret: Array,
        missing: Array = _NOTHING,
        waiting: Waiting | None = None,
    ) -> None:
        """Play a block of n rounds in compiled code.

        ``regret`` (n,) gets the regret summed up from the first round of the block, and
        ``missing`` (n,), where it is given, a 1 where the confidence set that a round starts from
        does not hold its parameter. Where rewards come late, ``waiting`` keeps them, from block to
        block.
        """
        check_block(self.label, self.dim, self.action_bound, block)
        if missing.size > 0 and not self.checks_coverage:
            raise ValueError(f"{self.label} has no confidence set to check")
        check_records(block.rounds, regret, missing)
        check_closing(self._state.counters[CLOCK], float(block.rounds))
        _, actions, parameters, means, best, noise, _, arrivals = block
        arrays: tuple[Any, ...] = (actions, parameters, means, best, noise, regret, missing)
        if arrivals is None:
            arrays += (_NO_STEPS, _NO_STEPS, _NO_ROWS)
            call, steps = self._calls.play, block.rounds
        else:
            arrays += (arrivals.kept, arrivals.steps, waiting_rows(self.dim, block, waiting))
            call, steps = self._calls.play_late, len(arrivals.steps)
        if self._in_parts(call, arrays, steps, np.ones(2)) < 0:
            shapes = [array.shape for array in arrays]
            raise ValueError(f"the arrays of a block must fit each other, got shapes {shapes}")

    @property
    def provisional_rewards(self) -> bool:
        """Whether rewards are provisional until `amend` settles them, with old = new."""
        return False

    def with_provisional_rewards(self, provisional: bool) -> Self:
        """This policy with rewards that are, or are not, provisional when they are learned.

        It matters to policies that judge by rewards beside learning them. The others, which this is
        for, are the same either way.
        """
        return self

    def fresh(self, replication: int = 0) -> Self:
        """A policy of the same configuration that has seen nothing, for a replication."""
        twin = self._twin(self._initial_state())
        twin._adopt(twin._state, self._floor_stream(replication))
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
        write_state(path, *self.content())

    def content(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `save` writes: a header that JSON can hold, and the arrays of the state."""
        kind, state = type(self), self.state()
        for name, array in state.items():
            if not np.isfinite(array).all():
                raise ValueError(f"array {name} has entries that are not finite; nothing is saved")
        return {"policy": kind.__name__, "module": kind.__module__, "config": self.config}, state

    def state(self) -> dict[str, Array]:
        """The state, by the names of its arrays; copies, to look at or to `restore`.

        What is computed from the sums, such as ``theta``, is that of the last decision, or room for
        something else: properties bring it up to date.
        """
        with self._alone():
            arrays = {name: array.copy() for name, array in self._state._asdict().items()}
            return {**arrays, FLOOR_STREAM: self._floor_state()}

    def _floor_state(self) -> npt.NDArray[np.uint64]:
        """Key of the floor's stream, and the draws made from it so far."""
        high, low, drawn = (int(number) for number in self._packed[KEY_HIGH : DRAWN + 1])
        return np.array([high << 32 | low, drawn], dtype=np.uint64)

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take over saved arrays, after a check that they can be this policy's state."""
        state, stream = self._checked(arrays, self._initial_state())
        self._twin(state)._check_estimates()
        self._retire()
        self._adopt(state, stream)

    def _checked(self, arrays: dict[str, Any], initial: Any) -> tuple[Any, Any]:
        """``arrays`` as a state that can have come from the ``initial`` one, and the stream."""
        arrays = dict(arrays)
        if self.floor == 0.0:  # files of 0.1.0 have no floor, and so no stream of draws
            arrays.setdefault(FLOOR_STREAM, self._floor_stream())
        stream = arrays.pop(FLOOR_STREAM, None)
        check_stream(FLOOR_STREAM, stream, self._floor_stream())
        state = checked_state(arrays, initial, growing=self._growing())
        check_counters(state.counters, self._counter_ranges(state))
        return state, stream

    def _initial_state_at(self, dim: int) -> Any:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self), dim=dim)
        return twin._initial_state()

    def _estimates(self) -> tuple[Any, ...]:
        """Numbers that decisions rest on, which any state of this policy's own has finite."""
        return ()

    def _check_estimates(self) -> None:
        """Refuse a state that only looks like one."""
        with np.errstate(all="ignore"):
            if not all(np.isfinite(number).all() for number in self._estimates()):
                raise StateFileError("the state gives estimates that are not finite")

    def _growing(self) -> tuple[str, ...]:
        """Arrays of the state that may have more rows than at the start."""
        return ("detections",) if self.detections_counter >= 0 else ()

    def _counter_ranges(self, state: Any) -> dict[int, tuple[int, int]]:
        """Ranges of the counters that compiled code takes for positions, and does not check."""
        if self.detections_counter < 0:
            return {}
        return {self.detections_counter: (0, len(state.detections))}

    def _scores(self, actions: Any) -> Array:
        """What the kernels write down for every action of ``actions`` (K, d), shape (K,)."""
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        scores = np.empty(len(rows))
        with self._alone():
            self._prepare()
            done = self._calls.score(self._packed, rows, scores)
        if done < 0:
            refuse(self.dim, self.action_bound, rows)
        return scores

    def _learn(self, rows: Array, rewards: Array, observed: Array, rounds: float) -> None:
        """Close ``rounds`` rounds and learn all observations, or refuse with nothing changed.

        Where no round is closed, they are those of the rounds ``observed``, (n,) or (1,).
        """
        arguments, growth = (rows, rewards, observed, rounds), np.array([rounds, 0.0])
        done = self._in_parts(self._calls.learn_many, arguments, len(rows), growth)
        if done == STUCK:
            check_closing(self._state.counters[CLOCK], rounds)
        if done < 0:
            refuse(self.dim, self.action_bound, rows, rewards)


def rebuilt(kind: type[Policy], config: dict[str, Any], state: dict[str, Array]) -> Policy:
    """The policy of a saved configuration and state."""
    policy = kind.__new__(kind)
    # `__post_init__` compares the state with the configuration before it reserves memory.
    vars(policy)["_saved"] = state
    policy.__init__(**config)  # type: ignore[misc]
    return policy
