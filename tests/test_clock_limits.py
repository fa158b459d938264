"""A clock raises an error if it cannot count any further, or if rounding would stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, DLinUCB, LinUCB, Policy, Random, SWLinUCB
from driftbandits.core.blocks import Block
from driftbandits.core.clock import LAST_ROUND
from driftbandits.core.storage import StateFileError
from driftbandits.events import Advance, Decide, Update

MAKERS: list[Callable[[], Policy]] = [
    lambda: LinUCB(dim=2),
    lambda: DLinUCB(dim=2, gamma=0.9),
    lambda: SWLinUCB(dim=2, window=5),
    lambda: AdaptiveLinUCB(dim=2),
    lambda: Random(dim=2),
]
TOO_FAR = "rounds must leave the clock at 9007199254740991 or before"

block = Block(
    first=1,
    actions=np.eye(2).reshape(1, 2, 2),
    parameters=np.zeros((2, 2)),
    means=np.zeros((2, 2)),
    best=np.zeros(2),
    noise=np.zeros((2, 1)),
    longest=1.0,
)

CALLS: dict[str, Callable[[Policy], Any]] = {
    "advance": lambda policy: policy.advance(),
    "a nanosecond clock": lambda policy: policy.advance(rounds=1.7e18),
    "decide": lambda policy: policy.decide(np.eye(2)),
    "update": lambda policy: policy.update(np.array([1.0, 0.0]), 1.0),
    "batch": lambda policy: policy.update(np.eye(2), np.ones(2)),
    "play": lambda policy: policy.play(block, regret=np.zeros(2)),
    "replayed advance": lambda policy: policy.replay([Advance(1.0)]),
    "replayed decide": lambda policy: policy.replay([Decide(np.eye(2))]),
    "replayed update": lambda policy: policy.replay([Update([1.0, 0.0], 1.0)]),
}


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: type(make()).__name__)
def test_no_round_beyond_the_last_is_closed(make: Callable[[], Policy]) -> None:
    policy = make()
    policy.update([1.0, 0.0], 1.0)
    policy.advance(rounds=LAST_ROUND - 1)
    assert policy.round == 2**53
    before = policy.state()
    for call in CALLS.values():
        with pytest.raises(ValueError, match=TOO_FAR):
            call(policy)
    assert policy.round == 2**53
    for name, array in policy.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    policy.decide(np.eye(2), rounds=0)
    policy.update([0.0, 1.0], 1.0, round=policy.round - 1)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: type(make()).__name__)
def test_a_fraction_that_would_leave_the_clock_where_it_is_is_refused(
    make: Callable[[], Policy],
) -> None:
    policy = make()
    policy.advance(rounds=1e9)
    for call in (
        lambda: policy.advance(rounds=1e-9),
        lambda: policy.decide(np.eye(2), rounds=1e-9),
        lambda: policy.replay([Advance(1e-9)]),
    ):
        with pytest.raises(ValueError, match="rounds must move the clock"):
            call()
    policy.advance(rounds=1e-6)
    assert policy.round > 10**9 + 1


@pytest.mark.parametrize("clock", [-1.0, 2.0**53, 1e300])
def test_a_saved_clock_that_cannot_be_is_refused(clock: float) -> None:
    policy = LinUCB(dim=2)
    state = policy.state()
    state["counters"][0] = clock
    with pytest.raises(StateFileError, match="clock"):
        policy.restore(state)
