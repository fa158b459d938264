"""An environment: a parameter path, action sets, noise and delays, drawn block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..core.arrays import Array, numbers, whole
from ..core.blocks import Arrivals, Block
from ..core.compiling import entry_point
from ..core.linalg import argmax, column_norms_squared, column_products
from ..core.randomness import stream
from .actions import ActionSequence, ActionSet, Catalogue
from .delays import Delays, Schedule
from .noise import Gaussian, Noise, NoiseSequence
from .paths import ParameterPath, Trajectory

# Approximate number of floats in the actions of a block. Long blocks save Python's overhead
# between blocks; short blocks stay in the cache for all policies.
_BLOCK = 200_000


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Rewards ⟨a, θ_t⟩ + noise, for actions and a parameter that change from round to round.

    Everything is drawn from streams named by the seed, the purpose and the replication. So all
    policies of a replication meet the same actions, noise and delays.

    Attributes:
        path: The parameter θ_t of each round.
        actions: The actions of each round.
        noise: The noise that is added to the mean rewards.
        horizon: Number T of rounds.
        delays: When rewards arrive; at once by default.

    Examples:
        >>> from driftbandits.environments import ClippedCube, Environment, Gaussian, Rotation
        >>> environment = Environment(
        ...     path=Rotation(angle=1.0, rounds=50),
        ...     actions=ClippedCube(dim=2, count=5),
        ...     noise=Gaussian(0.1),
        ...     horizon=100,
        ... )
        >>> block = next(environment.blocks(seed=0, replication=0))
        >>> block.actions.shape, block.means.shape
        ((100, 2, 5), (100, 5))
        >>> round(environment.budget(), 3)
        1.0
    """

    path: ParameterPath
    actions: ActionSet
    noise: Noise
    horizon: int
    delays: Delays | None = None

    def __post_init__(self) -> None:
        whole("horizon", self.horizon, least=1)
        if self.path.dim != self.actions.dim:
            raise ValueError(
                f"path and actions must have one dimension, got {self.path.dim} "
                f"and {self.actions.dim}"
            )

    @classmethod
    def from_arrays(
        cls, *, actions: Any, parameters: Any, noise: Any = None, noise_level: float = 1.0
    ) -> Self:
        """An environment made of arrays.

        Actions have shape (T, K, d), or (K, d) if they never change. Parameters have shape (T, d).
        Noise has shape (T,) or (T, K); None draws normal noise of ``noise_level``. Arrays of floats
        are not copied, so do not change them afterwards.
        """
        path = Trajectory(parameters)
        sets = Catalogue(actions) if np.ndim(actions) == 2 else ActionSequence(actions)
        added = Gaussian(noise_level) if noise is None else NoiseSequence(noise, noise_level)
        rounds = {"parameters": len(path.parameters)}
        if isinstance(sets, ActionSequence):
            rounds["actions"] = len(sets.actions)
        if isinstance(added, NoiseSequence):
            rounds["noise"] = len(added.values)
        if len(set(rounds.values())) > 1:
            raise ValueError(f"all arrays must have the same number of rounds, got {rounds}")
        return cls(path=path, actions=sets, noise=added, horizon=rounds["parameters"])

    @property
    def dim(self) -> int:
        """Length d of actions and parameters."""
        return self.path.dim

    @property
    def change_points(self) -> tuple[int, ...]:
        """Rounds within the horizon that begin with a jump of the parameter."""
        return tuple(point for point in self.path.change_points if point <= self.horizon)

    def budget(self, *, seed: int = 0, replication: int = 0) -> float:
        """Variation budget B_T = Σ ‖θ_{t+1} − θ_t‖; seed and replication matter to random paths."""
        draw = self.path.start(stream(seed, "parameters", replication))
        total, last = 0.0, draw(1)
        for size in _sizes(self.horizon - 1, (), most=_BLOCK // self.dim + 1):
            parameters = np.concatenate([last, draw(size)])
            total += float(np.linalg.norm(np.diff(parameters, axis=0), axis=1).sum())
            last = parameters[-1:]
        return total

    def blocks(self, *, seed: int, replication: int, stops: Iterable[int] = ()) -> Iterator[Block]:
        """Draw a replication in blocks. No block crosses one of the ``stops``.

        The cuts between blocks change no number.
        """
        draw_parameters = self.path.start(stream(seed, "parameters", replication))
        draw_actions = self.actions.start(stream(seed, "actions", replication))
        draw_noise = self.noise.start(stream(seed, "noise", replication))
        draw_arrivals = self._arrivals(stream(seed, "delays", replication))

        # A separate function, so that this generator keeps no block alive. If the caller has
        # released the last block, the next one reuses its memory, which is in the cache.
        def draw(first: int, size: int) -> Block:
            parameters = numbers("path", draw_parameters(size))
            actions = numbers("actions", draw_actions(size))
            self._check_drawn(size, parameters, actions)
            means, best = np.empty((size, self.actions.count)), np.empty(size)
            longest = _evaluate_entry(actions, parameters, means, best)
            noise = numbers("noise", draw_noise(actions, means))
            if noise.shape not in ((size, 1), means.shape):
                raise ValueError(
                    f"noise must give ({size}, 1 or {self.actions.count}), got {noise.shape}"
                )
            drawn = actions, parameters, means, best, noise, float(longest)
            return Block(first, *drawn, draw_arrivals(size))

        first = 1
        for size in _sizes(self.horizon, stops, most=self._block_rounds()):
            yield draw(first, size)
            first += size

    def _arrivals(self, generator: np.random.Generator) -> Callable[[int], Arrivals | None]:
        """Open the arrivals of rewards at round 1."""
        if self.delays is None:
            return lambda size: None
        draw_delays, schedule = self.delays.start(generator), Schedule()

        def draw(size: int) -> Arrivals:
            delays = np.asarray(draw_delays(size), dtype=np.float64)
            if delays.shape != (size,):
                raise ValueError(f"delays must give ({size},), got {delays.shape}")
            return schedule.arrivals(delays)

        return draw

    def _block_rounds(self) -> int:
        return min(max(_BLOCK // (self.dim * self.actions.count), 64), 2000)

    def _check_drawn(self, size: int, parameters: Array, actions: Array) -> None:
        """Raise an error for a wrong shape: compiled code would read beyond the arrays."""
        count = self.actions.count
        if parameters.shape != (size, self.dim):
            raise ValueError(f"path must give ({size}, {self.dim}), got {parameters.shape}")
        if actions.shape not in ((size, self.dim, count), (1, self.dim, count)):
            raise ValueError(
                f"actions must give ({size} or 1, {self.dim}, {count}), got {actions.shape}"
            )


def _sizes(horizon: int, stops: Iterable[int], *, most: int) -> Iterator[int]:
    """Sizes of the blocks of a horizon: at most ``most`` rounds, and no block crosses a stop."""
    position = 0
    for stop in [*sorted({stop for stop in stops if stop < horizon}), horizon]:
        while position < stop:
            size = min(most, stop - position)
            yield size
            position += size


def _evaluate(actions: Array, parameters: Array, means: Array, best: Array) -> float:
    """Fill all means (n, K) and the best mean of each round (n,); return the largest norm.

    The largest norm is NaN if an action has an entry that is not finite.
    """
    norms, longest, total = np.empty(means.shape[1]), np.zeros(means.shape[1]), 0.0
    for t in range(best.size):
        columns = actions[min(t, actions.shape[0] - 1)]
        if t < actions.shape[0]:
            column_norms_squared(actions.shape[1], columns, norms)
            for k in range(norms.size):
                longest[k] = max(longest[k], norms[k])
                total += norms[k]
        column_products(parameters[t], columns, means[t])
        best[t] = means[t, argmax(means[t])]
    # A maximum may skip NaN; a sum does not.
    return float(np.sqrt(longest[argmax(longest)])) if np.isfinite(total) else np.nan


_evaluate_entry = entry_point(_evaluate, "environment")
