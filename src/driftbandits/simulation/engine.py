"""The simulator: policies × environment × replications.

All policies of a replication meet the same actions, noise and delays. Replications run in parallel
threads, because compiled code releases the GIL. Every number depends only on the seed and the
replication, so any number of workers gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..core.arrays import Array, whole
from ..core.blocks import AT_ONCE, NEVER, PLAY, Arrivals, Block, Waiting
from ..environments import Environment
from ..policies import Policy


class PlayerError(ValueError):
    """A user's player returned something that is not the index of an action."""


@runtime_checkable
class Player(Protocol):
    """Anything that can be simulated: a policy of this package, or a user's object."""

    def select(self, actions: Array) -> int:
        """Index of the action to play, from ``actions`` (K, d)."""

    def update(self, action: Array, reward: float) -> None:
        """Learn the reward of an action (d,) that was played; called when the reward arrives."""


# A policy, copied afresh for each replication, or a function of the replication.
Contestant = Policy | Callable[[int], Player]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What a simulation records of every policy.

    Attributes:
        regret: Rounds after which to record the regret; about 200 even ones by default.
        estimates: Rounds after which to record the estimates.
        coverage: Whether to check the confidence sets in every round.
        states: Whether to keep the final state of every policy.
    """

    regret: tuple[int, ...] | None = None
    estimates: tuple[int, ...] = ()
    coverage: bool = False
    states: bool = False


class Plan(NamedTuple):
    """What to play and what to record."""

    environment: Environment
    policies: Mapping[str, Contestant]
    seed: int
    regret_rounds: tuple[int, ...]
    estimate_rounds: tuple[int, ...] = ()
    coverage: bool = False
    final_states: bool = False


class Record(NamedTuple):
    """The record of one replication: P policies, C rounds of regret, E rounds of estimates."""

    regret: Array  # (P, C), cumulative
    estimates: Array  # (P, E, d), NaN for a policy without an estimate
    detections: Array  # (n, 2), [policy, round]
    missed: Array  # (P, C), number of misses of the confidence set so far; or empty
    missing: Array  # (P, C), 1 if the confidence set misses in this round; or empty
    states: dict[str, Array]  # final states, by "policy number/array"; or empty

    def arrays(self) -> dict[str, Array]:
        """The record as named arrays, for a file."""
        named = self._asdict()
        return {**named.pop("states"), **named}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Record:
        """The inverse of `arrays`."""
        plain = {name: arrays.pop(name) for name in cls._fields if name != "states"}
        return cls(**plain, states=arrays)

    @classmethod
    def empty(cls, plan: Plan) -> Record:
        """An empty record for a plan."""
        policies = len(plan.policies)
        shape = (policies, len(plan.regret_rounds))
        return cls(
            regret=np.zeros(shape),
            estimates=np.full((policies, len(plan.estimate_rounds), plan.environment.dim), np.nan),
            detections=np.zeros((0, 2)),
            missed=np.zeros(shape if plan.coverage else (0, 0)),
            missing=np.zeros(shape if plan.coverage else (0, 0)),
            states={},
        )

    def fits(self, plan: Plan) -> bool:
        """Whether the shapes and names of the arrays are those of ``plan``."""
        rows = self.detections.shape[:1]  # any number of detections is valid
        empty = Record.empty(plan)._replace(detections=np.zeros((*rows, 2)))
        alike = (
            mine.shape == expected.shape and mine.dtype == expected.dtype
            for mine, expected in zip(self[:-1], empty[:-1], strict=True)
        )
        owners = {str(index) for index in range(len(plan.policies) * plan.final_states)}
        names = (name.partition("/") for name in self.states)
        return all(alike) and all(owner in owners and array for owner, _, array in names)


def even_rounds(horizon: int, count: int) -> tuple[int, ...]:
    """About ``count`` evenly spread rounds; the last is the horizon."""
    whole("count", count, least=1)
    points = np.linspace(0, horizon, min(count, horizon) + 1)[1:]
    return tuple(int(t) for t in np.unique(points.round()))


def run(plan: Plan, replications: Iterable[int], *, workers: int) -> Iterator[tuple[int, Record]]:
    """Play the replications; yield each as soon as it is finished, in no particular order.

    Only a few replications are queued at any time, so that millions of them take no memory.
    """
    whole("workers", workers, least=1)
    pool = ThreadPoolExecutor(max_workers=workers)
    waiting = iter(replications)
    running: dict[Future[Record], int] = {}
    try:
        while True:
            for index in islice(waiting, 2 * workers - len(running)):
                running[pool.submit(play_replication, plan, index)] = index
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def play_replication(plan: Plan, replication: int) -> Record:
    """Play one replication with every policy."""
    players = {name: _fresh(entry, replication) for name, entry in plan.policies.items()}
    waiting = [Waiting(plan.environment.dim) for _ in players]
    record = Record.empty(plan)
    lost, misses = np.zeros((2, len(players), 1))  # so far
    blocks = plan.environment.blocks(
        seed=plan.seed, replication=replication, stops=plan.estimate_rounds
    )
    recorded = np.array(plan.regret_rounds)
    for block in blocks:
        regret = np.empty((len(players), block.rounds))
        missing = np.empty((len(players), block.rounds if plan.coverage else 0))
        for index, player in enumerate(players.values()):
            _play(player, block, regret[index], missing[index], waiting[index])
        if block.last in plan.estimate_rounds:
            _write_estimates(players, record.estimates[:, plan.estimate_rounds.index(block.last)])
        columns = slice(*recorded.searchsorted([block.first, block.last + 1]))
        within = recorded[columns] - block.first
        record.regret[:, columns] = lost + regret[:, within]
        lost = lost + regret[:, -1:]
        if plan.coverage:
            missed = misses + np.cumsum(missing, axis=1)
            misses = missed[:, -1:]
            record.missed[:, columns] = missed[:, within]
            record.missing[:, columns] = missing[:, within]
        del block  # the next block reuses its memory
    return record._replace(
        detections=_detections(players), states=_states(players) if plan.final_states else {}
    )


def _fresh(entry: Contestant, replication: int) -> Player:
    if isinstance(entry, Policy):
        return entry.fresh(replication)
    player = entry(replication)
    if not isinstance(player, Player):
        raise TypeError(f"a player must have select and update, got {player!r}")
    return player


def _play(player: Player, block: Block, regret: Array, missing: Array, waiting: Waiting) -> None:
    """Play a block; see `Policy.play` for what is written to ``regret`` and ``missing``."""
    if isinstance(player, Policy):
        player.play(block, regret=regret, missing=missing, waiting=waiting)
        return
    kept, steps, rows = block.arrivals or Arrivals.on_time(block.rounds)
    waiting.reserve(rows)
    t, total = 0, 0.0
    for step in steps:
        if step != PLAY:
            known = waiting.rows[step]
            player.update(known[:-2].copy(), float(known[-2]))
            continue
        k, actions = _chosen(player, block, t)
        total += block.best[t] - block.means[t, k]
        regret[t] = total
        reward = float(block.means[t, k] + block.noise[t, min(k, block.noise.shape[1] - 1)])
        if kept[t] == AT_ONCE:
            player.update(actions[k], reward)
        elif kept[t] != NEVER:
            waiting.rows[kept[t]] = [*actions[k], reward, block.first + t]
        t += 1


def _chosen(player: Player, block: Block, t: int) -> tuple[int, Array]:
    """The player's choice in round ``t`` of the block, and the actions of that round (K, d)."""
    # A copy, so that a player that changes it does not affect the others.
    actions = np.array(block.actions[min(t, len(block.actions) - 1)].T)
    k: Any = player.select(actions)
    if isinstance(k, bool) or not (isinstance(k, (int, np.integer)) and 0 <= k < len(actions)):
        raise PlayerError(
            f"{type(player).__name__}.select must return an index below {len(actions)}, got {k!r}"
        )
    return int(k), actions


def _write_estimates(players: Mapping[str, Player], estimates: Array) -> None:
    """Write the players' current estimates, shape (P, d); those without one keep NaN."""
    for index, player in enumerate(players.values()):
        if hasattr(player, "theta"):
            estimates[index] = player.theta


def _detections(players: Mapping[str, Player]) -> Array:
    rows: list[Any] = [
        (index, round)
        for index, player in enumerate(players.values())
        for round in getattr(player, "detections", ())
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _states(players: Mapping[str, Player]) -> dict[str, Array]:
    return {
        f"{index}/{name}": array
        for index, player in enumerate(players.values())
        if isinstance(player, Policy)
        for name, array in player.state().items()
    }
