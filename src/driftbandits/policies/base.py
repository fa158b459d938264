"""What every policy does: decide, learn, widen, merge, replay and play.

A policy is a frozen dataclass. Its fields are the configuration; the state is a named tuple of
arrays that the kernels change in place. `stateful` copies, saves and restores both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..core.arrays import (
    Array,
    float_array,
    non_negative,
    number,
    observations,
    positive,
    whole,
)
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

# Operations that a policy may offer besides choosing and learning.
Operation = Literal["scores", "amend", "forget", "widened", "merged"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Policy(Stateful):
    """A decision rule that learns: ``decide`` which action to play, ``update`` with its reward.

    Time is a clock of rounds. ``decide`` chooses and closes the open round; its reward comes later,
    with ``update(..., round=t)``; ``late_rewards`` says what then differs from a reward on time, if
    anything. ``select`` chooses
    and leaves the round open; ``update`` without a round then brings the reward, or a batch of
    rewards, and closes the round. ``advance`` closes rounds and does nothing else.

    Only one thread at a time may use a policy. A call during a call of another thread raises
    RuntimeError and changes nothing. Hold a lock around the calls, or give each thread a `copy`.

    Attributes:
        dim: Length d of an action vector.
        action_bound: Bound L on the norm of actions; longer ones are refused.
        floor: Probability ε with which the action is drawn from all K on offer, each with the same
            chance, instead of chosen by the rule. Every action then has a propensity of at least
            ε/K, as off-policy evaluation needs. Each choice draws anew.
        seed: Names the random streams of the policy.
    """

    label: ClassVar[str]
    summary: ClassVar[str]

    # How a late reward counts differently from a reward on time. Empty: no difference but rounding.
    late_rewards: ClassVar[str] = ""
    # Why an operation is refused, by the name of the operation.
    refusals: ClassVar[Mapping[str, str]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild copies and pickles: a plain copy would part the state from its packed array."""
        return rebuilt, (type(self), self.config, self.state())

    @classmethod
    @abstractmethod
    def tuned(cls, problem: Problem) -> Self:
        """The policy with its documented tuning for a problem."""

    @property
    def round(self) -> int | float:
        """The open round, counted from 1; a fraction if the clock has moved by fractions."""
        return open_round(self._state.counters[CLOCK])

    @property
    def detections(self) -> tuple[int, ...]:
        """Rounds after which a change was declared; empty for policies that look for no changes."""
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
        """Choose from ``actions`` (K, d), close the round, and return the decision.

        The same as ``select`` and then ``advance``. Pass the reward when it is known:
        ``update(action, reward, round=decision.round)``. ``rounds`` says how far the clock moves:
        0 leaves the round open, for a clock that follows hours and not decisions.

        The propensities are what `propensities` would return just before the decision.
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

        If nothing is random, 1 for one action and 0 for the others. With a floor ε, it is
        (1 − ε) p + ε/K, so never less than ε/K. If the rule draws and has no closed form, it is
        NaN; with a floor, it is then the propensity given the rule's next draw. That is exact and
        valid: given any draw, weights 1/p have the same mean. This call changes no decision. For a
        log, take the propensities from ``decide``: after ``select``, this call describes the next
        draw.
        """
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        chances = np.empty(len(rows))
        arguments = rows, 0.0, np.empty(len(rows)), chances, np.empty(1)
        with self._alone():
            packed = self._packed.copy()  # so that the policy itself draws and changes nothing
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

        Without ``round`` they belong to the open round, which then closes: one round, however large
        the batch. With ``round``, one number or (n,), they belong to earlier rounds or the open
        one. They count as if they had come on time, except for what ``late_rewards`` says. The
        clock does not move.
        """
        if isinstance(rewards, float) and ready(actions, 1):
            # Fast path: nearly every call is like this.
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
        """Learn one reward of a round that has begun, or refuse it and change nothing."""
        if not has_begun(float(self._state.counters[CLOCK]), round):
            return REFUSED
        arguments = action, reward, 0.0, float(round)
        done = self._calls.learn_one(self._packed, *arguments)
        return self._again(self._calls.learn_one, 0.0, *arguments) if done == FULL else done

    def amend(self, action: Any, *, round: int | float, old: float, new: float) -> None:
        """Replace the reward ``old`` of an ``action`` (d,), learned earlier, with ``new``.

        Use it for a reward that was assumed, such as no click yet, and is known now. Afterwards the
        sums are as if ``new`` had been learned: b changes, V does not. ``round`` is the round that
        the reward was learned for.
        """
        self._check_offered("amend")
        row = action if ready(action, 1) else float_array("action", action, ndim=1)
        before = old if type(old) is float else number("old", old)
        after = new if type(new) is float else number("new", new)
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
        """Clear what is known along ``coordinates``, as if all actions had had zeros there.

        Their rows and columns of V and Ṽ and their entries of b become zero; the ridge stays. A
        slot of the action vector can then stand for something new. A late reward of an earlier
        round still counts in full, even if its action is not zero there. To `amend` an earlier
        reward afterwards, give its action with zeros there.
        """
        self._check_offered("forget")
        mask = mask_of(coordinates, self.dim)
        if mask.any():
            self._calls.forget(self._packed, mask)

    def widened(self, *, dim: int) -> Self:
        """A policy for actions of length ``dim``, with the same knowledge of the first d.

        It equals a policy that had all coordinates from the start and saw zeros in the new ones,
        unless its class says otherwise. This policy does not change.
        """
        self._check_offered("widened")
        whole("dim", dim, least=self.dim)
        wider = type(self)(**self._widened_config(dim))
        with self._alone():
            wider._adopt(self._widened_state(wider), self._floor_state())
        return wider

    def merged(self, other: Policy) -> Self:
        """A policy that knows what this policy and ``other`` know together.

        Both count the same rounds: round t of one is round t of the other. If one clock is behind,
        it is moved on first. Both must have the same class and configuration. Only the seed may
        differ; the result has the seed of this policy.
        """
        self._check_offered("merged")
        return merge(self, other)

    def apply(self, event: Event) -> Decision | int | None:
        """Make the call that ``event`` stands for, and return what it returns.

        This is the only way in which a recorded event reaches a policy: see `driftbandits.events`.
        """
        return replaying.apply(self, event)

    def replay(self, events: Iterable[Event] | Packed) -> Outcomes:
        """Apply many events in compiled code; the state gets the same bits as from the calls.

        ``events`` is a sequence of events or their packed form. All are checked first: if one is
        not valid, nothing changes. Returns choices and propensities, one entry per event.
        """
        return replaying.replay(self, events)

    def _widened_config(self, dim: int) -> dict[str, Any]:
        """The configuration of the wider policy."""
        return {**self.config, "dim": dim}

    def _widened_state(self, wider: Self) -> Any:
        """The state of ``wider``: the state of this policy, with zeros in the new coordinates."""
        raise NotImplementedError

    def _share_schedule(self, ahead: Self) -> None:
        """Before a merge, after this clock has jumped to that of ``ahead``: undo what the jump did.

        For policies that do something at certain rounds: a jump differs from single rounds.
        """

    def _merged_state(self, other: Self) -> Any:
        """A state with the knowledge of both policies, whose clocks agree."""
        raise NotImplementedError

    def refusal(self, operation: Operation) -> str:
        """Why this policy refuses ``operation``; empty if it offers the operation.

        A class offers an operation if it defines the kernel or method for it. An entry in
        ``refusals`` takes the offer back.
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
        """Raise a TypeError with the reason if an operation is not offered."""
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

        ``regret`` (n,) gets the regret summed from the first round of the block. ``missing`` (n,),
        if given, gets a 1 for each round whose parameter lies outside the confidence set at the
        start of the round. If rewards come late, ``waiting`` keeps them from block to block.
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
        # Make room for all rounds at once: letting arrays grow costs as much as a hundred rounds.
        if self._in_parts(call, arrays, steps, np.array([block.rounds, 1.0])) < 0:
            shapes = [array.shape for array in arrays]
            raise ValueError(f"the arrays of a block must fit each other, got shapes {shapes}")

    @property
    def provisional_rewards(self) -> bool:
        """Whether rewards are provisional until `amend` settles them, with old = new."""
        return False

    def with_provisional_rewards(self, provisional: bool) -> Self:
        """This policy, with rewards that are, or are not, provisional when they are learned.

        This matters only to policies that also judge by rewards, for instance their memories. All
        other policies return themselves.
        """
        return self

    def _scores(self, actions: Any) -> Array:
        """The scores that the kernels give the actions of ``actions`` (K, d), shape (K,)."""
        rows = actions if ready(actions, 2) else float_array("actions", actions, ndim=2)
        scores = np.empty(len(rows))
        with self._alone():
            self._prepare()
            done = self._calls.score(self._packed, rows, scores)
        if done < 0:
            refuse(self.dim, self.action_bound, rows)
        return scores

    def _learn(self, rows: Array, rewards: Array, observed: Array, rounds: float) -> None:
        """Close ``rounds`` rounds and learn all observations, or refuse and change nothing.

        If ``rounds`` is 0, the observations belong to the rounds ``observed``, (n,) or (1,).
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
