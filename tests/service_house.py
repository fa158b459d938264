"""A small house for tests, with a clock that is set by hand and a policy with simple vectors."""

from __future__ import annotations

from typing import Any

from driftbandits.service.house import House
from driftbandits.service.journal.contract import Store
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.messages import DecisionAnswer, DecisionRequest
from driftbandits.service.policy_settings import PolicySettings

FEATURES: dict[str, Any] = {
    "context": {"country": {"kind": "one_hot", "values": ["FR", "DE"]}},
    "action": {"id": {"kind": "one_hot", "values": ["a", "b", "c"]}},
}


class Clock:
    """Seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A house with one policy ``p``, and short methods to use it."""

    def __init__(
        self, store: Store | None = None, *, snapshot_every: int = 0, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.store = MemoryStore() if store is None else store
        self.house = House.open(self.store, clock=self.clock, snapshot_every=snapshot_every)
        plain = {
            "features": FEATURES,
            "learner": "LinUCB",
            "config": {"noise": 0.1},
            "wait": 100.0,
            "rewards": "last",
        }
        self.settings = PolicySettings.from_dict(plain | settings)
        self.house.put_policy("p", self.settings)

    def decide(self, actions: Any = ("a", "b", "c"), **request: Any) -> DecisionAnswer:
        context = request.pop("context", {"country": "FR"})
        asked = DecisionRequest(actions=list(actions), context=context, **request)
        return self.house.decide("p", asked)

    def reward(self, event_id: str, value: float) -> str:
        return self.house.reward(event_id, value).status
