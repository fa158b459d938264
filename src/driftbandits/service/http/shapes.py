"""Bodies that only the HTTP API uses: batches, pages and small views."""

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
    """A reward in a batch, and its decision."""

    event_id: str
    reward: float


class RewardBatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rewards to learn one after the other."""

    rewards: list[RewardEntry]


class ActionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The features of an action."""

    features: dict[str, Any] | None = None


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a request, as in RFC 9457; ``field`` is the place in the body."""

    type: str
    title: str
    status: int
    detail: str
    field: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one entry of a batch: an answer or a problem."""

    status: int
    answer: dict[str, Any] | None = None
    problem: ProblemDocument | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all entries of a batch, in their order."""

    results: list[Result]


class ActionView(msgspec.Struct, frozen=True, kw_only=True):
    """An action that is now in the catalogue of a policy."""

    policy: str
    action: str


class PolicyList(msgspec.Struct, frozen=True, kw_only=True):
    """All policies."""

    policies: list[PolicyView]


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot: the number of the last event in it."""

    event: int


class BackupView(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the journal: its file name, and the number of records that it has at least."""

    file: str
    records: int


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a policy from one page of the journal. Events of other policies are left out.

    ``next`` is the value of ``after`` for the next page. At the end it stays the same.
    """

    events: list[dict[str, Any]]
    next: int


class HealthView(msgspec.Struct, frozen=True, kw_only=True):
    """State of the server: "ok" or "ready"."""

    status: str
