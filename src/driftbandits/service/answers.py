"""Turns records into answers and into plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from .journal.records import AnyRecord, Decided, Offer, Outcome, decode_offer, ids_of
from .messages import DecisionAnswer


def answer_of(record: Decided, offer: Offer, *, repeated: bool = False) -> DecisionAnswer:
    """The answer to a decision, from its record alone."""
    outcome, names = record.outcome, offered(offer)
    assert outcome is not None
    places = outcome.order.copy()
    places.remove(outcome.chosen)
    places.insert(0, outcome.chosen)
    return DecisionAnswer(
        event_id=record.event_id,
        action=names[outcome.chosen],
        propensity=outcome.propensity,
        ranking=list(map(names.__getitem__, places)),
        probabilities=_probabilities(outcome, places),
        round=outcome.round,
        policy_version=outcome.version,
        mode=outcome.mode,
        repeated=repeated,
    )


def offered(offer: Offer) -> Sequence[str]:
    """Ids of the actions that could be shown, in the order of the request."""
    names = ids_of(offer.actions)
    if offer.exclude:
        gone = set(offer.exclude)
        return [name for name in names if name not in gone]
    return names


def _probabilities(outcome: Outcome, places: list[int]) -> list[float]:
    """Probability of each action, in the order of ``places``; in shadow mode 1 for the baseline."""
    count = len(places)
    if outcome.mode == "shadow":
        return [1.0, *[0.0] * (count - 1)]
    if outcome.chances is not None:
        return [outcome.chances[k] for k in places]
    chances = [outcome.floor / count] * count
    chances[places.index(outcome.proposed)] += 1.0 - outcome.floor
    return chances


def as_event(number: int, record: AnyRecord) -> dict[str, Any]:
    """A record as plain values, for people and programs that read the journal."""
    kind = str(record.__struct_config__.tag)
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    if isinstance(record, Decided):
        offer = decode_offer(record.offer)
        values |= {name: getattr(offer, name) for name in offer.__struct_fields__}
        answer = answer_of(record, offer)
        shown = ("action", "propensity", "ranking", "round", "policy_version", "mode")
        values |= {name: getattr(answer, name) for name in shown}
        del values["offer"], values["outcome"]
    plain = {name: msgspec.to_builtins(value) for name, value in values.items()}
    return {"number": number, "kind": kind, **plain}
