"""The state of the house, and how a record changes it.

Only ``apply`` changes the state, both live and in a replay. The outcome that it writes into the
record depends only on the state and the record, so it is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .errors import BadRequest, UnknownEvent, UnknownPolicy
from .hosted import Hosted, Saved
from .journal.records import (
    ActionRemoved,
    ActionSet,
    Activated,
    AnyRecord,
    Decided,
    Expired,
    Offer,
    PolicyDeleted,
    PolicySet,
    Promoted,
    Rewarded,
    decode_offer,
)
from .policy_settings import PolicySettings
from .statistics import Known


class _Stored(msgspec.Struct, array_like=True):
    """The state in a snapshot. Objects that follow from the settings are rebuilt."""

    number: int
    time: float
    policies: list[Saved]
    known: dict[str, Known]


class State:
    """The hosted policies and the known decisions.

    Attributes:
        number: Number of the last record.
        time: Time of the last record.
        policies: The hosted policies, by name.
        known: Decisions that are open or closed recently, by id.
    """

    def __init__(self) -> None:
        self.number, self.time = 0, 0.0
        self.policies: dict[str, Hosted] = {}
        self.known: dict[str, Known] = {}
        self._actions: dict[type[Any], Callable[[Any], None]] = {
            Rewarded: self._rewarded,
            Activated: self._activated,
            Expired: self._expired,
            PolicySet: self._policy_set,
            Promoted: self._promoted,
            PolicyDeleted: self._policy_deleted,
            ActionSet: self._action_set,
            ActionRemoved: self._action_removed,
        }

    def apply(self, record: AnyRecord, *, offer: Offer | None = None) -> None:
        """Carry out a record, and write its outcome into it.

        ``offer`` is the decoded offer of a decision, if the caller has it. Raises `ServiceError`
        and changes nothing if the record cannot be carried out.
        """
        record.closed = []
        if isinstance(record, Decided):
            asked = decode_offer(record.offer) if offer is None else offer
            hosted = self.policy(record.policy)
            record.outcome = hosted.decide(record, asked, self.number + 1)
        else:
            self._actions[type(record)](record)
        self.number += 1
        self.time = record.time

    @property
    def open(self) -> int:
        """Number of open decisions of all policies."""
        return sum(hosted.agent.open for hosted in self.policies.values())

    def policy(self, name: str) -> Hosted:
        """The policy with a name."""
        hosted = self.policies.get(name)
        if hosted is None:
            raise UnknownPolicy(f"there is no policy {name!r}")
        return hosted

    def event(self, event_id: str) -> Known:
        """The known facts about a decision."""
        known = self.known.get(event_id)
        if known is None:
            raise UnknownEvent(f"there is no decision {event_id!r}, or it closed too long ago")
        return known

    def to_bytes(self) -> bytes:
        """The whole state as bytes; equal states give equal bytes."""
        policies = [hosted.saved() for hosted in self.policies.values()]
        return msgspec.msgpack.encode(_Stored(self.number, self.time, policies, self.known))

    @classmethod
    def from_bytes(cls, stored: bytes) -> State:
        """The state that `to_bytes` wrote. Other bytes raise any kind of exception."""
        content = msgspec.msgpack.decode(stored, type=_Stored)
        state = cls()
        state.number, state.time, state.known = content.number, content.time, content.known
        for saved in content.policies:
            state.policies[saved.name] = Hosted.restored(saved, state.known)
        return state

    def _rewarded(self, record: Rewarded) -> None:
        hosted = self._owner(record)
        record.status = hosted.reward(record.event_id, record.value, record.time, record.closed)

    def _activated(self, record: Activated) -> None:
        hosted = self._owner(record)
        record.status = hosted.activate(record.event_id, record.time, record.closed)

    def _owner(self, record: Rewarded | Activated) -> Hosted:
        return self.policy(self.event(record.event_id).policy)

    def _expired(self, record: Expired) -> None:
        self.policy(record.policy).expire(record.time, record.closed)

    def _policy_set(self, record: PolicySet) -> None:
        settings = PolicySettings.from_dict(record.settings)
        hosted = self.policies.get(record.policy)
        if hosted is None:
            self.policies[record.policy] = Hosted(record.policy, settings, self.known)
        else:
            hosted.change(settings, record.closed)

    def _promoted(self, record: Promoted) -> None:
        hosted = self.policy(record.policy)
        if hosted.settings.mode == "live":
            raise BadRequest(f"policy {record.policy!r} must be in shadow mode, and is live")
        live = msgspec.structs.replace(hosted.settings, mode="live")
        hosted.change(live, record.closed)

    def _policy_deleted(self, record: PolicyDeleted) -> None:
        self.policy(record.policy).forget(record.closed)
        del self.policies[record.policy]

    def _action_set(self, record: ActionSet) -> None:
        self.policy(record.policy).describe(record.action, record.features)

    def _action_removed(self, record: ActionRemoved) -> None:
        self.policy(record.policy).remove(record.action, record.closed)
