"""Random: the weakest baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..core.arrays import Array
from ..core.clock import CLOCK
from ..core.compiling import kernel
from ..core.entry_points import Kernels
from ..core.linalg import clear
from ..core.randomness import stream_state, uniform
from .base import Policy
from .problem import Problem
from .registry import register


class Parameters(NamedTuple):
    """Random has no parameters, but the tuple must have a field."""

    unused: float


class State(NamedTuple):
    """A clock and a source of randomness."""

    counters: Array
    random: npt.NDArray[np.uint64]


@kernel
def choose(p: Parameters, s: State, columns: Array, scratch: Array, scores: Array) -> int:
    """Any column, with the same probability."""
    clear(scores)
    return int(uniform(s.random) * columns.shape[1])


@kernel
def learn(p: Parameters, s: State, action: Array, reward: float, age: float) -> None:
    """Learn nothing."""


@kernel
def advance(p: Parameters, s: State, rounds: float) -> None:
    """Move the clock."""
    s.counters[CLOCK] += rounds


@kernel
def propensities(
    p: Parameters,
    s: State,
    columns: Array,
    scratch: Array,
    scores: Array,
    rule: int,
    chances: Array,
) -> None:
    """1/K."""
    for k in range(chances.size):
        chances[k] = 1.0 / chances.size


@kernel
def amend(p: Parameters, s: State, action: Array, old: float, new: float, age: float) -> bool:
    """Nothing was learned, so nothing changes."""
    return True


@kernel
def forget(p: Parameters, s: State, mask: Array) -> None:
    """Nothing was learned, so nothing changes."""


@register("Random", "any action, with the same probability; the floor")
@dataclass(frozen=True, kw_only=True, eq=False)
class Random(Policy):
    """Plays any action with the same probability.

    Examples:
        >>> from driftbandits import Random
        >>> Random(dim=2).select([[1.0, 0.0], [0.0, 1.0]]) in (0, 1)
        True
    """

    kernels: ClassVar[Kernels] = Kernels(
        "random",
        Parameters,
        State,
        choose,
        learn,
        advance,
        propensities=propensities,
        amend=amend,
        forget=forget,
    )

    @classmethod
    def tuned(cls, problem: Problem) -> Self:
        """Nothing to tune."""
        return cls(dim=problem.dim, action_bound=problem.action_bound)

    def _validate(self) -> None:
        """Random has no fields of its own."""

    def _make_parameters(self) -> Parameters:
        return Parameters(0.0)

    def _initial_state(self) -> State:
        return State(counters=np.zeros(1), random=stream_state(self.seed, "policy", "Random"))

    def _reseed(self, replication: int) -> None:
        self._state.random[:] = stream_state(self.seed, "policy", "Random", replication)

    def _widened_state(self, wider: Self) -> State:
        return self._state  # type: ignore[no-any-return]

    def _merged_state(self, other: Self) -> State:
        return self._state  # type: ignore[no-any-return]
