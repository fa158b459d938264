"""Events: calls, applied events, compiled replay and the simulator give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.blocks import Block
from ...events import (
    Advance,
    Amend,
    Decide,
    Decision,
    Event,
    Forget,
    Learn,
    Select,
    Update,
    pack,
)
from ...policies import Policy
from ..contract import require
from .lives import action_sets, anew, life, parameter, require_same_bits

LENGTH = 160
CUT = 37  # events per piece of a replay in pieces


def replay_is_the_calls(policy: Policy) -> None:
    """Calls, ``apply``, ``replay`` and a replay in pieces agree, with and without a floor."""
    for floor in (0.0, 0.3):
        called, applied, replayed, cut = (anew(policy, floor=floor) for _ in range(4))
        events = list(life(called, LENGTH))
        results = [call(called, event) for event in events]
        again = [applied.apply(event) for event in events]
        outcomes = replayed.replay(events)
        for start in range(0, LENGTH, CUT):
            cut.replay(pack(events[start : start + CUT], dim=policy.dim))
        for how, one in (("apply", applied), ("replay", replayed), ("replay in pieces", cut)):
            require_same_bits(one, called, f"{how} must give the bits of the calls")
        for i, (result, second) in enumerate(zip(results, again, strict=True)):
            same = np.array_equal(_told(result), _told(second), equal_nan=True)
            require(same, f"apply must return what the call returns, {result}, not {second}")
            outcome = (outcomes.indices[i], outcomes.rounds[i], outcomes.propensities[i])
            if isinstance(result, Decision):
                same = np.array_equal(outcome, _told(result), equal_nan=True)
            else:
                same = outcome[0] == _told(result)[0] and np.isnan(outcome[2])
            require(same, f"event {i} of a replay must have the outcome of its call, {result}")


def _told(result: Decision | int | None) -> tuple[float, float, float]:
    """Index, round and propensity that a call returned; −1 or NaN if it returned none."""
    if isinstance(result, Decision):
        return result.index, result.round, result.propensity
    return -1 if result is None else result, np.nan, np.nan


def call(policy: Policy, event: Event) -> Any:
    """Make the call that ``event`` records."""
    if isinstance(event, Select):
        return policy.select(event.actions)
    if isinstance(event, Decide):
        return policy.decide(event.actions, rounds=event.rounds)
    if isinstance(event, Update):
        return policy.update(event.actions, event.rewards)
    if isinstance(event, Learn):
        return policy.update(event.action, event.reward, round=event.round)
    if isinstance(event, Amend):
        return policy.amend(event.action, round=event.round, old=event.old, new=event.new)
    if isinstance(event, Advance):
        return policy.advance(rounds=event.rounds)
    if isinstance(event, Forget):
        return policy.forget(event.coordinates)
    raise TypeError(f"an event must be one of driftbandits.events, got {event!r}")


def the_simulator_plays_what_calls_would(policy: Policy) -> None:
    """`play` gives the same regret and the same bits as ``select`` and ``update``."""
    rounds = 90
    sets, rng = action_sets(policy, rounds, count=5), np.random.default_rng(2)
    thetas = np.array([parameter(policy, t) for t in range(rounds)])
    means = np.einsum("tki,ti->tk", sets, thetas)
    noise = 0.1 * rng.standard_normal((rounds, 1))
    columns = np.ascontiguousarray(sets.transpose(0, 2, 1))
    longest = float(np.linalg.norm(sets, axis=2).max())
    block = Block(1, columns, thetas, means, means.max(axis=1), noise, longest)
    for floor in (0.0, 0.2):
        played, called = anew(policy, floor=floor), anew(policy, floor=floor)
        regret, lost = np.empty(rounds), 0.0
        played.play(block, regret=regret)
        for t in range(rounds):
            k = called.select(sets[t])
            called.update(sets[t, k], float(means[t, k] + noise[t, 0]))
            lost += means[t].max() - means[t, k]
        require(regret[-1] == lost, f"play must have the regret of calls, {lost}: {regret[-1]}")
        require_same_bits(played, called, "play must give the bits of select and update")


CHECKS = (replay_is_the_calls, the_simulator_plays_what_calls_would)
