"""Random histories: duplicates, conflicts, late and early calls, clock jumps, crashes, restarts.

`DRIFTBANDITS_HISTORIES` sets their number; each seed gives the same history everywhere.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

from driftbandits.features import Features
from driftbandits.service.errors import ServiceError
from driftbandits.service.house import House
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.messages import DecisionRequest
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.recovery import verify
from service_reference import Reference, Refused

COUNT = int(os.environ.get("DRIFTBANDITS_HISTORIES", "100"))
BATCH = 25
FEATURES: dict[str, Any] = {
    "action": {"id": {"kind": "one_hot", "values": ["a", "b", "c"]}},
    "terms": [{"action": "*"}],
}
# The same tuple objects each time, as HTTP and a replay pass them.
OFFERS: list[tuple[str, ...]] = [("a", "b", "c"), ("a", "b"), ("c", "b")]
VECTORS = {id: Features.from_dict(FEATURES).encode({}, [id])[0] for id in "abc"}


class Kept(MemoryStore):
    """A store that outlives its house."""

    def close(self) -> None:
        pass


class History:
    """One seeded history of a house; the reference gets the same events."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - nothing secret
        rule = self.rng.choice(["assume", "wait", "hold"])
        default = self.rng.choice([0.0, 0.25, None]) if rule != "assume" else 0.25
        options: Any = {
            "wait": 10.0,
            "default": default,
            "rule": rule,
            "rewards": self.rng.choice(["first", "last", "sum"]),
        }
        self.clock = 1000.0
        self.store = Kept()
        self.house = self.opened()
        settings = PolicySettings(
            features=FEATURES, learner="LinUCB", floor=0.3, remember=4, seed=seed, **options
        )
        self.house.put_policy("p", settings)
        self.now = Reference(**options)
        self.now.time = self.clock
        self.commit()

    def opened(self) -> House:
        return House.open(self.store, clock=lambda: self.clock, snapshot_every=0)

    def commit(self) -> None:
        self.house.commit()
        self.durable, self.bytes = self.now.copy(), self.house.to_bytes()

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.clock += self.rng.choice([0.0, 0.5, 2.0, 9.0, -5.0])
            step = self.rng.choice(
                [self.decide] * 6
                + [self.reward] * 6
                + [self.activate, self.expire, self.commit, self.snapshot, self.crash]
            )
            step()
            self.compare()

    def decide(self) -> None:
        name = f"n{self.rng.randrange(12)}" if self.rng.random() < 0.7 else None
        actions = self.rng.choice(OFFERS)
        defer = self.rng.random() < 0.2
        request = DecisionRequest(actions=actions, event_id=name, defer=defer)
        body = (actions, defer)
        try:
            repeated = name is not None and self.now.repeats(name, body)
        except Refused as refused:
            return self.refuses(str(refused), lambda: self.house.decide("p", request))
        known = self.now.events[name]["action"] if repeated and name is not None else None
        answer = self.house.decide("p", request)
        assert answer.repeated == repeated
        assert sorted(answer.ranking) == sorted(actions)
        assert answer.propensity == answer.probabilities[0]
        assert np.isclose(sum(answer.probabilities), 1.0)
        if repeated:
            assert answer.action == known
        else:
            self.now.decided(answer.event_id, body, answer.action, self.clock, defer=defer)
        return None

    def some_event(self) -> str:
        return self.rng.choice([*self.now.events, "n3", "nobody"])

    def reward(self) -> None:
        name, value = self.some_event(), self.rng.choice([0.0, 0.25, 1.0])
        try:
            expected = self.now.reward(name, value, self.clock)
        except Refused as refused:
            return self.refuses(str(refused), lambda: self.house.reward(name, value))
        assert self.house.reward(name, value).status == expected
        return None

    def activate(self) -> None:
        name = self.some_event()
        try:
            expected = self.now.activate(name, self.clock)
        except Refused as refused:
            return self.refuses(str(refused), lambda: self.house.activate(name))
        assert self.house.activate(name).status == expected
        return None

    def refuses(self, code: str, call: Any) -> None:
        before = self.house.to_bytes()
        with pytest.raises(ServiceError) as caught:
            call()
        assert caught.value.code == code
        assert self.house.to_bytes() == before

    def expire(self) -> None:
        assert self.house.expire() == self.now.expire(self.clock)

    def snapshot(self) -> None:
        self.house.snapshot()
        self.commit()

    def crash(self) -> None:
        """Lose everything that was not committed, and nothing else."""
        self.house = self.opened()
        assert self.house.recovered.identical
        assert self.house.to_bytes() == self.bytes
        self.now = self.durable.copy()

    def compare(self) -> None:
        """b = Σ r x over the rewards that must have been learned, once each."""
        hosted = self.house._state.policies["p"]
        waiting = [event for event in self.now.events.values() if event["open"]]
        assert hosted.agent.open == len(waiting)
        total = np.zeros(hosted.agent.policy.dim)
        for action, value in self.now.learned.values():
            total += value * VECTORS[action]
        learned: Any = hosted.agent.policy
        np.testing.assert_allclose(learned._state.moment[0], total, atol=1e-9)


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_histories(first: int) -> None:
    for seed in range(first, min(first + BATCH, COUNT)):
        history = History(seed)
        history.live(60)
        history.commit()
        report = verify(history.store)
        assert report.identical, (seed, report)
        assert report.replayed == history.store.last
