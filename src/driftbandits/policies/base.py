"""What every policy does: decide, learn, widen, merge, replay and play.

A policy is a frozen dataclass. Its fields are the configuration; the state is a named tuple of
arrays that the kernels change in place. `stateful` has what happens to the two as a whole.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..core.arrays import Array, float_array, non_negative, numbers, positive, whole
from ..core.blocks import Block, Waiting
from ..core.calls import FULL, REFUSED, STUCK
from ..core.clock import CLOCK, check_closing, has_begun, open_round, rounds_of
from ..core.entry_points import cannot_amend, cannot_forget, never_misses
from ..core.events import Decision, Event, Outcomes, Packed, mask_of
from ..core.packing import BUSY
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
from .merging import merge
from .problem import Problem
from .stateful import Stateful

_ON_TIME = np.zeros(1)
_NOTHING = np.zeros(0)
_NO_STEPS, _NO_ROWS = np.zeros(0, dtype=np.int64), np.zeros((0, 0))

# What a policy may offer beside choosing and learning.
Operation = Literal["scores", "amend", "forget", "widened", "merged"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(Stateful):
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

    # What a reward that comes late does differently from one on time. Empty: nothing, to rounding.
    late_rewards: ClassVar[str] = ""
    # Why an operation is refused, by its name.
    refusals: ClassVar[Mapping[str, str]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are built anew: as they are, the views would lose what they view."""
        return rebuilt, (type(self), self.config, self.state())

    @classmethod
    @abstractmethod
    def tuned(cls, problem: Problem) -> Self:
        """The policy at its documented tuning for a problem."""

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
        return merge(self, other)

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
        # Room for all rounds at once: each time that arrays grow costs as much as a hundred rounds.
        if self._in_parts(call, arrays, steps, np.array([block.rounds, 1.0])) < 0:
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
