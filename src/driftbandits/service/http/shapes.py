"""Bodies that only HTTP has: batches, pages and small views."""

from __future__ import annotations

from typing import Any

import msgspec

from ..messages import DecisionRequest, PolicyView


class DecisionBatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Decisions to make one after the other."""

    decisions: list[DecisionRequest]


class RewardBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reward of a decision."""

    reward: float


class RewardEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reward of a batch, and the decision that it belongs to."""

    event_id: str
    reward: float


class RewardBatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rewards to hand in one after the other."""

    rewards: list[RewardEntry]


class ActionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of an action."""

    features: dict[str, Any] | None = None


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a request, as RFC 9457 has it; ``field`` is the place in the body."""

    type: str
    title: str
    status: int
    detail: str
    field: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an entry of a batch: an answer, or a problem."""

    status: int
    answer: dict[str, Any] | None = None
    problem: ProblemDocument | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the entries of a batch, in their order."""

    results: list[Result]


class ActionView(msgspec.Struct, frozen=True, kw_only=True):
    """An action that the catalogue of a policy now has."""

    policy: str
    action: str


class PolicyList(msgspec.Struct, frozen=True, kw_only=True):
    """All policies."""

    policies: list[PolicyView]


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot: the number of the last event in it."""

    event: int


class BackupView(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the journal: its name in the folder of backups, and what it has at least."""

    file: str
    records: int


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a policy, from a page of the journal, which has those of other policies too.

    ``next`` is what ``after`` has to be for the next page; at the end it stays the same.
    """

    events: list[dict[str, Any]]
    next: int


class HealthView(msgspec.Struct, frozen=True, kw_only=True):
    """How the server is: "ok", "ready" or "draining"."""

    status: str
