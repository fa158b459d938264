"""Merges two policies that each saw a part of the data into one that knows all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..core.clock import CLOCK

if TYPE_CHECKING:
    from .base import Policy

AnyPolicy = TypeVar("AnyPolicy", bound="Policy")


def merge(policy: AnyPolicy, other: Policy) -> AnyPolicy:
    """What `Policy.merged` returns; the caller has checked that merging is offered."""
    if type(other) is not type(policy):
        raise TypeError(
            f"other must be of the same class {type(policy).__name__}, got {type(other).__name__}"
        )
    _check_configurations(policy, other)
    one, two = policy.copy(), other.copy()
    _catch_up(one, two)
    one._adopt(one._merged_state(two))
    return one


def _check_configurations(policy: Policy, other: Policy) -> None:
    """Refuse configurations that differ in more than the seed."""
    mine, theirs = ({**each.config, "seed": None} for each in (policy, other))
    differing = [name for name, value in mine.items() if theirs[name] != value]
    if differing:
        shown = [f"{name} = {mine[name]!r} and {theirs[name]!r}" for name in differing]
        raise ValueError(f"both policies must have one configuration, got {', '.join(shown)}")


def _catch_up(one: Policy, two: Policy) -> None:
    """Move the clock that is behind on to the other clock."""
    behind, ahead = sorted((one, two), key=lambda policy: policy._state.counters[CLOCK])
    clock, gap = ahead._state.counters[CLOCK], ahead.round - behind.round
    if gap > 0:
        behind.advance(rounds=gap)
        behind._state.counters[CLOCK] = clock  # to the last bit
        behind._share_schedule(ahead)
