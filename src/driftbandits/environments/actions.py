"""Action sets: the actions that a policy can choose from in each round.

A set is a frozen description. ``start(generator)`` opens it at round 1 and returns a function that
gives the actions of the next n rounds as columns, shape (n, d, K). A set that never changes gives
shape (1, d, K).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array, float_array, whole
from ..core.compiling import entry_point
from ..core.linalg import column_norms_squared

Draw = Callable[[int], Array]


class ActionSet(Protocol):
    """The interface of an action set."""

    @property
    def dim(self) -> int:
        """Length d of an action."""

    @property
    def count(self) -> int:
        """Number K of actions in a round."""

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""


@dataclass(frozen=True, kw_only=True)
class ClippedCube:
    """Fresh actions each round, uniform on [−1, 1]^d; those longer than 1 are scaled to norm 1.

    The paper draws its actions like this. In two dimensions, mass 1 − π/4 is on the unit circle.

    Attributes:
        dim: Length d of an action.
        count: Number K of actions in a round.
    """

    dim: int
    count: int

    def __post_init__(self) -> None:
        _check_sizes(self.dim, self.count)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""

        def draw(rounds: int) -> Array:
            columns = generator.random((rounds, self.dim, self.count))
            _clip_entry(columns)
            return columns

        return draw


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """Fresh actions each round, uniform on the unit sphere.

    Attributes:
        dim: Length d of an action.
        count: Number K of actions in a round.
    """

    dim: int
    count: int

    def __post_init__(self) -> None:
        _check_sizes(self.dim, self.count)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""

        def draw(rounds: int) -> Array:
            columns = generator.standard_normal((rounds, self.dim, self.count))
            columns /= np.sqrt(np.einsum("tik,tik->tk", columns, columns))[:, None, :]
            return columns

        return draw


@dataclass(frozen=True)
class Catalogue:
    """The same actions in every round.

    Attributes:
        actions: Shape (K, d).
    """

    actions: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", float_array("actions", self.actions, ndim=2))
        _check_sizes(self.dim, self.count)

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return int(self.actions.shape[1])

    @property
    def count(self) -> int:
        """Number K of actions."""
        return len(self.actions)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""
        columns = np.array(self.actions.T[None], order="C")
        return lambda rounds: columns


def canonical_basis(dim: int) -> Catalogue:
    """e_1, …, e_d: the K-armed bandit."""
    return Catalogue(np.eye(dim))


@dataclass(frozen=True, kw_only=True)
class Kronecker:
    """e_i ⊗ x: one fresh context x per round, and a separate block of parameters for each arm.

    Attributes:
        contexts: The action set that x is drawn from; its count must be 1.
        arms: Number K of arms. The dimension is K times the dimension of a context.
    """

    contexts: ActionSet
    arms: int

    def __post_init__(self) -> None:
        whole("arms", self.arms, least=1)
        if self.contexts.count != 1:
            raise ValueError(f"contexts must have count 1, got {self.contexts.count}")

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return self.arms * self.contexts.dim

    @property
    def count(self) -> int:
        """Number K of arms."""
        return self.arms

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""
        draw_contexts = self.contexts.start(generator)

        def draw(rounds: int) -> Array:
            contexts = draw_contexts(rounds)[:, :, 0]
            blocks = np.einsum("ij,tm->timj", np.eye(self.arms), contexts)
            return np.ascontiguousarray(blocks.reshape(len(contexts), self.dim, self.arms))

        return draw


@dataclass(frozen=True)
class Pools:
    """One action per round from each of several pools, drawn with replacement.

    Attributes:
        pools: One array of shape (n, d) per pool.
    """

    pools: tuple[Any, ...]

    def __post_init__(self) -> None:
        pools = tuple(float_array("pools", pool, ndim=2) for pool in self.pools)
        object.__setattr__(self, "pools", pools)
        if len({pool.shape[1] for pool in pools}) != 1 or any(len(pool) == 0 for pool in pools):
            raise ValueError(
                f"pools must be non-empty and of one dimension, got {[p.shape for p in pools]}"
            )

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return int(self.pools[0].shape[1])

    @property
    def count(self) -> int:
        """Number K of pools."""
        return len(self.pools)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""
        sizes = np.array([len(pool) for pool in self.pools])

        def draw(rounds: int) -> Array:
            rows = generator.integers(sizes, size=(rounds, len(sizes)))
            picked = [pool[rows[:, k]] for k, pool in enumerate(self.pools)]
            return np.ascontiguousarray(np.stack(picked, axis=2))

        return draw


@dataclass(frozen=True, kw_only=True)
class DrawnActions:
    """Actions from your own function, called once per round.

    Attributes:
        function: ``function(round, generator)`` returns the actions of a round, shape (K, d).
        dim: Length d of an action.
        count: Number K of actions in a round.
    """

    function: Callable[[int, np.random.Generator], Any]
    dim: int
    count: int

    def __post_init__(self) -> None:
        _check_sizes(self.dim, self.count)

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""
        position = 1

        def draw(rounds: int) -> Array:
            nonlocal position
            columns = np.empty((rounds, self.dim, self.count))
            for t in range(rounds):
                actions = float_array("actions", self.function(position, generator), ndim=2)
                if actions.shape != (self.count, self.dim):
                    raise ValueError(
                        f"function must return shape ({self.count}, {self.dim}), "
                        f"got {actions.shape} in round {position}"
                    )
                columns[t] = actions.T
                position += 1
            return columns

        return draw


@dataclass(frozen=True)
class ActionSequence:
    """Actions given as an array.

    Attributes:
        actions: Shape (T, K, d).
    """

    actions: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", float_array("actions", self.actions, ndim=3))
        _check_sizes(self.dim, self.count)

    @property
    def dim(self) -> int:
        """Length d of an action."""
        return int(self.actions.shape[2])

    @property
    def count(self) -> int:
        """Number K of actions in a round."""
        return int(self.actions.shape[1])

    def start(self, generator: np.random.Generator) -> Draw:
        """Open the set at its first round."""
        position = 0

        def draw(rounds: int) -> Array:
            nonlocal position
            rows = self.actions[position : position + rounds]
            if len(rows) < rounds:
                raise ValueError(f"actions end after round {len(self.actions)}")
            position += rounds
            return np.ascontiguousarray(rows.transpose(0, 2, 1))

        return draw


def _check_sizes(dim: int, count: int) -> None:
    whole("dim", dim, least=1)
    whole("count", count, least=1)


def _clip(columns: Array) -> None:
    """Map draws from [0, 1) to [−1, 1), then scale every column longer than 1 to norm 1."""
    rounds, dim, count = columns.shape
    scales = np.empty(count)
    for t in range(rounds):
        for i in range(dim):
            for k in range(count):
                columns[t, i, k] = 2.0 * columns[t, i, k] - 1.0
        column_norms_squared(dim, columns[t], scales)
        for k in range(count):
            scales[k] = 1.0 / np.sqrt(max(scales[k], 1.0))
        for i in range(dim):
            for k in range(count):
                columns[t, i, k] *= scales[k]


_clip_entry = entry_point(_clip, "actions")
