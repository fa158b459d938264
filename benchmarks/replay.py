"""Replay: events per second through ``policy.replay``, compared with one call per event.

The events are decisions among K actions, each followed by its reward in the next round: as many
`Decide` as `Learn` events.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftbandits import AdaptiveLinUCB, DLinUCB, LinUCB, Policy, SWLinUCB
from driftbandits.events import Decide, Event, Learn, Packed, pack

from .measure import Row, Say, at_least, interleaved, summary

NAME = "replay"
DIM, COUNT = 20, 20
AIM = 100_000  # events per second, of D-LinUCB

POLICIES: dict[str, Callable[[], Policy]] = {
    "D-LinUCB": lambda: DLinUCB(dim=DIM, gamma=0.99),
    "SW-LinUCB": lambda: SWLinUCB(dim=DIM, window=100),
    "LinUCB": lambda: LinUCB(dim=DIM),
    "AdaptiveLinUCB": lambda: AdaptiveLinUCB(dim=DIM),
}


def run(*, quick: bool, say: Say) -> list[Row]:
    """Events per second of each policy, and the speed-up compared with calls."""
    events = life(2_000 if quick else 20_000)
    table = pack(events, dim=DIM)
    rows: list[Row] = []
    for name, make in POLICIES.items():
        say(f"replay: {len(events):,} events, {name}")
        rows += _policy(name, make, events, table, repetitions=3 if quick else 7)
    return rows


def life(count: int) -> list[Event]:
    """``count`` events: decisions, and the reward of an action of the last round."""
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((count // 2, COUNT, DIM))
    sets /= np.linalg.norm(sets, axis=2, keepdims=True)
    events: list[Event] = []
    for t, actions in enumerate(sets, start=1):
        reward = float(actions[0, 0] + 0.1 * rng.standard_normal())
        events += [Decide(actions), Learn(actions[0], reward, t)]
    return events


def _policy(
    name: str,
    make: Callable[[], Policy],
    events: list[Event],
    table: Packed,
    *,
    repetitions: int,
) -> list[Row]:
    def calls() -> None:
        policy = make()
        for event in events:
            policy.apply(event)

    times = interleaved(
        {"replay": lambda: make().replay(table), "calls": calls}, repetitions=repetitions
    )
    speed = len(events) / times["replay"].cpu
    ratio = times["calls"].cpu / times["replay"].cpu
    subject, note = f"{name}, d = {DIM}, K = {COUNT}", "half decisions, half late rewards"
    aim = at_least(AIM) if name == "D-LinUCB" else None
    return [
        summary(NAME, subject, "events", speed, unit="/s", aim=aim, note=note),
        summary(NAME, f"calls / replay, {subject}", "ratio", ratio),
    ]
