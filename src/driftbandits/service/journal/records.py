"""The records of the journal: one per command.

A record holds the command, its time and its outcome. Its effect depends only on the record and the
state: no clock is read, and no random choice is repeated. The outcome is stored so that a replay
can be compared with the answers that were sent.

A stored record is one byte for the version of its format, followed by MessagePack. A format never
changes: a new version gets a new byte, and the reader can still read the old ones.
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
    """The outcome of a decision. Actions are positions among those that could be shown.

    Attributes:
        chosen: The action that is shown.
        proposed: The learner's most probable action.
        order: All actions, from the highest score to the lowest.
        propensity: Probability that ``chosen`` is shown.
        floor: The floor at the time.
        round: Round of the learner.
        version: Version of the policy's settings.
        mode: "live" or "shadow".
        prediction: Reward that the learner predicted for ``chosen``; None if it was not asked.
        chances: The learner's probability of each action. None if the floor determines them:
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
    """The fields of all records.

    Attributes:
        time: Seconds since 1970; never earlier than the time of the record before.
        policy: Name of the hosted policy.
        closed: Ids of the decisions of the policy that this record closed.
    """

    time: float
    policy: str
    closed: list[str] = []


class Offer(msgspec.Struct, array_like=True, kw_only=True):
    """The request for a decision."""

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
        outcome: Its outcome.
    """

    event_id: str
    offer: msgspec.Raw
    outcome: Outcome | None = None


class Rewarded(Record, tag="rewarded"):
    """A reward came. Rewards that change nothing are recorded too."""

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
    """A policy was deleted, with everything that it had learned."""


class ActionSet(Record, tag="action_set"):
    """An action was added to the catalogue, or its features changed."""

    action: str
    features: dict[str, Any] | None


class ActionRemoved(Record, tag="action_removed"):
    """An action was removed from the catalogue."""

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
    """The bytes of an offer; an error if a value cannot be encoded."""
    return msgspec.Raw(_encoder.encode(offer))


def decode_offer(stored: msgspec.Raw) -> Offer:
    """The offer that the bytes encode."""
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
    """The record that the bytes encode; `DamagedJournal` if they are not a record."""
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
