"""Rewards that come late, or never, in the simulator."""

from __future__ import annotations

import heapq
from math import inf
from typing import Any

import numpy as np
import pytest

from driftbandits import AdaptiveLinUCB, DLinUCB, Policy, SWLinUCB
from driftbandits.core.blocks import Arrivals, Waiting
from driftbandits.core.randomness import stream
from driftbandits.environments import (
    ClippedCube,
    Environment,
    FixedDelay,
    Gaussian,
    GeometricDelay,
    Missing,
    RandomJumps,
)
from driftbandits.simulation import Recording, simulate

SEED = 4
POLICIES = {
    "D-LinUCB": DLinUCB(dim=2, gamma=0.98),
    "SW-LinUCB": SWLinUCB(dim=2, window=60),
    "AdaptiveLinUCB": AdaptiveLinUCB(dim=2),
}
DELAYS: dict[str, Any] = {
    "at once": FixedDelay(0),
    "fixed": FixedDelay(5),
    "random": GeometricDelay(12.0),
    "random and missing": Missing(share=0.3, delays=GeometricDelay(12.0)),
    "missing": Missing(share=0.3),
}


def environment(delays: Any, horizon: int = 600) -> Environment:
    return Environment(
        path=RandomJumps(dim=2, change_points=(301,)),
        actions=ClippedCube(dim=2, count=6),
        noise=Gaussian(0.5),
        horizon=horizon,
        delays=delays,
    )


def calls(policy: Policy, source: Environment) -> float:
    """The regret of a run by ``select``, ``advance`` and ``update(round=)``, in order of delays."""
    assert source.delays is not None
    lateness = source.delays.start(stream(SEED, "delays", 0))(source.horizon)
    lost, waiting = 0.0, list[tuple[float, int, list[float], float]]()
    for block in source.blocks(seed=SEED, replication=0):
        for t in range(block.rounds):
            now, actions = block.first + t, block.actions[t].T.copy()
            k = policy.select(actions)
            lost += block.best[t] - block.means[t, k]
            reward = float(block.means[t, k] + block.noise[t, 0])
            if lateness[now - 1] == 0:
                policy.update(actions[k], reward)
            else:
                policy.advance()
            if 0 < lateness[now - 1] < inf:
                due = now + lateness[now - 1]
                heapq.heappush(waiting, (due, now, list(actions[k]), reward))
            while waiting and waiting[0][0] <= now:
                _, then, action, gained = heapq.heappop(waiting)
                policy.update(action, gained, round=then)
    return lost


@pytest.mark.parametrize("label", POLICIES)
def test_it_plays_what_calls_would_to_the_last_bit(label: str) -> None:
    for delays in DELAYS.values():
        source, called = environment(delays), POLICIES[label].fresh(0)
        # Two estimates on the way cut the rounds into other blocks.
        record = Recording(regret=(600,), estimates=(7, 350), states=True)
        result = simulate(
            source, {label: POLICIES[label]}, replications=1, seed=SEED, record=record
        )
        lost = calls(called, source)
        assert result.final(label)[0] == pytest.approx(lost, rel=1e-12)
        for name, array in called.state().items():
            np.testing.assert_array_equal(result.states[f"{label}/0/{name}"], array)


def test_without_delay_it_is_the_simulation_without_delays() -> None:
    policies = {label: POLICIES[label] for label in ("D-LinUCB", "SW-LinUCB")}
    late, plain = (
        simulate(environment(delays), policies, replications=2, seed=SEED)
        for delays in (FixedDelay(0), None)
    )
    np.testing.assert_array_equal(late.regret, plain.regret)


class Heard:
    """Plays the first action, and records after how many decisions each reward arrives."""

    def __init__(self) -> None:
        self.decided = 0
        self.heard: list[tuple[int, tuple[float, ...], float]] = []

    def select(self, actions: Any) -> int:
        self.decided += 1
        return 0

    def update(self, action: Any, reward: float) -> None:
        self.heard.append((self.decided, tuple(action), reward))


@pytest.mark.parametrize("kind", DELAYS)
def test_an_object_of_ones_own_hears_of_rewards_when_they_come(kind: str) -> None:
    source, player = environment(DELAYS[kind]), Heard()
    simulate(source, {"heard": lambda replication: player}, replications=1, seed=SEED)
    lateness = DELAYS[kind].start(stream(SEED, "delays", 0))(600)
    expected = []
    for block in source.blocks(seed=SEED, replication=0):
        for t in range(block.rounds):
            now = block.first + t
            due = now + lateness[now - 1]
            reward = float(block.means[t, 0] + block.noise[t, 0])
            expected.append((due, now, tuple(block.actions[t, :, 0]), reward))
    known = sorted(
        ((due, now, action, reward) for due, now, action, reward in expected if due <= 600)
    )
    # A reward without delay comes before rewards of earlier rounds that arrive with it.
    wanted = sorted(known, key=lambda row: (row[0], row[0] != row[1], row[1]))
    assert player.heard == [(int(due), action, reward) for due, _, action, reward in wanted]


def test_workers_and_blocks_change_no_number() -> None:
    source, policies = environment(GeometricDelay(12.0)), {"D-LinUCB": POLICIES["D-LinUCB"]}
    one, two, cut = (
        simulate(source, policies, replications=3, workers=workers, record=record)
        for workers, record in (
            (1, Recording()),
            (3, Recording()),
            (1, Recording(estimates=(5, 6, 217))),
        )
    )
    np.testing.assert_array_equal(one.regret, two.regret)
    # Regret is summed block by block.
    np.testing.assert_allclose(one.regret, cut.regret, rtol=1e-12)


def test_other_delays_are_another_run() -> None:
    """Saved parts of one run are not used for the other."""
    descriptions = [
        simulate(environment(delays, 20), {"a": POLICIES["D-LinUCB"]}, replications=1).config
        for delays in (None, FixedDelay(3), FixedDelay(4))
    ]
    shown = [repr(config["environment"]) for config in descriptions]
    assert len(set(shown)) == 3


def test_late_blocks_need_somewhere_to_keep_rewards() -> None:
    block = next(environment(FixedDelay(3)).blocks(seed=0, replication=0))
    policy, regret = POLICIES["D-LinUCB"].fresh(), np.empty(block.rounds)
    with pytest.raises(ValueError, match=r"waiting must be Waiting\(dim=2\) where rewards come"):
        policy.play(block, regret=regret)
    with pytest.raises(ValueError, match=r"waiting must be Waiting\(dim=2\)"):
        policy.play(block, regret=regret, waiting=Waiting(3))
    assert block.arrivals is not None
    kept, steps, rows = block.arrivals
    wrong = [
        Arrivals(kept[:-1], steps, rows),
        Arrivals(kept, steps[:-1], rows - 1),
        Arrivals(kept, np.append(steps, -1), rows),
        Arrivals(kept, np.append(steps, -2), rows),
    ]
    for arrivals in wrong:
        with pytest.raises(ValueError, match="arrivals must be those of 600 rounds"):
            policy.play(block._replace(arrivals=arrivals), regret=regret, waiting=Waiting(2))
    assert policy.round == 1


@pytest.mark.parametrize(
    ("delays", "message"),
    [(np.full(600, -1.0), "delays must be 0 or above, got -1"), (np.zeros(5), r"\(600,\), got")],
)
def test_delays_that_cannot_be_are_refused(delays: Any, message: str) -> None:
    class Wrong:
        def start(self, generator: Any) -> Any:
            return lambda rounds: delays

    with pytest.raises(ValueError, match=message):
        next(environment(Wrong()).blocks(seed=0, replication=0))
