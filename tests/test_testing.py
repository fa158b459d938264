"""The shipped contract: a policy that breaks a promise fails the check of this promise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pytest

from driftbandits import DLinUCB, Policy, Problem
from driftbandits.core.arrays import Array
from driftbandits.core.clock import CLOCK
from driftbandits.core.compiling import kernel
from driftbandits.core.entry_points import Kernels
from driftbandits.core.linalg import argmax, cholesky, column_products, solve
from driftbandits.core.randomness import stream_state, uniform
from driftbandits.testing import POLICY_CHECKS, ContractError, check_policy
from driftbandits.testing.contract import hold

CHECKS = {check.__name__: check for check in POLICY_CHECKS}


class Parameters(NamedTuple):
    gamma: float


class State(NamedTuple):
    counters: Array
    gram: Array
    moment: Array
    factor: Array
    theta: Array


@kernel
def prepare(p: Parameters, s: State) -> None:
    cholesky(s.gram, 1.0, s.factor)
    solve(s.factor, s.moment, s.theta)


@kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    column_products(s.theta, columns, scores)
    return argmax(scores)


@kernel
def learn_without_age(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Every reward gets the weight of a reward that came on time."""
    for i in range(action.size):
        s.moment[i] += reward * action[i]
        for j in range(i, action.size):
            s.gram[i, j] += action[i] * action[j]


@kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    s.counters[CLOCK] += rounds
    kept = p.gamma**rounds
    for i in range(s.moment.size):
        s.moment[i] *= kept
        for j in range(i, s.moment.size):
            s.gram[i, j] *= kept


@dataclass(frozen=True, kw_only=True, eq=False)
class IgnoresAge(Policy):
    """Greedy over discounted sums; correct only if rewards are on time."""

    label: ClassVar[str] = "ignores age"
    summary: ClassVar[str] = "forgets to look at the age of a reward"
    kernels: ClassVar[Kernels] = Kernels(
        "ignores_age", Parameters, State, choose, learn_without_age, advance, prepare
    )

    gamma: float = 0.9

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        return cls(dim=problem.dim, action_bound=problem.action_bound)

    def _validate(self) -> None:
        pass

    def _make_parameters(self) -> Parameters:
        return Parameters(self.gamma)

    def _initial_state(self) -> State:
        d = self.dim
        square = np.zeros((d, d))
        return State(np.zeros(1), square, np.zeros(d), square.copy(), np.zeros(d))


def test_a_policy_that_ignores_the_age_of_rewards_is_broken() -> None:
    """It breaks this promise and no other."""
    with pytest.raises(ContractError) as caught:
        check_policy(IgnoresAge(dim=3))
    first, *broken = str(caught.value).splitlines()
    assert first == f"IgnoresAge breaks 1 of {len(POLICY_CHECKS)} promises:"
    assert len(broken) == 1
    assert broken[0].startswith("- late_rewards_count_as_on_time: rewards that come late must")


def test_one_that_says_so_is_not() -> None:
    class Honest(IgnoresAge):
        """Greedy; late rewards weigh too much, and it declares this."""

        late_rewards: ClassVar[str] = "counts as if it were new"

    CHECKS["late_rewards_count_as_on_time"](Honest(dim=3))


@kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    weight = p.gamma**age
    for i in range(action.size):
        s.moment[i] += weight * reward * action[i]
        for j in range(i, action.size):
            s.gram[i, j] += weight * action[i] * action[j]


@kernel
def prepare_and_fade(p: Parameters, s: State) -> None:
    """It changes sums, and may run more often than there are decisions."""
    for i in range(s.moment.size):
        s.moment[i] *= 0.999
    cholesky(s.gram, 1.0, s.factor)
    solve(s.factor, s.moment, s.theta)


@kernel
def amend_by_whole_rounds(
    p: Parameters, s: State, action: Array, old: float, new: float, age: float
) -> bool:
    weight = p.gamma ** np.floor(age)
    for i in range(action.size):
        s.moment[i] += weight * (new - old) * action[i]
    return True


@kernel
def forget_and_keep_some(p: Parameters, s: State, mask: Array) -> None:
    """It leaves something in V, which shows once more is learned."""
    for i in range(s.moment.size):
        if mask[i] != 0.0:
            s.moment[i] = 0.0
        for j in range(i, s.moment.size):
            if mask[i] != 0.0 or mask[j] != 0.0:
                s.gram[i, j] = 1.0 if i == j else 0.0


class FadesWhenAsked(IgnoresAge):
    kernels: ClassVar[Kernels] = Kernels(
        "fades_when_asked", Parameters, State, choose, learn, advance, prepare_and_fade
    )

    @property
    def theta(self) -> Array:
        with self._alone():
            self._prepare()
            return np.array(self._state.theta)


class AmendsByWholeRounds(IgnoresAge):
    kernels: ClassVar[Kernels] = Kernels(
        "amends_by_whole_rounds",
        Parameters,
        State,
        choose,
        learn,
        advance,
        prepare,
        amend=amend_by_whole_rounds,
    )


class KeepsSome(IgnoresAge):
    kernels: ClassVar[Kernels] = Kernels(
        "keeps_some",
        Parameters,
        State,
        choose,
        learn,
        advance,
        prepare,
        forget=forget_and_keep_some,
    )


class DrawingState(NamedTuple):
    counters: Array
    gram: Array
    moment: Array
    factor: Array
    theta: Array
    random: Any


@kernel
def choose_or_draw(
    p: Parameters, s: DrawingState, columns: Array, scratch: Array, scores: Array
) -> int:
    """The best guess, and in three of ten rounds any action."""
    column_products(s.theta, columns, scores)
    u = uniform(s.random)
    return min(int(u / 0.3 * scores.size), scores.size - 1) if u < 0.3 else argmax(scores)


@kernel
def too_sure(
    p: Parameters,
    s: DrawingState,
    columns: Array,
    scratch: Array,
    scores: Array,
    rule: int,
    chances: Array,
) -> None:
    """As if it were two of ten."""
    for k in range(chances.size):
        chances[k] = 0.2 / chances.size
    chances[argmax(scores)] += 0.8


class TellsNoDraws(IgnoresAge):
    """Its propensities are those of a rule that does not draw."""

    kernels: ClassVar[Kernels] = Kernels(
        "tells_no_draws", Parameters, DrawingState, choose_or_draw, learn, advance, prepare
    )

    def _initial_state(self) -> Any:
        return DrawingState(*super()._initial_state(), stream_state(self.seed, "draws"))

    def _reseed(self, replication: int) -> None:
        self._state.random[:] = stream_state(self.seed, "draws", replication)


class TooSure(TellsNoDraws):
    kernels: ClassVar[Kernels] = Kernels(
        "too_sure",
        Parameters,
        DrawingState,
        choose_or_draw,
        learn,
        advance,
        prepare,
        propensities=too_sure,
    )


class DrawsTheSame(TellsNoDraws):
    """All its replications draw the same numbers."""

    def _reseed(self, replication: int) -> None:
        return


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (FadesWhenAsked, "asking_changes_no_decision"),
        (AmendsByWholeRounds, "amended_is_as_if_learned_so"),
        (KeepsSome, "forgotten_is_as_if_zero"),
        (TellsNoDraws, "propensities_are_those_of_the_draws"),
        (TooSure, "propensities_are_those_of_the_draws"),
        (DrawsTheSame, "fresh_has_seen_nothing"),
    ],
)
def test_kernels_that_break_a_promise_are_caught(wrong: type[IgnoresAge], check: str) -> None:
    with pytest.raises(ContractError):
        CHECKS[check](wrong(dim=3))


class LearnsLateAsNew(DLinUCB):
    def update(self, actions: Any, rewards: Any, *, round: Any = None) -> None:
        super().update(actions, rewards, round=None if round is None else self.round)


class AmendsNothing(DLinUCB):
    def amend(self, action: Any, **change: Any) -> None:
        pass


class ForgetsNothing(DLinUCB):
    def forget(self, coordinates: Any) -> None:
        pass


class WidensToNothing(DLinUCB):
    def widened(self, *, dim: int) -> Self:
        wider = type(self)(**{**self.config, "dim": dim})
        wider.advance(rounds=self.round - 1)
        return wider


class MergesHalf(DLinUCB):
    def merged(self, other: Any) -> Self:
        merged = self.copy()
        merged.advance(rounds=other.round - self.round)
        return merged


class RefusesWithoutAReason(DLinUCB):
    refusals: ClassVar[dict[str, str]] = {"merged": "of its own"}

    def merged(self, other: Any) -> Self:
        raise TypeError("no")


class AppliesLess(DLinUCB):
    def apply(self, event: Any) -> Any:
        return super().apply(event) if self.round < 50 else None


class RemembersLittleInFiles(DLinUCB):
    def state(self) -> dict[str, Array]:
        return {name: np.round(array, 6) for name, array in super().state().items()}


class CopiesItself(DLinUCB):
    def copy(self) -> Self:
        return self


class IsNeverFresh(DLinUCB):
    def fresh(self, replication: int = 0) -> Self:
        return self.copy()


class HandsOutItsEstimate(DLinUCB):
    @property
    def theta(self) -> Array:
        return self._fit().theta


class ChangesActions(DLinUCB):
    def select(self, actions: Any) -> int:
        chosen = super().select(actions)
        if isinstance(actions, np.ndarray):
            actions *= 0.5
        return chosen


class ReturnsNumpyIntegers(DLinUCB):
    def select(self, actions: Any) -> int:
        return np.int64(super().select(actions))  # type: ignore[return-value]


class StopsTheClock(DLinUCB):
    def advance(self, *, rounds: float = 1) -> None:
        super().advance(rounds=max(1, int(rounds)))


class TakesAnyReward(DLinUCB):
    def update(self, actions: Any, rewards: Any, *, round: Any = None) -> None:
        try:
            super().update(actions, rewards, round=round)
        except ValueError:
            super().update(actions, np.nan_to_num(rewards), round=round)


class DecidesOtherwise(DLinUCB):
    def decide(self, actions: Any, *, rounds: float = 1) -> Any:
        return super().decide(np.asarray(actions)[::-1], rounds=rounds)


class LearnsByAsking(DLinUCB):
    def widths(self, actions: Any) -> Array:
        self.advance()
        return super().widths(actions)


class WaitsForOtherThreads(DLinUCB):
    def copy(self) -> Self:
        return self._twin(self._state)


BROKEN: list[tuple[type[DLinUCB], str]] = [
    (LearnsLateAsNew, "late_rewards_count_as_on_time"),
    (AmendsNothing, "amended_is_as_if_learned_so"),
    (ForgetsNothing, "forgotten_is_as_if_zero"),
    (WidensToNothing, "widened_is_as_if_always_wider"),
    (MergesHalf, "merged_is_as_if_one_had_seen_all"),
    (RefusesWithoutAReason, "merged_is_as_if_one_had_seen_all"),
    (AppliesLess, "replay_is_the_calls"),
    (LearnsLateAsNew, "replay_is_the_calls"),
    (ChangesActions, "choices_are_indices"),
    (ReturnsNumpyIntegers, "choices_are_indices"),
    (RemembersLittleInFiles, "saved_and_loaded_it_goes_on"),
    (CopiesItself, "copies_are_whole_and_apart"),
    (IsNeverFresh, "fresh_has_seen_nothing"),
    (HandsOutItsEstimate, "what_is_handed_over_is_copied"),
    (StopsTheClock, "the_clock_counts_rounds"),
    (TakesAnyReward, "bad_input_is_refused"),
    (DecidesOtherwise, "deciding_is_selecting_and_advancing"),
    (LearnsByAsking, "asking_changes_no_decision"),
    (WaitsForOtherThreads, "a_second_thread_is_refused"),
]


@pytest.mark.parametrize(("cls", "name"), BROKEN)
def test_broken(cls: type[DLinUCB], name: str) -> None:
    with pytest.raises(ContractError):
        CHECKS[name](cls(dim=3, gamma=0.9))
    CHECKS[name](DLinUCB(dim=3, gamma=0.9))


def test_every_check_says_what_it_checks() -> None:
    assert len(CHECKS) == len(POLICY_CHECKS)
    for check in POLICY_CHECKS:
        assert check.__doc__


def test_a_check_that_fails_otherwise_is_a_broken_promise() -> None:
    class Fails(DLinUCB):
        """Fails when it is copied."""

        def fresh(self, replication: int = 0) -> Self:
            raise KeyError("mine")

    checks: tuple[Callable[[Policy], None], ...] = (CHECKS["fresh_has_seen_nothing"],)
    with pytest.raises(ContractError, match=r"Mine breaks 1 of 1 promises:\n.*KeyError: 'mine'"):
        hold(Fails(dim=3, gamma=0.9), checks, name="Mine")


def test_it_needs_no_pytest() -> None:
    program = "import sys, driftbandits.testing; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
