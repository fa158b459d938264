"""The compiled side of a policy: a few functions of its own, and what Python calls made of them.

A policy brings named tuples for its parameters (floats) and its state (arrays), and

    choose(parameters, state, columns, scratch, scores) -> index
        fill ``scores`` (K,) for the action set ``columns`` (d, K) and return the chosen column;
        ``scratch`` (d + 2, K) may be overwritten
    learn(parameters, state, action, reward, age)
        take in one observation, made ``age`` rounds ago
    advance(parameters, state, rounds)
        close rounds: move the clock in ``state.counters[CLOCK]``, and forget
    misses(parameters, state, theta) -> bool
        whether the confidence set, if there is one, does not hold ``theta``

The object, the simulator and everything later call these same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._compile import entry_point, lean_kernel
from ..arrays import Array

# Rounding of a norm at its bound passes, in single precision too; more does not.
NORM_SLACK = 1e-6


def _unbound(*arguments: Any) -> Any:
    """Stands in the templates below for what `entry_points` binds: a policy's own."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


Parameters = State = choose = learn = advance = misses = _unbound


@lean_kernel
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
    misses: Callable[..., bool] = never_misses


class EntryPoints(NamedTuple):
    """What Python calls. Parameters and state come flat: named tuples are slow to hand over."""

    select: Callable[..., int]
    update: Callable[..., bool]
    advance: Callable[..., None]
    play: Callable[..., None]


@lean_kernel
def admissible(actions: Array, action_bound: float) -> bool:
    """Whether every row of ``actions`` is finite and of norm at most ``action_bound``."""
    limit = (action_bound * (1.0 + NORM_SLACK)) ** 2
    for k in range(actions.shape[0]):
        total = 0.0
        for i in range(actions.shape[1]):
            total += actions[k, i] * actions[k, i]
        if not total <= limit:
            return False
    return True


@lean_kernel
def argmax(values: Array) -> int:
    """Index of the largest value, the first of equals."""
    best = 0
    for k in range(1, values.size):
        if values[k] > values[best]:
            best = k
    return best


def _select(
    parameters: Any, action_bound: float, actions: Array, scores: Array, *state: Any
) -> int:
    """Index of the action chosen from ``actions`` (K, d), or −1 where they are not admissible."""
    if not admissible(actions, action_bound):
        return -1
    count, dim = actions.shape
    columns = np.empty((dim, count))
    for k in range(count):
        for i in range(dim):
            columns[i, k] = actions[k, i]
    scratch = np.empty((dim + 2, count))
    return int(choose(Parameters(*parameters), State(*state), columns, scratch, scores))


def _update(
    parameters: Any,
    action_bound: float,
    actions: Array,
    rewards: Array,
    ages: Array,
    rounds: float,
    *state: Any,
) -> bool:
    """Close ``rounds`` rounds, then learn from every row. Nothing happens where one is bad."""
    if not admissible(actions, action_bound):
        return False
    for n in range(rewards.size):
        if not np.isfinite(rewards[n]):
            return False
    named_parameters, named_state = Parameters(*parameters), State(*state)
    if rounds > 0.0:
        advance(named_parameters, named_state, rounds)
    for n in range(rewards.size):
        learn(named_parameters, named_state, actions[n], rewards[n], ages[min(n, ages.size - 1)])
    return True


def _advance(parameters: Any, rounds: float, *state: Any) -> None:
    advance(Parameters(*parameters), State(*state), rounds)


def _play(
    parameters: Any,
    actions: Array,
    means: Array,
    best: Array,
    noise: Array,
    thetas: Array,
    regret: Array,
    missing: Array,
    *state: Any,
) -> None:
    """Play a block of rounds against an environment that was drawn beforehand.

    ``actions`` (n or 1, d, K), ``means`` (n, K) with their maxima ``best`` (n,), ``noise`` (n, K
    or 1) and true parameters ``thetas`` (n, d). The regret of every round goes to ``regret`` (n,).
    ``missing`` (n,), unless it is empty, gets a 1 where the confidence set that a round starts
    from does not hold its parameter.
    """
    named_parameters, named_state = Parameters(*parameters), State(*state)
    dim, count = actions.shape[1:]
    scratch, scores, action = np.empty((dim + 2, count)), np.empty(count), np.empty(dim)
    for t in range(means.shape[0]):
        if missing.size > 0:
            missing[t] = 1.0 if misses(named_parameters, named_state, thetas[t]) else 0.0
        columns = actions[min(t, actions.shape[0] - 1)]
        k = choose(named_parameters, named_state, columns, scratch, scores)
        regret[t] = best[t] - means[t, k]
        for i in range(dim):
            action[i] = columns[i, k]
        reward = means[t, k] + noise[t, min(k, noise.shape[1] - 1)]
        advance(named_parameters, named_state, 1.0)
        learn(named_parameters, named_state, action, reward, 0.0)


@cache
def entry_points(kernels: Kernels) -> EntryPoints:
    """The entry points of a policy's kernels, compiled on their first call."""
    names = kernels._asdict()
    label = names.pop("name")
    return EntryPoints(
        select=entry_point(_select, label, **names),
        update=entry_point(_update, label, **names),
        advance=entry_point(_advance, label, **names),
        play=entry_point(_play, label, **names),
    )
