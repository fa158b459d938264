"""The house: hosted policies and their journal.

A command becomes a record that holds all its inputs. The state carries the record out, and the
record waits for the next commit. Answers may be sent only after `House.commit` has returned.

Only one thread may use a house. A command reads the clock once, and no other outside input.
"""

from __future__ import annotations

import math
import time as wall
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from . import recovery
from .answers import answer_of, as_event
from .checks import check_id, check_written
from .diagnostics import diagnosis
from .errors import BadRequest, ConflictingEvent, ServiceError
from .journal import records
from .journal.contract import Store
from .ledger import Ledger
from .messages import (
    ActivationAnswer,
    DecisionAnswer,
    DecisionRequest,
    PolicyView,
    RewardAnswer,
)
from .policy_settings import PolicySettings
from .statistics import Known

# Default number of records between two snapshots. It bounds how long a start takes.
SNAPSHOT_EVERY = 20_000


class House:
    """Hosted policies whose every change is in a journal.

    `open` makes a house. A refused command raises `ServiceError` and changes nothing. After a
    `JournalError` the house must not be used: end the process and start again.
    """

    def __init__(
        self,
        store: Store,
        recovered: recovery.Recovered,
        *,
        clock: Callable[[], float],
        snapshot_every: int,
    ) -> None:
        self._state, self._clock = recovered.state, clock
        self._ledger = Ledger(store, link=recovered.link, snapshot=recovered.snapshot or 0)
        self._snapshot_every = snapshot_every
        self.recovered = recovered.report

    @classmethod
    def open(
        cls,
        store: Store,
        *,
        clock: Callable[[], float] = wall.time,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> House:
        """The house of a journal, as it was after the last commit.

        Args:
            store: Where the journal is.
            clock: Seconds since 1970. If the clock goes back, the house keeps its last time.
            snapshot_every: Number of records after which a commit also takes a snapshot; 0 for
                never. If half the number of open decisions is larger, that number counts instead.
                The reason: each open decision adds about a tenth of the time of a command to a
                snapshot.
        """
        recovered = recovery.recover(store)
        return cls(store, recovered, clock=clock, snapshot_every=snapshot_every)

    def decide(self, policy: str, request: DecisionRequest) -> DecisionAnswer:
        """Choose an action. A repeated request gets the same answer."""
        offer = records.Offer(
            actions=request.actions,
            context=request.context,
            exclude=request.exclude,
            defer=request.defer,
            baseline=request.baseline,
        )
        try:
            stored = records.encode_offer(offer)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise BadRequest(f"the request cannot be written down: {error}") from None
        event_id = request.event_id
        if event_id is None:
            event_id = self._new_id()
        else:
            check_id("event_id", event_id)
            known = self._state.known.get(event_id)
            if known is not None:
                return self._repeated(policy, event_id, known, stored)
        record = records.Decided(time=self._now(), policy=policy, event_id=event_id, offer=stored)
        self._carry_out(record, offer)
        return answer_of(record, offer)

    def reward(self, event_id: str, value: float) -> RewardAnswer:
        """Give a decision a reward."""
        if not math.isfinite(value):
            raise BadRequest(f"reward must be a finite number, got {value!r}")
        policy = self._state.event(event_id).policy
        record = records.Rewarded(
            time=self._now(), policy=policy, event_id=event_id, value=float(value)
        )
        self._carry_out(record)
        assert record.status is not None
        return RewardAnswer(event_id=event_id, status=record.status)

    def activate(self, event_id: str) -> ActivationAnswer:
        """Activate a deferred decision: it was shown."""
        policy = self._state.event(event_id).policy
        record = records.Activated(time=self._now(), policy=policy, event_id=event_id)
        self._carry_out(record)
        assert record.status is not None
        return ActivationAnswer(event_id=event_id, status=record.status)

    def expire(self) -> int:
        """Close the decisions that have waited too long, and return their number."""
        now, closed = self._now(), 0
        for name, hosted in self._state.policies.items():
            if hosted.agent.is_due(now=now):
                record = records.Expired(time=now, policy=name)
                self._carry_out(record)
                closed += len(record.closed)
        return closed

    def put_policy(self, name: str, settings: PolicySettings) -> PolicyView:
        """Create a policy, or change its settings. The same settings again change nothing.

        If features, learner, config or seed change, learning starts again from nothing, and open
        decisions close without being learned from. Other changes keep what was learned.
        """
        check_id("name", name)
        hosted = self._state.policies.get(name)
        if hosted is None or hosted.settings != settings:
            self._carry_out(
                records.PolicySet(time=self._now(), policy=name, settings=settings.to_dict())
            )
        return self.policy(name)

    def promote(self, name: str) -> PolicyView:
        """Change a policy from shadow to live."""
        self._carry_out(records.Promoted(time=self._now(), policy=name))
        return self.policy(name)

    def delete_policy(self, name: str) -> None:
        """Delete a policy and everything that it has learned."""
        self._carry_out(records.PolicyDeleted(time=self._now(), policy=name))

    def put_action(self, name: str, action_id: str, features: dict[str, Any] | None) -> None:
        """Add an action to the catalogue, so that requests can offer it by its id."""
        check_id("action_id", action_id)
        hosted = self._state.policy(name)
        if hosted.catalogue.get(action_id) != (features or {}):
            now = self._now()
            self._carry_out(
                records.ActionSet(time=now, policy=name, action=action_id, features=features)
            )

    def remove_action(self, name: str, action_id: str) -> None:
        """Remove an action from the catalogue and from the learner."""
        self._carry_out(records.ActionRemoved(time=self._now(), policy=name, action=action_id))

    @property
    def pending(self) -> int:
        """Number of records that the next commit writes."""
        return self._ledger.pending

    def commit(self) -> None:
        """Make all commands so far durable. Their answers may be sent when this returns."""
        self._ledger.commit(time=self._state.time)
        since, every = self._ledger.since_snapshot, self._snapshot_every
        if every > 0 and since >= max(every, self._state.open // 2):
            self.snapshot()

    def snapshot(self) -> int:
        """Commit, save the whole state, and return the number of its last record."""
        self._ledger.commit(time=self._state.time)
        if self._ledger.since_snapshot > 0:
            self._ledger.save(time=self._state.time, state=self._state.to_bytes())
        return self._ledger.snapshot

    def backup(self, target: Path) -> Iterator[int]:
        """Copy the journal to a new file in pieces, and yield how many pieces are left.

        Commands and commits may run between two pieces.
        """
        self.commit()
        yield from self._ledger.store.backup(target)

    def prune(self, *, days: float) -> int:
        """Remove records older than ``days``, and return their number."""
        self.commit()
        return self._ledger.store.prune(before=self._now() - days * 86_400.0)

    def policies(self) -> list[PolicyView]:
        """All policies as they are now."""
        return [hosted.view() for hosted in self._state.policies.values()]

    def policy(self, name: str) -> PolicyView:
        """A policy as it is now."""
        return self._state.policy(name).view()

    def journal(self) -> dict[str, Any]:
        """Number of records, time of the last one, and number of records since the snapshot."""
        return {
            "records": self._ledger.store.last,
            "time": self._state.time,
            "since_snapshot": self._ledger.since_snapshot,
        }

    def actions(self, name: str) -> dict[str, dict[str, Any]]:
        """The catalogue of a policy: ids and features."""
        return dict(self._state.policy(name).catalogue)

    def events(self, policy: str | None, *, after: int, limit: int) -> list[dict[str, Any]]:
        """Committed records after number ``after``, of one policy or of all, as plain values."""
        if policy is not None:
            self._state.policy(policy)
        chosen = (
            as_event(number, record)
            for number, record in self._ledger.committed(after=after)
            if policy in (None, record.policy)
        )
        return list(islice(chosen, limit))

    def diagnostics(self, policy: str) -> dict[str, Any]:
        """Statistics of a policy as plain values; see `driftbandits.service.statistics`."""
        return diagnosis(self._state.policy(policy))

    def to_bytes(self) -> bytes:
        """The whole state as bytes; equal states give equal bytes."""
        return self._state.to_bytes()

    def close(self) -> None:
        """Commit, take a snapshot and close the journal."""
        if self._ledger.usable:
            self.snapshot()
        self._ledger.store.close()

    def _carry_out(self, record: records.AnyRecord, offer: records.Offer | None = None) -> None:
        """Change the state, and add the record to the next commit."""
        self._ledger.check()
        if offer is None:
            check_written(record)
        try:
            self._state.apply(record, offer=offer)
            self._ledger.add(records.encode(record))
        except ServiceError:
            raise
        except BaseException as error:
            raise self._ledger.broken(f"a command failed half-way: {error!r}") from error

    def _repeated(
        self, policy: str, event_id: str, known: Known, stored: msgspec.Raw
    ) -> DecisionAnswer:
        """The first answer again, if the request is the same."""
        record = self._ledger.record(known.number)
        if not isinstance(record, records.Decided):
            raise ConflictingEvent(
                f"decision {event_id!r} is older than the records that the journal keeps, so its "
                "answer cannot be repeated"
            )
        offer = records.decode_offer(record.offer)
        if record.policy != policy or (
            record.offer != stored and offer != records.decode_offer(stored)
        ):
            raise ConflictingEvent(f"event_id {event_id!r} belongs to another request")
        return answer_of(record, offer, repeated=True)

    def _new_id(self) -> str:
        """An unused id with the number of the next record."""
        made = f"e{self._state.number + 1}"
        while made in self._state.known:  # a client has used this id for its own decision
            made += "-"
        return made

    def _now(self) -> float:
        """The current time, which never goes back."""
        return max(float(self._clock()), self._state.time)
