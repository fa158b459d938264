"""Writes the decisions of one policy to a Parquet file that `driftbandits log` reads.

One row per decision that was shown, in order. The columns are time, actions (the vectors that the
learner saw), chosen, propensity, reward, reward_time, id and policy. The columns context, names and
name are for people. Only decisions under the last declaration of features are written, because
vectors of different declarations cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ..core.storage import atomic_write
from ..features import Features, SlotTable
from .answers import offered
from .errors import UnknownPolicy
from .journal.chain import records_of
from .journal.contract import Store
from .journal.records import (
    ActionRemoved,
    ActionSet,
    Activated,
    AnyRecord,
    Decided,
    Offer,
    PolicyDeleted,
    PolicySet,
    Rewarded,
    decode,
    decode_offer,
)
from .policy_settings import PolicySettings
from .recovery import oldest

_ROWS = 2000
_LEARNED = ("learned", "held")

_SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("actions", pa.list_(pa.list_(pa.float64()))),
        ("chosen", pa.int32()),
        ("propensity", pa.float64()),
        ("reward", pa.float64()),
        ("reward_time", pa.timestamp("us", tz="UTC")),
        ("id", pa.string()),
        ("policy", pa.string()),
        ("context", pa.string()),
        ("names", pa.list_(pa.string())),
        ("name", pa.string()),
    ]
)


@dataclass
class _Fate:
    """What became of a decision."""

    shown: bool
    rewards: str
    default: float | None
    reward: float | None = None
    time: float | None = None

    def rewarded(self, value: float, time: float) -> None:
        """Add a reward that was learned or held, by the rule at the time of the decision."""
        summed = self.rewards == "sum" and self.reward is not None
        self.reward = self.reward + value if summed and self.reward is not None else value
        self.time = time

    def closed(self, time: float) -> None:
        """Take the default if no reward has come: the decision has closed."""
        if self.reward is None and self.default is not None:
            self.reward, self.time = self.default, time


@dataclass
class _Reader:
    """Follows the settings and the catalogue of one policy from record to record."""

    policy: str
    settings: PolicySettings | None = None
    catalogue: dict[str, dict[str, Any]] = field(default_factory=dict)
    since: int = 0  # number of the record that set the current features

    def follow(self, number: int, record: AnyRecord) -> None:
        """Update settings and catalogue from a record."""
        if isinstance(record, PolicySet):
            settings = msgspec.convert(record.settings, PolicySettings)
            if self.settings is None or settings.features != self.settings.features:
                self.since = number
            self.settings = settings
        elif isinstance(record, PolicyDeleted):
            self.settings, self.catalogue = None, {}
        elif isinstance(record, ActionSet):
            self.catalogue[record.action] = record.features or {}
        elif isinstance(record, ActionRemoved):
            self.catalogue.pop(record.action, None)

    def described(self, offer: Offer) -> dict[str, dict[str, Any]]:
        """Ids and features of the actions that could be shown."""
        features = {
            **{a: self.catalogue.get(a, {}) for a in offer.actions if isinstance(a, str)},
            **{
                a.id: self.catalogue.get(a.id, {}) if a.features is None else a.features
                for a in offer.actions
                if not isinstance(a, str)
            },
        }
        return {name: features[name] for name in offered(offer)}


def export(store: Store, policy: str, target: Path) -> int:
    """Write the decisions of a policy to ``target``, and return their number.

    A decision without a reward gets the default if it has closed. If it is open, its reward is
    empty.
    """
    fates, features, since = _first_pass(store, policy)
    table = SlotTable(room=features.slots) if features.slots else None
    written, rows = 0, list[dict[str, Any]]()
    with atomic_write(target) as file, pq.ParquetWriter(file, _SCHEMA, compression="zstd") as out:
        for reader, number, record in _records(store, policy):
            if (
                not isinstance(record, Decided)
                or number < since
                or not fates[record.event_id].shown
            ):
                continue
            named = reader.described(decode_offer(record.offer))
            if table is not None:
                table = table.with_actions(list(named))
            rows.append(_row(record, named, features, table, fates[record.event_id]))
            written += 1
            if len(rows) == _ROWS:
                out.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
                rows.clear()
        out.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return written


def _records(store: Store, policy: str) -> Iterator[tuple[_Reader, int, AnyRecord]]:
    """The records of a policy. The reader holds the settings and catalogue before each record."""
    state, link = oldest(store)
    reader = _Reader(policy)
    if policy in state.policies:
        reader.settings = state.policies[policy].settings
        reader.catalogue = dict(state.policies[policy].catalogue)
    entries = store.entries(after=state.number)
    for number, _, body in records_of(entries, after=state.number, link=link):
        record = decode(body)
        if record.policy == policy:
            yield reader, number, record
            reader.follow(number, record)


def _first_pass(store: Store, policy: str) -> tuple[dict[str, _Fate], Features, int]:
    """The fate of each decision, the last features, and the number of the record that set them."""
    fates, names = dict[str, _Fate](), set[str]()
    reader = _Reader(policy)
    for reader, number, record in _records(store, policy):
        settings = reader.settings
        if isinstance(record, Decided) and settings is not None:
            offer = decode_offer(record.offer)
            fates[record.event_id] = _Fate(not offer.defer, settings.rewards, settings.default)
            names = (names if number > reader.since else set()) | set(offered(offer))
        fate = fates.get(getattr(record, "event_id", ""))
        if fate is not None and isinstance(record, Activated) and record.status == "activated":
            fate.shown = True
        if fate is not None and isinstance(record, Rewarded) and record.status in _LEARNED:
            fate.rewarded(record.value, record.time)
        for id in record.closed:
            if id in fates:
                fates[id].closed(record.time)
    if reader.settings is None:
        raise UnknownPolicy(f"the journal has no policy {policy!r}")
    features = reader.settings.declaration()
    if features.slots:
        features = features.with_slots(max(features.slots, len(names)))
    return fates, features, reader.since


def _row(
    record: Decided,
    named: dict[str, dict[str, Any]],
    features: Features,
    table: SlotTable | None,
    fate: _Fate,
) -> dict[str, Any]:
    outcome, offer = record.outcome, decode_offer(record.offer)
    assert outcome is not None
    names = list(named)
    return {
        "time": _micros(record.time),
        "actions": features.encode(offer.context, named, slots=table).tolist(),
        "chosen": outcome.chosen,
        "propensity": outcome.propensity,
        "reward": fate.reward,
        "reward_time": None if fate.time is None else _micros(fate.time),
        "id": record.event_id,
        "policy": record.policy,
        "context": msgspec.json.encode(offer.context).decode(),
        "names": names,
        "name": names[outcome.chosen],
    }


def _micros(time: float) -> int:
    return round(time * 1e6)
