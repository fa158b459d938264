"""What is written down: one record per command, with everything decided that is not computed.

A record holds the command, the time at which it counts, and what came of it. Applying it to a
state is a function of both alone: no clock is read, nothing is drawn anew. The outcome is stored
too, so that a replay can be compared with what was answered.

A stored record is one byte for the version of its format, followed by MessagePack. The format of
a stored record never changes: a new version gets a new byte, and the reader keeps the old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import DamagedJournal
from ..messages import ActivationStatus, NamedAction, RewardStatus
from ..policy_settings import Mode
from ..recurring import Actions, Recurring, undecoded

VERSION = b"\x01"


class Outcome(msgspec.Struct, array_like=True):
    """How a decision came out, by positions among the actions that could be shown.

    Attributes:
        chosen: The action that is shown.
        proposed: The learner's most probable action.
        order: All of them by score, from the best down.
        propensity: Probability of ``chosen`` to be shown.
        floor: The floor in force.
        round: Round of the learner.
        version: Version of the policy's settings.
        mode: "live" or "shadow".
        prediction: Reward that the learner expected of ``chosen``; None where it was not asked.
        chances: The learner's probability of each action. None where the floor says it all:
            floor/K for every action, and 1 − floor more for ``proposed``.
    """

    chosen: int
    proposed: int
    order: list[int]
    propensity: float
    floor: float
    round: float
    version: int
    mode: Mode
    prediction: float | None
    chances: list[float] | None


class Record(msgspec.Struct, array_like=True, kw_only=True):
    """What all records have.

    Attributes:
        time: Seconds since 1970, never before that of an earlier record.
        policy: Name of the hosted policy.
        closed: Ids of the decisions of that policy that closed by then.
    """

    time: float
    policy: str
    closed: list[str] = []


class Offer(msgspec.Struct, array_like=True, kw_only=True):
    """What a decision was asked for."""

    actions: Sequence[str | NamedAction]
    context: dict[str, Any]
    exclude: list[str]
    defer: bool
    baseline: str | None


class Decided(Record, tag="decided"):
    """A decision was made.

    Attributes:
        event_id: Its name.
        offer: An `Offer` as MessagePack.
        outcome: What came of it.
    """

    event_id: str
    offer: msgspec.Raw
    outcome: Outcome | None = None


class Rewarded(Record, tag="rewarded"):
    """A reward came; also one that changed nothing."""

    event_id: str
    value: float
    status: RewardStatus | None = None


class Activated(Record, tag="activated"):
    """A deferred decision was reported as shown."""

    event_id: str
    status: ActivationStatus | None = None


class Expired(Record, tag="expired"):
    """Decisions closed because they had waited long enough."""


class PolicySet(Record, tag="policy_set"):
    """A policy was created, or its settings changed."""

    settings: dict[str, Any]


class Promoted(Record, tag="promoted"):
    """A policy went from shadow to live."""


class PolicyDeleted(Record, tag="policy_deleted"):
    """A policy was deleted, with all that it had learned."""


class ActionSet(Record, tag="action_set"):
    """An action was described in the catalogue."""

    action: str
    features: dict[str, Any] | None


class ActionRemoved(Record, tag="action_removed"):
    """An action left the catalogue."""

    action: str


AnyRecord = (
    Decided
    | Rewarded
    | Activated
    | Expired
    | PolicySet
    | Promoted
    | PolicyDeleted
    | ActionSet
    | ActionRemoved
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(AnyRecord)
_offers = msgspec.msgpack.Decoder(undecoded(Offer, "actions"))
_actions = Recurring(msgspec.msgpack.Decoder(Actions).decode)


def ids_of(actions: Sequence[str | NamedAction]) -> Sequence[str]:
    """The ids of actions, in order."""
    if {str}.issuperset(map(type, actions)):  # nearly always, and without a loop in Python
        return actions  # type: ignore[return-value]
    return [action if isinstance(action, str) else action.id for action in actions]


def encode_offer(offer: Offer) -> msgspec.Raw:
    """The bytes of an offer; TypeError or ValueError where it holds what no journal can."""
    return msgspec.Raw(_encoder.encode(offer))


def decode_offer(stored: msgspec.Raw) -> Offer:
    """The offer of some bytes."""
    try:
        found: Any = _offers.decode(stored)
        return Offer(
            actions=_actions.read(found.actions),
            context=found.context,
            exclude=found.exclude,
            defer=found.defer,
            baseline=found.baseline,
        )
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedJournal(f"an offer cannot be decoded: {error}") from error


def encode(record: AnyRecord) -> bytes:
    """The bytes of a record."""
    return VERSION + _encoder.encode(record)


def decode(body: bytes) -> AnyRecord:
    """The record of some bytes; refused where they are none."""
    if body[:1] != VERSION:
        raise DamagedJournal(
            f"a record must begin with version {VERSION[0]}, which this release reads, "
            f"got {body[:1]!r}"
        )
    try:
        record: AnyRecord = _decoder.decode(body[1:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedJournal(f"a record cannot be decoded: {error}") from error
    return record
