"""Applies events to a policy: one by one as calls, or many in compiled code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.clock import CLOCK, check_closing, rounds_of
from ..core.events import (
    ADVANCE,
    ALSO,
    AMEND,
    DECIDE,
    FORGET,
    LEARN,
    ROUND,
    SELECT,
    UPDATE,
    VALUE,
    Advance,
    Amend,
    Decide,
    Decision,
    Event,
    Forget,
    Learn,
    Outcomes,
    Packed,
    Select,
    Update,
    pack_with_starts,
)
from ..core.packing import BUSY
from ..core.replaying import first_wrong
from .inputs import check_rewards, refuse

if TYPE_CHECKING:
    from .base import Policy


def apply(policy: Policy, event: Event) -> Decision | int | None:
    """Make the call that ``event`` stands for."""
    match event:
        case Select(actions):
            return policy.select(actions)
        case Decide(actions, rounds):
            return policy.decide(actions, rounds=rounds)
        case Update(actions, rewards):
            policy.update(actions, rewards)
        case Learn(action, reward, round):
            if round is None:  # the call would close the open round
                raise ValueError("round must be a number, got None; for the open round use Update")
            policy.update(action, reward, round=round)
        case Amend(action, round, old, new):
            policy.amend(action, round=round, old=old, new=new)
        case Advance(rounds):
            policy.advance(rounds=rounds)
        case Forget(coordinates):
            policy.forget(coordinates)
        case _:
            raise TypeError(f"an event of driftbandits.events is needed, got {event!r}")
    return None


def replay(policy: Policy, events: Iterable[Event] | Packed) -> Outcomes:
    """Run events in compiled code; if one of them is not valid, nothing changes."""
    if not isinstance(events, Packed):
        table, starts = pack_with_starts(events, dim=policy.dim)
        indices, rounds, propensities = _replay(policy, table, starts)
        return Outcomes(indices[starts], rounds[starts], propensities[starts])
    table = events.checked(policy.dim)
    return _replay(policy, table, np.arange(len(table.kinds)))


def _replay(policy: Policy, table: Packed, starts: Any) -> Outcomes:
    """Run entries; event i begins at ``starts[i]``. Returns one outcome per entry."""
    count = len(table.kinds)
    chosen, chances = np.full(count, -1, dtype=np.int64), np.full(count, np.nan)
    arrays = policy._packed
    policy._retire()  # for good: new arrays replace these if the replay succeeds
    try:
        clock = float(policy._state.counters[CLOCK])
        _check(policy, table, starts, clock)
        # Run on a copy: if an amendment finds no observation, the policy stays as it was.
        twin = policy._twin(policy._state)
        _run(twin, table, starts, chosen, chances)
    except BaseException:
        arrays[BUSY] = 0.0
        raise
    policy._adopt(twin._state, twin._floor_state())
    return Outcomes(chosen, _open_rounds(table, clock), chances)


def _event_of(starts: Any, entry: int) -> int:
    """The event that an entry belongs to."""
    return int(np.searchsorted(starts, entry, side="right")) - 1


def _check(policy: Policy, table: Packed, starts: Any, clock: float) -> None:
    """Refuse the first event that is not valid."""
    wrong = first_wrong(policy._packed, *table, clock)
    if wrong >= 0:
        try:
            _raise_what_is_wrong(policy, table, int(wrong))
        except ValueError as error:
            raise ValueError(f"event {_event_of(starts, wrong)}: {error}") from None
    offered: tuple[tuple[int, Literal["amend", "forget"]], ...]
    offered = (AMEND, "amend"), (FORGET, "forget")
    for kind, operation in offered:
        if (places := np.flatnonzero(table.kinds == kind)).size:
            try:
                policy._check_offered(operation)
            except TypeError as error:
                raise TypeError(f"event {_event_of(starts, places[0])}: {error}") from None


def _run(twin: Policy, table: Packed, starts: Any, chosen: Any, chances: Any) -> None:
    found, done, last = np.ones(1, dtype=np.int64), 0, -1
    while True:
        done = twin._calls.replay(twin._packed, *table, done, chosen, chances, found)
        if done == len(table.kinds):
            return
        if found[0] == 0:
            old, round = table.numbers[done, VALUE], table.numbers[done, ROUND]
            raise ValueError(
                f"event {_event_of(starts, done)}: round {round:g} must have an observation of "
                f"this action with the reward {old:g}"
            )
        if done == last:
            raise RuntimeError(f"event {_event_of(starts, done)}: _grown made no room")
        last = done
        twin._make_room(closed_rounds(table)[done])


def closed_rounds(table: Packed) -> Any:
    """How many rounds each event closes, shape (n,)."""
    moves = np.isin(table.kinds, (DECIDE, ADVANCE))
    return np.where(moves, table.numbers[:, VALUE], (table.kinds == UPDATE).astype(float))


def _open_rounds(table: Packed, clock: float) -> Any:
    """The open round before each event, shape (n,); summed in the same order as by the clock."""
    return np.cumsum(np.concatenate([[clock], closed_rounds(table)]))[:-1] + 1.0


def _raise_what_is_wrong(policy: Policy, table: Packed, wrong: int) -> None:
    """Raise an error that says what is wrong with entry ``wrong``."""
    kind, (value, round, new) = table.kinds[wrong], table.numbers[wrong]
    if not SELECT <= kind <= FORGET:
        raise ValueError(f"kinds must lie from {SELECT} to {FORGET}, got {kind}")
    first, size, most = table.starts[wrong], table.counts[wrong], len(table.rows)
    if kind != ADVANCE and not (first >= 0 and 0 <= size <= most - first):
        raise ValueError(f"rows must lie within the {most} rows, got {first} to {first + size - 1}")
    if kind in (UPDATE, ALSO, LEARN, AMEND, FORGET) and size != 1:
        raise ValueError(f"counts must be 1, got {size}")
    if kind == ALSO and not (wrong and table.kinds[wrong - 1] in (UPDATE, ALSO)):
        raise ValueError("a further reward of a batch must follow an update")
    if kind in (ADVANCE, DECIDE) and not (0 < value < np.inf or (kind == DECIDE and value == 0)):
        least = "0 or above" if kind == DECIDE else "above 0"
        raise ValueError(f"rounds must be a finite number, {least}, got {value:g}")
    if kind != ADVANCE:
        refuse(policy.dim, policy.action_bound, table.rows[first : first + size])
    if kind in (UPDATE, ALSO, LEARN, AMEND):
        check_rewards(np.array([value]), "old" if kind == AMEND else "rewards")
    if kind == AMEND:
        check_rewards(np.array([new]), "new")
    clock = _open_rounds(table, float(policy._state.counters[CLOCK]))[wrong] - 1.0
    check_closing(clock, float(closed_rounds(table)[wrong]))
    rounds_of(clock, [round], 1)
    raise ValueError("it is refused")  # pragma: no cover - the checks above say why
