"""Changes of memory: amended rewards, forgotten and added coordinates, merged policies.

Each check compares with a policy that saw the changed data from the start. If a policy's sums are
exact (``late_rewards`` is empty), both must agree. Otherwise the policy must continue to work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...policies import Policy
from ...policies.base import Operation
from ..contract import require
from .lives import (
    Observation,
    anew,
    learn_on_time,
    observations,
    play,
    require_finite,
    require_same_knowledge,
    require_state,
)


def amended_is_as_if_learned_so(policy: Policy) -> None:
    """After `amend`, a policy is as if it had learned the new reward in the first place."""
    seen = observations(policy, 30)
    mistaken = [
        one._replace(reward=one.reward - 2.0) if i % 3 == 0 else one for i, one in enumerate(seen)
    ]
    mine, truth = _lived(policy, mistaken), _lived(policy, seen)

    def amend(one: Observation, new: float) -> None:
        mine.amend(one.action, round=one.round, old=one.reward, new=new)

    if _refused(mine, "amend", lambda: amend(mistaken[0], 0.0)):
        return
    for wrong, right in zip(mistaken, seen, strict=True):
        if wrong is not right:
            amend(wrong, right.reward)
    last = seen[-1]._replace(round=mine.round)  # amended while its round is open, and again later
    for one, reward in ((mine, last.reward - 2.0), (truth, last.reward)):
        one.update(last.action, reward, round=last.round)
    amend(last._replace(reward=last.reward - 2.0), last.reward - 1.0)
    for one in (mine, truth):
        one.advance(rounds=2.5)
    amend(last._replace(reward=last.reward - 1.0), last.reward)
    for one in (mine, truth):
        one.advance(rounds=0.5)
    _require_as_if(mine, truth, "amend must leave what the new reward would have given")


def forgotten_is_as_if_zero(policy: Policy) -> None:
    """After `forget`, a policy is as if all past actions had been zero along the coordinates."""
    seen, fresh = observations(policy, 30), anew(policy)
    if _refused(fresh, "forget", lambda: fresh.forget([0])):
        return
    for gone in {0, policy.dim - 1}:
        mine = _lived(policy, seen)
        mine.forget([gone])
        truth = _lived(policy, [one._replace(action=_cleared(one.action, gone)) for one in seen])
        _require_as_if(mine, truth, "forget must leave what actions with zeros would have given")


def widened_is_as_if_always_wider(policy: Policy) -> None:
    """`widened` is as if a policy had always been wider and had seen zeros; the original stays."""
    seen, dim = observations(policy, 30), policy.dim + 2
    mine = _lived(policy, seen)
    if _refused(mine, "widened", lambda: mine.widened(dim=dim)):
        return
    before = mine.state()
    wider = mine.widened(dim=dim)
    require_state(mine, before, "widened must leave the policy as it is")
    require(wider.dim == dim, f"widened must return a policy of dim = {dim}, got {wider.dim}")
    padded = [one._replace(action=np.append(one.action, [0.0, 0.0])) for one in seen]
    truth = _lived(wider, padded)
    _require_as_if(wider, truth, "widened must know what zeros in new coordinates would have told")


def merged_is_as_if_one_had_seen_all(policy: Policy) -> None:
    """`merged` knows what both know, even if clocks differ; both policies stay unchanged."""
    seen = observations(policy, 30)
    first = [one for i, one in enumerate(seen) if i % 2 and one.round < 24]
    second = [one for one in seen if not any(one is other for other in first)]
    one, other = _lived(policy, first), _lived(policy, second)
    if _refused(one, "merged", lambda: one.merged(other)):
        return
    kept = one.state(), other.state()
    merged = one.merged(other)
    for each, state in zip((one, other), kept, strict=True):
        require_state(each, state, "merged must leave both policies as they are")
    truth = _lived(policy, seen)
    require(merged.round == truth.round, f"merged must be at round {truth.round}")
    require_same_knowledge(merged, truth, "merged must know what both know")


def _lived(policy: Policy, seen: list[Observation]) -> Any:
    mine = anew(policy)
    learn_on_time(mine, seen)
    return mine


def _cleared(action: Array, coordinate: int) -> Array:
    zeroed = action.copy()
    zeroed[coordinate] = 0.0
    return zeroed


def _require_as_if(mine: Policy, truth: Policy, promise: str) -> None:
    """Require the same knowledge, now and later, if sums are exact; otherwise a working policy."""
    require(mine.round == truth.round, f"{promise}; the rounds are {mine.round}, {truth.round}")
    if mine.late_rewards:
        play(mine, 20)
        require_finite(mine, promise)
    else:
        require_same_knowledge(mine, truth, promise)
        for one in (mine, truth):  # a difference in V alone shows after further learning
            learn_on_time(one, observations(one, int(truth.round) + 9, seed=6))
        require_same_knowledge(mine, truth, f"{promise}, later too")


def _refused(policy: Policy, operation: Operation, call: Callable[[], Any]) -> bool:
    """Whether the policy refuses the operation; it must then say why, and change nothing."""
    reason, before = policy.refusal(operation), policy.state()
    if not reason:
        return False
    try:
        call()
    except TypeError as error:
        require(reason in str(error), f"{operation} must be refused with its reason, got {error}")
    else:
        require(False, f"{operation} must raise TypeError where refusal() gives a reason")
    require_state(policy, before, f"{operation} must change nothing where it is refused")
    return True


CHECKS = (
    amended_is_as_if_learned_so,
    forgotten_is_as_if_zero,
    widened_is_as_if_always_wider,
    merged_is_as_if_one_had_seen_all,
)
