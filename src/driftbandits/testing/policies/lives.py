"""Random lives of policies, and comparisons of policies after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...events import Advance, Amend, Decide, Event, Forget, Learn, Select, Update
from ...policies import Policy
from ..contract import require

# Two ways to compute the same sums must agree to this. Rounding differs in the last few of 16
# digits. A solution loses as many more digits as the condition number of V has.
TOLERANCE = 1e-8

# The length of actions for a policy that accepts nearly any length.
USUAL_LENGTH = 10.0


def anew(policy: Policy, **changes: Any) -> Any:
    """A new policy with the same configuration, except for ``changes``."""
    return type(policy)(**{**policy.config, **changes})


def action_sets(policy: Policy, rounds: int, *, count: int = 6, seed: int = 3) -> Array:
    """Actions (T, K, d) in random directions, as long as the policy accepts, up to USUAL_LENGTH."""
    sets = np.random.default_rng(seed).standard_normal((rounds, count, policy.dim))
    lengths = np.linalg.norm(sets, axis=2, keepdims=True)
    return np.asarray(sets / lengths * min(policy.action_bound, USUAL_LENGTH))


def parameter(policy: Policy, seed: int) -> Array:
    """A random parameter for rewards, of length one, shape (d,)."""
    theta = np.random.default_rng(seed + 100).standard_normal(policy.dim)
    return np.asarray(theta / np.linalg.norm(theta))


def play(policy: Policy, rounds: int, *, seed: int = 3) -> list[int]:
    """Play, and return the choices; the parameter jumps half-way, and some rewards are late."""
    rng, theta = np.random.default_rng(seed), parameter(policy, seed)
    choices = []
    for t, actions in enumerate(action_sets(policy, rounds, seed=seed)):
        if t == rounds // 2:
            theta = -theta
        chosen = policy.select(actions)
        reward = float(actions[chosen] @ theta + 0.3 * rng.standard_normal())
        if t % 7 == 3:
            late = policy.round
            policy.advance()
            policy.update(actions[chosen], reward, round=late)
        else:
            policy.update(actions[chosen], reward)
        choices.append(chosen)
    return choices


class Observation(NamedTuple):
    """One action, its reward, and the round that it belongs to."""

    action: Array
    reward: float
    round: int


def observations(policy: Policy, rounds: int, *, seed: int = 5) -> list[Observation]:
    """Two observations per round, from round 1 to ``rounds``."""
    rng, theta = np.random.default_rng(seed), parameter(policy, seed)
    return [
        Observation(action, float(action @ theta + 0.3 * rng.standard_normal()), t)
        for t, pair in enumerate(action_sets(policy, rounds, count=2, seed=seed), start=1)
        for action in pair
    ]


def learn_on_time(policy: Policy, seen: list[Observation]) -> None:
    """Learn ``seen``, which is in order, one batch per round; close all rounds up to the last."""
    last = max((one.round for one in seen), default=0)
    for t in range(int(policy.round), last + 1):
        batch = [one for one in seen if one.round == t]
        if batch:
            policy.update(np.array([o.action for o in batch]), [o.reward for o in batch])
        else:
            policy.advance()


def life(policy: Policy, count: int, *, seed: int = 0) -> Iterator[Event]:
    """``count`` events of all kinds, in random order; the parameter jumps half-way."""
    rng, clock, theta = np.random.default_rng(seed), 0.0, parameter(policy, seed)
    offered = {name for name in ("amend", "forget") if not policy.refusal(name)}
    length, seen = min(policy.action_bound, USUAL_LENGTH), list[tuple[Array, float, float]]()

    def actions(number: int) -> Array:
        rows = rng.standard_normal((number, policy.dim))
        return np.asarray(length * rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def rewards(rows: Array) -> list[float]:
        return [float(row @ theta + 0.1 * rng.standard_normal()) for row in rows]

    for step in range(count):
        if step == count // 2:
            theta = -3 * theta
        kind = rng.integers(9)
        if kind <= 2:
            passed = 1.0 if kind else float(rng.choice([0.0, 0.5, 3.0]))
            yield Decide(actions(int(rng.integers(1, 9))), rounds=passed)
            clock += passed
        elif kind == 3:
            yield Select(actions(4))
        elif kind == 4:
            (action,) = rows = actions(1)
            (reward,) = rewards(rows)
            yield Update(action, reward)
            clock += 1.0
            seen.append((action, reward, clock))
        elif kind == 5:
            rows = actions(3)
            yield Update(rows, rewards(rows))
            clock += 1.0
        elif kind == 6 and clock >= 1.0:
            (action,) = rows = actions(1)
            (reward,) = rewards(rows)
            late = float(np.floor(rng.uniform(max(1.0, clock - 9), clock + 1)))
            yield Learn(action, reward, late)
            seen.append((action, reward, late))
        elif kind == 7 and seen and "amend" in offered:
            action, old, round = seen.pop(int(rng.integers(len(seen))))
            yield Amend(action, round, old, old + 1.0)
        elif step % 20 == 19 and "forget" in offered:
            yield Forget([int(rng.integers(policy.dim))])
            seen.clear()  # the policy no longer holds these as they were learned: none to amend
        else:
            passed = float(rng.choice([0.25, 1.0, 7.0]))
            yield Advance(passed)
            clock += passed


def require_same_bits(one: Policy, other: Policy, what: str) -> None:
    """Require that all arrays of the two states are equal, to the last bit."""
    require_state(one, other.state(), what)


def require_state(policy: Policy, expected: dict[str, Array], what: str) -> None:
    """Require that the state is ``expected``, to the last bit."""
    state = policy.state()
    require(state.keys() == expected.keys(), f"{what}; the states have different arrays")
    for name, array in state.items():
        other = expected[name]
        same = array.dtype == other.dtype and np.array_equal(array, other)
        require(same, f"{what}; array {name} of the state differs")


def require_finite(policy: Policy, what: str) -> None:
    """Require that all entries of the state are finite."""
    for name, array in policy.state().items():
        require(np.isfinite(array).all(), f"{what}; array {name} of the state is not finite")


def require_same_knowledge(one: Any, other: Any, what: str) -> None:
    """Require the same estimates and the same further decisions, up to rounding."""
    require(one.round == other.round, f"{what}; the rounds are {one.round} and {other.round}")
    sets = action_sets(one, 12, seed=77)
    for name in ("theta", "radius"):
        if hasattr(one, name):
            _require_close(getattr(one, name), getattr(other, name), f"{what}; {name}")
    if hasattr(one, "widths"):
        _require_close(one.widths(sets[0]), other.widths(sets[0]), f"{what}; widths")
    one, other = one.copy(), other.copy()
    for actions in sets:
        mine, theirs = one.decide(actions), other.decide(actions)
        _require_close(mine.scores, theirs.scores, f"{what}; the scores of a decision")
        gap = abs(mine.scores[mine.index] - mine.scores[theirs.index])
        tie = gap <= TOLERANCE * float(np.abs(mine.scores).max())
        require(mine.index == theirs.index or tie, f"{what}; the decisions differ")


def _require_close(mine: Any, theirs: Any, what: str) -> None:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    error, scale = np.abs(mine - theirs).max(), max(np.abs(mine).max(), np.abs(theirs).max())
    require(error <= TOLERANCE * scale, f"{what}: off by {error:.3g}, of {scale:.3g}")
