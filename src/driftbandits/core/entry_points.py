"""The compiled side of a policy: a few functions of its own, and what Python calls made of them.

A policy brings named tuples for its parameters (floats) and its state (arrays), and

    prepare(parameters, state)
        bring what is computed from the sums up to date with them; called before the others ask,
        perhaps more often than needed: it depends on the state alone, and draws nothing
    choose(parameters, state, columns, scratch, scores) -> index
        fill ``scores`` (K,) for the action set ``columns`` (d, K) and return the chosen column;
        ``scratch`` (d + 2, panel) may be overwritten; see `panel`
    learn(parameters, state, action, reward, age)
        take in one observation, made ``age`` rounds ago
    advance(parameters, state, rounds)
        close rounds: move the clock in ``state.counters[CLOCK]``, and forget
    late(parameters, state, age)
        note that an observation comes in that no closing round comes with; called before `learn`
    misses(parameters, state, theta) -> bool
        whether the confidence set, if there is one, does not hold ``theta``

The object, the simulator and everything later call these same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .arrays import Array
from .compiling import entry_point, inline_kernel, lean_kernel
from .linalg import inner
from .packing import ACTION_BOUND, DIM, STALE, Field, claim, release, unpacker

# The squares of rewards, and sums of them, stay far from overflow.
LARGEST_REWARD = 1e100

# Rounding of a norm at its bound passes, in single precision too; more does not.
NORM_SLACK = 1e-6

# Numbers of a panel of columns that the caches hold well (measured: 80,000 bytes are as fast as
# 8,000, 160,000 are slower; this is 98,304).
PANEL = 12_288


def _unbound(*arguments: Any) -> Any:
    """Stands in the templates below for what `entry_points` binds: a policy's own."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


unpack = choose = learn = advance = prepare = misses = late = _unbound


@inline_kernel
def nothing_to_prepare(parameters: Any, state: Any) -> None:
    """For policies that compute nothing beforehand."""


@inline_kernel
def late_is_no_matter(parameters: Any, state: Any, age: float) -> None:
    """For policies that count rounds alone."""


@inline_kernel
def never_misses(parameters: Any, state: Any, theta: Array) -> bool:
    """For policies without a confidence set."""
    return False


class Kernels(NamedTuple):
    """The mathematics of a policy, ready to be compiled into entry points."""

    name: str
    Parameters: type[Any]
    State: type[Any]
    choose: Callable[..., int]
    learn: Callable[..., None]
    advance: Callable[..., None]
    prepare: Callable[..., None] = nothing_to_prepare
    misses: Callable[..., bool] = never_misses
    late: Callable[..., None] = late_is_no_matter


class EntryPoints(NamedTuple):
    """What Python calls; each takes the packed policy first (`driftbandits.core.packing`)."""

    select: Callable[..., int]
    score: Callable[..., int]
    learn_one: Callable[..., bool]
    learn_many: Callable[..., bool]
    advance: Callable[..., None]
    prepare: Callable[..., None]
    play: Callable[..., bool]


@lean_kernel
def admissible(packed: Array, actions: Array) -> bool:
    """Whether there are rows (K, d), all finite and of a norm within the policy's bound."""
    limit = (packed[ACTION_BOUND] * (1.0 + NORM_SLACK)) ** 2
    for k in range(actions.shape[0]):
        if not inner(actions[k], actions[k]) <= limit:
            return False
    return bool(actions.shape[0] > 0 and actions.shape[1] == packed[DIM])


@lean_kernel
def fitting(actions: Array, thetas: Array, means: Array, best: Array, noise: Array) -> bool:
    """Whether the arrays of a block have the shapes that `Block` gives them, and some actions."""
    dim, count = actions.shape[1:]
    rounds = best.size
    return bool(
        count > 0
        and actions.shape[0] in (1, rounds)
        and thetas.shape[0] == rounds
        and thetas.shape[1] == dim
        and means.shape[0] == rounds
        and means.shape[1] == count
        and noise.shape[0] == rounds
        and noise.shape[1] in (1, count)
    )


@lean_kernel
def panel(dim: int, count: int) -> int:
    """Columns to take at a time out of ``count``: all, or equal parts; a multiple of four.

    Vector instructions take four at a time, and what is left over one by one.
    """
    parts = 1 + (count - 1) // max(PANEL // dim, 16)
    width = 1 + (count - 1) // parts
    return (width + 3) // 4 * 4


@lean_kernel
def transpose(actions: Array, columns: Array) -> None:
    """columns ← actionsᵀ."""
    for i in range(actions.shape[1]):
        row = columns[i]
        for k in range(row.size):
            row[k] = actions[k, i]


def _select(packed: Array, actions: Array) -> int:
    """Index of the action chosen from ``actions`` (K, d), or −1 where they are not admissible."""
    if not admissible(packed, actions):
        return -1
    count, dim = actions.shape
    room, scratch = np.empty((dim + 1, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, room[:dim])
    claim(packed)
    parameters, state = unpack(packed)
    if packed[STALE] != 0.0:
        prepare(parameters, state)
        packed[STALE] = 0.0
    chosen = int(choose(parameters, state, room[:dim], scratch, room[dim]))
    release(packed)
    return chosen


def _score(packed: Array, actions: Array, scores: Array) -> int:
    """The same, with the ``scores`` (K,)."""
    if not admissible(packed, actions):
        return -1
    count, dim = actions.shape
    columns, scratch = np.empty((dim, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, columns)
    claim(packed)
    parameters, state = unpack(packed)
    if packed[STALE] != 0.0:
        prepare(parameters, state)
        packed[STALE] = 0.0
    chosen = int(choose(parameters, state, columns, scratch, scores))
    release(packed)
    return chosen


def _learn_one(packed: Array, action: Array, reward: float) -> bool:
    """Close a round, then learn its reward. Nothing happens where action (d,) or reward is bad."""
    if not (admissible(packed, action.reshape((1, action.size))) and abs(reward) <= LARGEST_REWARD):
        return False
    claim(packed)
    packed[STALE] = 1.0
    parameters, state = unpack(packed)
    advance(parameters, state, 1.0)
    learn(parameters, state, action, reward, 0.0)
    release(packed)
    return True


def _learn_many(packed: Array, actions: Array, rewards: Array, ages: Array, rounds: float) -> bool:
    """Close ``rounds`` rounds, then learn from every row. Nothing happens where one is bad."""
    if not admissible(packed, actions):
        return False
    for n in range(rewards.size):
        if not abs(rewards[n]) <= LARGEST_REWARD:
            return False
    claim(packed)
    packed[STALE] = 1.0
    parameters, state = unpack(packed)
    if rounds > 0.0:
        advance(parameters, state, rounds)
    for n in range(rewards.size):
        age = ages[min(n, ages.size - 1)]
        if rounds == 0.0:
            late(parameters, state, age)
        learn(parameters, state, actions[n], rewards[n], age)
    release(packed)
    return True


def _advance(packed: Array, rounds: float) -> None:
    claim(packed)
    packed[STALE] = 1.0
    parameters, state = unpack(packed)
    advance(parameters, state, rounds)
    release(packed)


def _prepare(packed: Array) -> None:
    claim(packed)
    parameters, state = unpack(packed)
    prepare(parameters, state)
    packed[STALE] = 0.0
    release(packed)


def _play(
    packed: Array,
    actions: Array,
    thetas: Array,
    means: Array,
    best: Array,
    noise: Array,
    regret: Array,
    missing: Array,
) -> bool:
    """Play the rounds of a block, or none where the shapes do not fit; see `Policy.play`."""
    if not fitting(actions, thetas, means, best, noise):
        return False
    claim(packed)
    parameters, state = unpack(packed)
    dim, count = actions.shape[1:]
    scratch = np.empty((dim + 2, panel(dim, count)))
    scores, action = np.empty(count), np.empty(dim)
    packed[STALE], total = 1.0, 0.0
    for t in range(best.size + 1):
        prepare(parameters, state)
        if t == best.size:  # for whoever reads the estimate next
            break
        if missing.size > 0:
            missing[t] = 1.0 if misses(parameters, state, thetas[t]) else 0.0
        columns = actions[min(t, actions.shape[0] - 1)]
        k = choose(parameters, state, columns, scratch, scores)
        total += best[t] - means[t, k]
        regret[t] = total
        for i in range(dim):
            action[i] = columns[i, k]
        reward = means[t, k] + noise[t, min(k, noise.shape[1] - 1)]
        advance(parameters, state, 1.0)
        learn(parameters, state, action, reward, 0.0)
    packed[STALE] = 0.0
    release(packed)
    return True


@cache
def entry_points(kernels: Kernels, fields: tuple[Field, ...]) -> EntryPoints:
    """The entry points of a policy's kernels, for a state of ``fields``; compiled on first call."""
    names = kernels._asdict()
    label = "_".join([names.pop("name"), *(f"{field.ndim}{field.dtype.kind}" for field in fields)])
    names["unpack"] = unpacker(names["Parameters"], names["State"], fields)
    templates = EntryPoints(_select, _score, _learn_one, _learn_many, _advance, _prepare, _play)
    return EntryPoints(*(entry_point(template, label, **names) for template in templates))
