"""Requests to the house and its answers, as frozen values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from .policy_settings import Mode, PolicySettings

RewardStatus = Literal["learned", "held", "duplicate", "too_late", "not_activated"]
ActivationStatus = Literal["activated", "already_active", "too_late"]


class NamedAction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action whose features come with the request.

    Attributes:
        id: Its name.
        features: Its features; None takes those of the catalogue.
    """

    id: str
    features: dict[str, Any] | None = None


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a decision.

    Attributes:
        actions: The actions that could be shown: ids, or ids with features. No id may occur twice.
        event_id: Name of the decision. The same name and request again give the same answer.
        context: Features of the situation, such as the user and the time of day.
        exclude: Ids of actions that must not be shown this time.
        defer: Whether the decision counts only after it is activated.
        baseline: The action that would be shown without this policy, for comparison. In shadow
            mode it is shown; its default is then the first action that is not excluded.
    """

    actions: Sequence[str | NamedAction]
    event_id: str | None = None
    context: dict[str, Any] = {}
    exclude: list[str] = []
    defer: bool = False
    baseline: str | None = None


class DecisionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What to show.

    Attributes:
        event_id: Name of the decision; its reward is sent to it.
        action: The action to show.
        propensity: Probability with which it is shown.
        ranking: Ids of all actions that could be shown: ``action`` first, then the others from the
            highest score to the lowest.
        probabilities: Probability that each action of ``ranking`` is shown; they sum to 1.
        round: Round of the policy that the reward belongs to.
        policy_version: Number of times that the settings of the policy were set.
        mode: "live", or "shadow" if the baseline is shown.
        repeated: Whether this decision was answered before.
    """

    event_id: str
    action: str
    propensity: float
    ranking: list[str]
    probabilities: list[float]
    round: float
    policy_version: int
    mode: Mode
    repeated: bool = False


class RewardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a reward.

    Attributes:
        event_id: Name of the decision.
        status: "learned"; "held" until the decision closes; "duplicate" if the decision has this
            reward already; "too_late" after the wait; "not_activated" if the decision was not
            shown.
    """

    event_id: str
    status: RewardStatus


class ActivationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an activation."""

    event_id: str
    status: ActivationStatus


class PolicyView(msgspec.Struct, frozen=True, kw_only=True):
    """A hosted policy as it is now.

    Attributes:
        name: Its name.
        version: Number of times that its settings were set.
        settings: Its settings.
        mode: "live" or "shadow".
        dim: Length of the vectors.
        round: The current round.
        decisions: Number of decisions made.
        open: Number of decisions that wait for their rewards.
        actions: Number of actions in the catalogue.
    """

    name: str
    version: int
    settings: PolicySettings
    mode: Mode
    dim: int
    round: float
    decisions: int
    open: int
    actions: int
