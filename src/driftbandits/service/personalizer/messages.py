"""The bodies of Personalizer v1.0."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Id = Annotated[str, Meta(min_length=1, max_length=256)]


class RankableAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action, with features as a list of objects."""

    id: Id
    features: list[dict[str, Any]] | None = None


class RankRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request for a decision; null means that a field is missing."""

    actions: list[RankableAction]
    context_features: list[dict[str, Any]] | None = None
    excluded_actions: list[str] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = None


class RankedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action and the probability with which it is shown."""

    id: str
    probability: float


class RankResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer; the action to show is ``rewardActionId``."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RewardRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The reward of a decision."""

    value: float


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong."""

    code: str
    message: str
    target: str | None = None


class ErrorResponse(msgspec.Struct, frozen=True, kw_only=True):
    """An error in Personalizer's format."""

    error: Error
