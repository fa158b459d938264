"""The server that `benchmarks.service` measures, in a separate process.

    python -m benchmarks.service_host durable|memory|vw FOLDER WAIT

prints the port when the server is ready.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import vowpalwabbit

from driftbandits.service.house import SNAPSHOT_EVERY, House
from driftbandits.service.http.keys import Keyring
from driftbandits.service.http.limits import Limits
from driftbandits.service.http.listening import Address, bound_socket
from driftbandits.service.http.server import Server
from driftbandits.service.journal.memory import MemoryStore
from driftbandits.service.journal.sqlite import SQLiteStore
from driftbandits.service.messages import DecisionAnswer, DecisionRequest, NamedAction
from driftbandits.service.policy_settings import PolicySettings
from driftbandits.service.warming import warm

COUNTRIES = [f"country-{n}" for n in range(8)]
CATEGORIES = ["sport", "politics"]
ACTIONS = {f"article-{n:05d}": {"category": CATEGORIES[n % 2]} for n in range(50)}
LEARNERS: dict[str, dict[str, Any]] = {
    "D-LinUCB": {"learner": "D-LinUCB", "config": {"gamma": 0.999, "restore_every": 8}},
    "AdaptiveLinUCB": {"learner": "AdaptiveLinUCB"},
}


def settings(learner: str, wait: float) -> PolicySettings:
    """d = 30: two categories and "other", alone and crossed with eight countries and "other"."""
    features = {
        "context": {"country": {"kind": "one_hot", "values": COUNTRIES}},
        "action": {"category": {"kind": "one_hot", "values": CATEGORIES}},
        "terms": [{"action": ["category"]}, {"context": ["country"], "action": ["category"]}],
    }
    return PolicySettings.from_dict({"features": features, "wait": wait, **LEARNERS[learner]})


def house_of(store: Any, *, snapshot_every: int = SNAPSHOT_EVERY, wait: float = 1800.0) -> House:
    """A house with one policy per learner, with described actions."""
    house = House.open(store, snapshot_every=snapshot_every)
    for learner in LEARNERS:
        made = settings(learner, wait)
        house.put_policy(learner, made)
        warm(made)
        for action, features in ACTIONS.items():
            house.put_action(learner, action, features)
    house.commit()
    return house


class VowpalWabbit:
    """Vowpal Wabbit in place of the house: it decides in memory and writes nothing."""

    pending = 0

    def __init__(self) -> None:
        self._workspace = vowpalwabbit.Workspace(
            "--cb_explore_adf --epsilon 0.05 -q CA --quiet --random_seed 1"
        )
        self._made = 0

    def decide(self, policy: str, request: DecisionRequest) -> DecisionAnswer:
        """Predict, and learn the default reward of the shown action, as the others do."""
        names = [a.id if isinstance(a, NamedAction) else a for a in request.actions]
        lines = [f"shared |C country={request.context['country']}"]
        lines += [f"|A category={ACTIONS[name]['category']}" for name in names]
        chances = self._workspace.predict(lines)
        order = sorted(range(len(names)), key=chances.__getitem__, reverse=True)
        shown = order[0]
        lines[shown + 1] = f"0:0:{chances[shown]} {lines[shown + 1]}"
        self._workspace.learn(lines)
        self._made += 1
        return DecisionAnswer(
            event_id=f"e{self._made}",
            action=names[shown],
            propensity=chances[shown],
            ranking=[names[k] for k in order],
            probabilities=[chances[k] for k in order],
            round=float(self._made),
            policy_version=1,
            mode="live",
        )

    def expire(self) -> int:
        """Do nothing: there are no open decisions."""
        return 0

    def close(self) -> None:
        """Stop Vowpal Wabbit."""
        self._workspace.finish()


def main(kind: str, folder: Path, wait: float) -> None:
    """Serve until a signal arrives."""
    house: Any
    if kind == "vw":
        house = VowpalWabbit()
    else:
        store = MemoryStore() if kind == "memory" else SQLiteStore(folder / "journal")
        house = house_of(store, wait=wait)
    listener = bound_socket(Address("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = Server(house, listener, keyring=Keyring(), limits=Limits(), collect_seconds=600.0)
    server.run(ready=lambda: print(port, flush=True))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
