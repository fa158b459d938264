"""The compiled side of a policy: a few functions of its own, and what Python calls made of them.

A policy brings named tuples for its parameters (floats) and its state (arrays), and these kernels.
Required:

    choose(parameters, state, columns, scratch, scores) -> index
        fill ``scores`` (K,) for the action set ``columns`` (d, K) and return the chosen column;
        ``scratch`` (d + 2, panel) may be overwritten; see `panel`
    learn(parameters, state, action, reward, age)
        take in one observation, made ``age`` rounds ago
    advance(parameters, state, rounds)
        close rounds: move the clock in ``state.counters[CLOCK]``, and forget

Optional, with a default each:

    prepare(parameters, state)
        compute what `choose` reads (a factor, an estimate, a radius) from the sums. Called before a
        choice if the sums have changed, perhaps more often: it depends on the state alone, and
        draws nothing
    propensities(parameters, state, columns, scratch, scores, rule, chances)
        fill ``chances`` (K,) with the probability that `choose` gives each column; called after it
        has filled ``scores`` and given ``rule``. NaN where there is no closed form. Without it: 1
        for ``rule`` and 0 for the others, for rules that draw nothing
    late(parameters, state, age)
        note that an observation comes in that no closing round comes with; called before `learn`
    misses(parameters, state, theta) -> bool
        whether the confidence set does not hold ``theta``. Without it there is no such set
    fits(parameters, state, rounds) -> bool
        whether the arrays have room for one more observation and for what ``rounds`` rounds may
        add. Where it says no, Python makes room (`Policy._grown`) and the call goes on. Without it
        no array grows
    amend(parameters, state, action, old, new, age) -> bool
        replace the reward ``old`` of an observation made ``age`` rounds ago by ``new``;
        False where no such observation is known. Without it amendments are refused
    forget(parameters, state, mask)
        clear what is known along the coordinates where ``mask`` (d,) is 1: as if every action had
        had a zero there. Without it this is refused

The object, the simulator, replay and the service call these same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from .arrays import Array
from .checks import LARGEST_REWARD, admissible, fitting, panel, transpose
from .clock import CLOCK, can_close
from .compiling import entry_suite, lean_kernel
from .exploring import explored, mix_floor, only
from .late_playing import play_late_template
from .packing import CHANGED, FRESH, STALE, Field, claim, release
from .replaying import replay_template
from .unpacking import unpacker

# What an entry point returns instead of a result, with nothing changed.
REFUSED = -1  # the input is not admissible
FULL = -2  # an array has to grow first
STUCK = -3  # the clock cannot move by so much


def _unbound(*arguments: Any) -> Any:
    """Placeholder in the templates below, which `entry_points` replaces by a policy's own."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


unpack = choose = learn = advance = prepare = misses = late = _unbound
propensities = fits = amend = forget = _unbound


@lean_kernel
def nothing_to_prepare(parameters: Any, state: Any) -> None:
    """For policies that compute nothing beforehand."""


@lean_kernel
def late_is_no_matter(parameters: Any, state: Any, age: float) -> None:
    """For policies that count rounds alone."""


@lean_kernel
def never_misses(parameters: Any, state: Any, theta: Array) -> bool:
    """For policies without a confidence set."""
    return False


@lean_kernel
def certain(
    parameters: Any,
    state: Any,
    columns: Array,
    scratch: Array,
    scores: Array,
    rule: int,
    chances: Array,
) -> None:
    """For policies that draw nothing."""
    only(rule, chances)


@lean_kernel
def always_fits(parameters: Any, state: Any, rounds: float) -> bool:
    """For policies whose arrays never grow."""
    return True


@lean_kernel
def cannot_amend(
    parameters: Any, state: Any, action: Array, old: float, new: float, age: float
) -> bool:
    """For policies that refuse amendments."""
    return False


@lean_kernel
def cannot_forget(parameters: Any, state: Any, mask: Array) -> None:
    """For policies that refuse to forget coordinates."""


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
    propensities: Callable[..., None] = certain
    fits: Callable[..., bool] = always_fits
    amend: Callable[..., bool] = cannot_amend
    forget: Callable[..., None] = cannot_forget


class EntryPoints(NamedTuple):
    """What Python calls; each takes the packed policy first (`driftbandits.core.packing`)."""

    select: Callable[..., int]
    score: Callable[..., int]
    decide: Callable[..., int]
    propensities: Callable[..., int]
    learn_one: Callable[..., int]
    learn_many: Callable[..., int]
    advance: Callable[..., int]
    prepare: Callable[..., None]
    amend: Callable[..., int]
    forget: Callable[..., None]
    play: Callable[..., int]
    play_late: Callable[..., int]
    replay: Callable[..., int]


def _select(packed: Array, actions: Array) -> int:
    """Index of the action chosen from ``actions`` (K, d), or REFUSED."""
    if not admissible(packed, actions):
        return REFUSED
    count, dim = actions.shape
    room, scratch = np.empty((dim + 1, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, room[:dim])
    claim(packed)
    parameters, state = unpack(packed)
    if packed[STALE] != FRESH:
        prepare(parameters, state)
        packed[STALE] = FRESH
    k = explored(packed, choose(parameters, state, room[:dim], scratch, room[dim]), count)
    release(packed)
    return k


def _score(packed: Array, actions: Array, scores: Array) -> int:
    """Like `_select`, without the floor, for a state that is prepared; also fills ``scores``.

    The caller has claimed the array, and releases it.
    """
    if not admissible(packed, actions):
        return REFUSED
    count, dim = actions.shape
    columns, scratch = np.empty((dim, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, columns)
    parameters, state = unpack(packed)
    return int(choose(parameters, state, columns, scratch, scores))


def _decide(
    packed: Array, actions: Array, rounds: float, scores: Array, chances: Array, before: Array
) -> int:
    """Like `_select`; then close ``rounds`` rounds.

    Fills ``scores`` and the propensities ``chances``, both (K,), and ``before`` (1,) with the clock
    before: asked for outside of this call, it might be that of another thread's decision.
    """
    if not admissible(packed, actions):
        return REFUSED
    count, dim = actions.shape
    columns, scratch = np.empty((dim, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, columns)
    claim(packed)
    parameters, state = unpack(packed)
    clock = state.counters[CLOCK]
    before[0] = clock
    closable = can_close(clock, rounds)
    if not (closable and fits(parameters, state, rounds)):
        release(packed)
        return FULL if closable else STUCK
    if packed[STALE] != FRESH:
        prepare(parameters, state)
        packed[STALE] = FRESH
    rule = choose(parameters, state, columns, scratch, scores)
    propensities(parameters, state, columns, scratch, scores, rule, chances)
    mix_floor(packed, rule, chances)
    k = explored(packed, rule, count)
    if rounds > 0.0:
        packed[STALE] = CHANGED
        advance(parameters, state, rounds)
    release(packed)
    return k


def _propensities(packed: Array, actions: Array, chances: Array) -> int:
    """The propensities of `_decide`; what is drawn on the way is used up."""
    if not admissible(packed, actions):
        return REFUSED
    count, dim = actions.shape
    room, scratch = np.empty((dim + 1, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, room[:dim])
    claim(packed)
    parameters, state = unpack(packed)
    if packed[STALE] != FRESH:
        prepare(parameters, state)
        packed[STALE] = FRESH
    rule = choose(parameters, state, room[:dim], scratch, room[dim])
    propensities(parameters, state, room[:dim], scratch, room[dim], rule, chances)
    mix_floor(packed, rule, chances)
    release(packed)
    return 0


def _learn_one(packed: Array, action: Array, reward: float, rounds: float, observed: float) -> int:
    """Close ``rounds`` rounds, then learn a reward: of the last one, or if none, of ``observed``.

    1 if done; otherwise REFUSED, FULL or STUCK.
    """
    if not (admissible(packed, action.reshape((1, action.size))) and abs(reward) <= LARGEST_REWARD):
        return REFUSED
    claim(packed)
    parameters, state = unpack(packed)
    done = 1 if can_close(state.counters[CLOCK], rounds) else STUCK
    if done > 0 and not fits(parameters, state, rounds):
        done = FULL
    if done > 0:
        packed[STALE] = CHANGED
        age = 0.0
        if rounds > 0.0:
            advance(parameters, state, rounds)
        else:
            age = state.counters[CLOCK] - observed
            late(parameters, state, age)
        learn(parameters, state, action, reward, age)
    release(packed)
    return done


def _learn_many(
    packed: Array, actions: Array, rewards: Array, observed: Array, rounds: float, start: int
) -> int:
    """Close ``rounds`` rounds, then learn from every row from ``start`` on.

    Where none is closed, the rows are those of the rounds ``observed``, (n,) or one for all.

    Returns how many are learned by now, fewer than all where an array has to grow first; or
    REFUSED or STUCK, with nothing changed. ``start`` is 0, or what an earlier call returned. A call
    that has begun and not finished keeps its claim: nobody else's comes in between.
    """
    if start == 0:
        if not admissible(packed, actions):
            return REFUSED
        for n in range(rewards.size):
            if not abs(rewards[n]) <= LARGEST_REWARD:
                return REFUSED
        claim(packed)
    parameters, state = unpack(packed)
    done = start
    if start == 0 and not can_close(state.counters[CLOCK], rounds):
        done = STUCK
    while 0 <= done < rewards.size:
        closing, age = rounds if done == 0 else 0.0, 0.0
        if rounds == 0.0:
            age = state.counters[CLOCK] - observed[min(done, observed.size - 1)]
        if not fits(parameters, state, closing):
            break
        packed[STALE] = CHANGED
        if closing > 0.0:
            advance(parameters, state, closing)
        if rounds == 0.0:
            late(parameters, state, age)
        learn(parameters, state, actions[done], rewards[done], age)
        done += 1
    if not 0 < done < rewards.size:
        release(packed)
    return done


def _advance(packed: Array, rounds: float) -> int:
    """Close ``rounds`` rounds: 1, or FULL or STUCK."""
    claim(packed)
    parameters, state = unpack(packed)
    done = 1 if can_close(state.counters[CLOCK], rounds) else STUCK
    if done > 0 and not fits(parameters, state, rounds):
        done = FULL
    if done > 0:
        packed[STALE] = CHANGED
        advance(parameters, state, rounds)
    release(packed)
    return done


def _prepare(packed: Array) -> None:
    """Compute what `choose` reads; the caller has claimed the array, and releases it."""
    parameters, state = unpack(packed)
    prepare(parameters, state)
    packed[STALE] = FRESH


def _amend(packed: Array, action: Array, old: float, new: float, observed: float) -> int:
    """1 if the observation now has the reward ``new``, 0 if it was not known; or REFUSED."""
    if not (
        admissible(packed, action.reshape((1, action.size)))
        and max(abs(old), abs(new)) <= LARGEST_REWARD
    ):
        return REFUSED
    claim(packed)
    packed[STALE] = CHANGED
    parameters, state = unpack(packed)
    age = state.counters[CLOCK] - observed
    known = bool(amend(parameters, state, action, old, new, age))
    release(packed)
    return int(known)


def _forget(packed: Array, mask: Array) -> None:
    claim(packed)
    packed[STALE] = CHANGED
    parameters, state = unpack(packed)
    forget(parameters, state, mask)
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
    start: int,
) -> int:
    """Play the rounds of a block from ``start`` on; see `Policy.play`.

    Returns how many are played by now, fewer than all where an array has to grow first; or REFUSED
    where the shapes do not fit. The claim is kept as by `_learn_many`.
    """
    if not fitting(actions, thetas, means, best, noise):
        return REFUSED
    if start == 0:
        claim(packed)
    parameters, state = unpack(packed)
    dim, count = actions.shape[1:]
    scratch = np.empty((dim + 2, panel(dim, count)))
    scores, action = np.empty(count), np.empty(dim)
    packed[STALE] = CHANGED
    t, total = start, regret[start - 1] if start > 0 else 0.0
    while t < best.size and fits(parameters, state, 1.0):
        prepare(parameters, state)
        if missing.size > 0:
            missing[t] = 1.0 if misses(parameters, state, thetas[t]) else 0.0
        columns = actions[min(t, actions.shape[0] - 1)]
        k = explored(packed, choose(parameters, state, columns, scratch, scores), count)
        total += best[t] - means[t, k]
        regret[t] = total
        for i in range(dim):
            action[i] = columns[i, k]
        reward = means[t, k] + noise[t, min(k, noise.shape[1] - 1)]
        advance(parameters, state, 1.0)
        learn(parameters, state, action, reward, 0.0)
        t += 1
    if not 0 < t < best.size:
        release(packed)
    return t


# Types of arguments; the packed policy comes first.
_VECTOR, _MATRIX, _BLOCK, _INTEGERS = float64[::1], float64[:, ::1], float64[:, :, ::1], int64[::1]

# What is compiled together: the everyday calls, and what not everybody needs. A simulation that
# records estimates needs `prepare`, and no other everyday call.
_SUITES: tuple[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]], ...] = (
    {
        "select": (_select, (_VECTOR, _MATRIX)),
        "score": (_score, (_VECTOR, _MATRIX, _VECTOR)),
        "decide": (_decide, (_VECTOR, _MATRIX, float64, _VECTOR, _VECTOR, _VECTOR)),
        "learn_one": (_learn_one, (_VECTOR, _VECTOR, float64, float64, float64)),
        "learn_many": (_learn_many, (_VECTOR, _MATRIX, _VECTOR, _VECTOR, float64, int64)),
        "advance": (_advance, (_VECTOR, float64)),
    },
    {
        "prepare": (_prepare, (_VECTOR,)),
    },
    {
        "amend": (_amend, (_VECTOR, _VECTOR, float64, float64, float64)),
        "forget": (_forget, (_VECTOR, _VECTOR)),
    },
    {
        "propensities": (_propensities, (_VECTOR, _MATRIX, _VECTOR)),
    },
    {
        "play": (
            _play,
            (_VECTOR, _BLOCK, _MATRIX, _MATRIX, _VECTOR, _MATRIX, _VECTOR, _VECTOR, int64),
        ),
    },
    {
        "play_late": (
            play_late_template,
            (
                *(_VECTOR, _BLOCK, _MATRIX, _MATRIX, _VECTOR, _MATRIX, _VECTOR, _VECTOR),
                *(_INTEGERS, _INTEGERS, _MATRIX, int64),
            ),
        ),
    },
    {
        "replay": (
            replay_template,
            (_VECTOR, *[_INTEGERS] * 3, *[_MATRIX] * 2, int64, _INTEGERS, _VECTOR, _INTEGERS),
        ),
    },
)


@cache
def entry_points(kernels: Kernels, fields: tuple[Field, ...]) -> EntryPoints:
    """The entry points of a policy's kernels, for a state of ``fields``; compiled on first call."""
    names = kernels._asdict()
    label = "_".join([names.pop("name"), *(f"{field.ndim}{field.dtype.kind}" for field in fields)])
    names["unpack"] = unpacker(names["Parameters"], names["State"], fields)
    calls: dict[str, Callable[..., Any]] = {}
    for suite in _SUITES:
        calls |= entry_suite(suite, label, **names)
    return EntryPoints(**calls)
