"""Refusals: bad input and a second thread change nothing, and the message says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from ...events import Advance, Learn
from ...policies import Policy
from ...policies.base import Operation
from ...policies.linear import LinearPolicy
from ..contract import require
from .lives import action_sets, anew, play, require_same_bits, require_state

NAN, INF = float("nan"), float("inf")
Call = Callable[[Any], Any]


def bad_input_is_refused(policy: Policy) -> None:
    """Bad input raises ValueError with the argument's name; state and later decisions stay."""
    mine, plain = anew(policy), anew(policy)
    for one in (mine, plain):
        play(one, 64)
    before = mine.state()
    for name, call in _bad_calls(mine):
        _require_refused(mine, call, name, ValueError)
        require_state(mine, before, f"a refusal of bad {name} must change nothing")
    same = play(mine, 30, seed=8) == play(plain, 30, seed=8)
    require(same, "a refusal must change no later decision")
    require_same_bits(mine, plain, "a refusal must change no later decision")


def _bad_calls(policy: Policy) -> Iterator[tuple[str, Call]]:
    """Calls that must be refused, each with the name of its wrong argument."""
    good = action_sets(policy, 1)[0]
    for bad in _bad_rows(policy):
        yield "actions", methodcaller("select", bad)
        yield "actions", methodcaller("decide", bad)
        yield "actions", methodcaller("update", bad, np.ones(len(bad)))
        yield "actions", methodcaller("update", bad, np.ones(len(bad)), round=3)
    for none in (np.zeros((0, policy.dim)), None, 1.0, [["a"] * policy.dim]):
        yield "actions", methodcaller("select", none)
        yield "actions", methodcaller("update", none, [1.0])
    for reward in (NAN, INF, -INF, 1e155, None, "good", [1.0], [1.0, 2.0]):
        yield "rewards", methodcaller("update", good[0], reward)
        yield "rewards", methodcaller("update", good[0], reward, round=3)
    many = np.repeat(good[:1], 500, axis=0)  # so many that arrays of the state would have to grow
    last = np.append(np.ones(499), NAN)
    for rewards in (last, 1.0, [1.0], [1.0, [2.0]]):
        yield "rewards", methodcaller("update", many, rewards)
    for round in (policy.round + 1, policy.round + 0.5, 0, 0.5, -3, NAN, INF, "soon", [1, 2, 3]):
        yield "round", methodcaller("update", good[:2], [1.0, 1.0], round=round)
    for rounds in (0, -1, -0.5, NAN, INF, -INF, "2", None, True, [1]):
        yield "rounds", methodcaller("advance", rounds=rounds)
    if not policy.refusal("amend"):
        for reward in (NAN, INF, -INF, 1e155, "good"):
            yield "old", methodcaller("amend", good[0], round=3, old=reward, new=1.0)
            yield "new", methodcaller("amend", good[0], round=3, old=1.0, new=reward)
    impossible = [Advance(1.0), Learn(good[0], NAN, 1)]
    yield "rewards", methodcaller("replay", impossible)


def _bad_rows(policy: Policy) -> Iterator[Any]:
    """Pairs of rows, at least one of which cannot be an action."""
    good = action_sets(policy, 1, count=1)[0, 0]
    for value in (NAN, INF, -INF):
        yield np.array([good, np.append(good[1:], value)])
    yield np.array([good, good / np.linalg.norm(good) * policy.action_bound * (1 + 1e-5)])
    yield np.zeros((2, policy.dim + 1))
    yield np.zeros((2, policy.dim), dtype=complex) + 1j


def a_second_thread_is_refused(policy: Policy) -> None:
    """A call while another one runs raises RuntimeError and changes nothing; later calls work."""
    mine = anew(policy)
    play(mine, 10)
    one, before = action_sets(policy, 1)[0], mine.state()
    calls: dict[str, Call] = {
        "select": methodcaller("select", one),
        "decide": methodcaller("decide", one),
        "update": methodcaller("update", one[0], 1.0),
        "a batch": methodcaller("update", one, np.ones(len(one))),
        "a late reward": methodcaller("update", one[0], 1.0, round=1),
        "advance": methodcaller("advance"),
        "replay": methodcaller("replay", [Advance(1.0)]),
        "state": methodcaller("state"),
        "copy": methodcaller("copy"),
        "restore": methodcaller("restore", before),
    }
    changes: dict[Operation, Call] = {
        "forget": methodcaller("forget", [0]),
        "widened": methodcaller("widened", dim=policy.dim + 1),
        "merged": lambda own: own.merged(own),
    }
    calls |= {name: call for name, call in changes.items() if not mine.refusal(name)}
    if isinstance(mine, LinearPolicy):
        calls |= {"theta": attrgetter("theta"), "radius": attrgetter("radius")}
        calls["widths"] = methodcaller("widths", one)
        if not mine.refusal("scores"):
            calls["scores"] = methodcaller("scores", one)
    for name, call in calls.items():
        with mine._alone():  # a call in another thread claims the policy in the same way
            _require_refused(mine, call, "two threads", RuntimeError)
        require_state(mine, before, f"{name} in a second thread must change nothing")
    for call in calls.values():
        call(mine)


def _require_refused(policy: Policy, call: Call, name: str, kind: type[Exception]) -> None:
    try:
        call(policy)
    except kind as error:
        told = str(error)
        require(name in told, f"a refusal must name what is wrong, {name}; it says: {told}")
    else:
        require(False, f"bad {name} must raise {kind.__name__}, and none was raised")


CHECKS = (bad_input_is_refused, a_second_thread_is_refused)
