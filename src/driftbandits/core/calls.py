"""The everyday calls of a policy, one template each.

`driftbandits.core.entry_points` replaces the placeholders below with a policy's own kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .checks import LARGEST_REWARD, admissible, panel, transpose
from .clock import CLOCK, can_close
from .exploring import explored, mix_floor
from .packing import CHANGED, FRESH, LOOKED_AT, STALE, claim, release

# What an entry point returns instead of a result, with nothing changed.
REFUSED = -1  # the input is not admissible
FULL = -2  # an array has to grow first
STUCK = -3  # the clock cannot move that far


def _unbound(*arguments: Any) -> Any:
    """Placeholder that `entry_points` replaces with a policy's kernel."""
    raise RuntimeError("a template was called; entry_points makes functions of it")


unpack = choose = learn = advance = prepare = expect = late = _unbound
propensities = fits = amend = forget = begin_look = end_look = _unbound


def select_template(packed: Array, actions: Array) -> int:
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
    expect(parameters, state, room[:dim], k)
    release(packed)
    return k


def score_template(packed: Array, actions: Array, scores: Array) -> int:
    """Like `select_template`, without the floor, for a prepared state; also fills ``scores``.

    The caller has claimed the array, and releases it.
    """
    if not admissible(packed, actions):
        return REFUSED
    count, dim = actions.shape
    columns, scratch = np.empty((dim, count)), np.empty((dim + 2, panel(dim, count)))
    transpose(actions, columns)
    parameters, state = unpack(packed)
    return int(choose(parameters, state, columns, scratch, scores))


def decide_template(
    packed: Array, actions: Array, rounds: float, scores: Array, chances: Array, before: Array
) -> int:
    """Like `select_template`; then close ``rounds`` rounds.

    Fills ``scores`` and the propensities ``chances``, both (K,). ``before`` (1,) gets the clock
    before the decision: outside of this call, another thread could have moved it.
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
    expect(parameters, state, columns, k)
    if rounds > 0.0:
        packed[STALE] = CHANGED
        advance(parameters, state, rounds)
    release(packed)
    return k


def learn_one_template(
    packed: Array, action: Array, reward: float, rounds: float, observed: float
) -> int:
    """Close ``rounds`` rounds, then learn a reward.

    The reward belongs to the last round that was closed; if ``rounds`` is 0, to the round
    ``observed``. Returns 1 if done; otherwise REFUSED, FULL or STUCK.
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


def learn_many_template(
    packed: Array, actions: Array, rewards: Array, observed: Array, rounds: float, start: int
) -> int:
    """Close ``rounds`` rounds, then learn from every row from ``start`` on.

    If ``rounds`` is 0, the rows belong to the rounds ``observed``: (n,), or one for all.

    Returns the number of rows learned so far. If that is fewer than all, an array has to grow
    first; call again with ``start`` set to the returned number. In between, the call keeps its
    claim on the policy, so that no other call can come between. REFUSED and STUCK mean that
    nothing has changed.
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


def advance_template(packed: Array, rounds: float) -> int:
    """Close ``rounds`` rounds. Returns 1, FULL or STUCK."""
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


def prepare_template(packed: Array) -> None:
    """Compute what properties read, if the sums have changed; later decisions stay the same.

    The caller has claimed the array, and releases it.
    """
    if packed[STALE] == CHANGED:
        parameters, state = unpack(packed)
        begun = begin_look(parameters, state)
        prepare(parameters, state)
        end_look(parameters, state, begun)
        packed[STALE] = LOOKED_AT


def amend_template(packed: Array, action: Array, old: float, new: float, observed: float) -> int:
    """1 if the observation now has the reward ``new``, 0 if it was not known; or REFUSED."""
    # One by one: of NaN and a number, `max` may return the number.
    if not (
        admissible(packed, action.reshape((1, action.size)))
        and abs(old) <= LARGEST_REWARD
        and abs(new) <= LARGEST_REWARD
    ):
        return REFUSED
    claim(packed)
    packed[STALE] = CHANGED
    parameters, state = unpack(packed)
    age = state.counters[CLOCK] - observed
    known = bool(amend(parameters, state, action, old, new, age))
    release(packed)
    return int(known)


def forget_template(packed: Array, mask: Array) -> None:
    """Clear what is known along the coordinates where ``mask`` (d,) is 1."""
    claim(packed)
    packed[STALE] = CHANGED
    parameters, state = unpack(packed)
    forget(parameters, state, mask)
    release(packed)
