"""One hosted policy: an agent, its settings, its catalogue and its statistics.

The result of every method depends only on the state and the record. Time comes from the record. A
method that raises `ServiceError` has changed nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from ..agent import Agent, Choice
from ..core.checks import LARGEST_REWARD
from ..features import FeatureError
from .answers import offered
from .errors import BadRequest, ConflictingReward, UnknownAction
from .journal.records import Decided, Offer, Outcome
from .messages import ActivationStatus, PolicyView, RewardStatus
from .offers import Named, Offers
from .policy_settings import PolicySettings, draws_nothing
from .statistics import Known, Statistics


class Saved(msgspec.Struct, array_like=True):
    """A hosted policy in a snapshot."""

    name: str
    settings: dict[str, Any]
    version: int
    catalogue: dict[str, dict[str, Any]]
    agent: bytes
    statistics: Statistics
    closed: list[str]


class Hosted:
    """A policy in a house.

    Args:
        name: Its name.
        settings: Its settings.
        known: All decisions of the house by their ids; the policy adds and removes its own.
    """

    def __init__(self, name: str, settings: PolicySettings, known: dict[str, Known]) -> None:
        self.name, self.settings, self.version = name, settings, 1
        self.agent = settings.agent()
        self.catalogue: dict[str, dict[str, Any]] = {}
        self.statistics = Statistics()
        self._known = known
        self._closed = deque[str]()
        self._offers = Offers(self.catalogue)

    def saved(self) -> Saved:
        """Everything, for a snapshot."""
        return Saved(
            self.name,
            self.settings.to_dict(),
            self.version,
            self.catalogue,
            self.agent.to_bytes(),
            self.statistics,
            list(self._closed),
        )

    @classmethod
    def restored(cls, saved: Saved, known: dict[str, Known]) -> Hosted:
        """The policy of a snapshot."""
        hosted = object.__new__(cls)
        hosted.name, hosted.version = saved.name, saved.version
        hosted.settings = msgspec.convert(saved.settings, PolicySettings)
        hosted.agent = Agent.from_bytes(saved.agent, name=f"policy {saved.name}")
        hosted.catalogue, hosted.statistics = saved.catalogue, saved.statistics
        hosted._known, hosted._closed = known, deque(saved.closed)
        hosted._offers = Offers(hosted.catalogue)
        return hosted

    def view(self) -> PolicyView:
        """The policy as it is now."""
        return PolicyView(
            name=self.name,
            version=self.version,
            settings=self.settings,
            mode=self.settings.mode,
            dim=self.agent.policy.dim,
            round=float(self.agent.policy.round),
            decisions=self.statistics.decisions,
            open=self.agent.open,
            actions=len(self.catalogue),
        )

    def decide(self, record: Decided, offer: Offer, number: int) -> Outcome:
        """Make a decision; in a replay, show the recorded action."""
        named = self._named(offer.actions)
        baseline = self._baseline(offer, named)
        shadow = self.settings.mode == "shadow"
        try:
            choice = self.agent.decide(
                offer.context,
                named,
                now=record.time,
                id=record.event_id,
                exclude=offer.exclude,
                baseline=baseline if shadow else None,
                deferred=offer.defer,
                shown=_shown(record, offer),
            )
        except (FeatureError, ValueError) as error:
            raise BadRequest(str(error)) from None
        outcome = self._outcome(choice)
        self._close(record.closed)
        self._known[record.event_id] = Known(
            number=number,
            policy=self.name,
            time=record.time,
            learner=self._learner_weight(choice),
            baseline=None if baseline is None else _weight(choice, baseline),
            prediction=choice.prediction,
        )
        self.statistics.decided(choice.action, choice.propensity, deferred=offer.defer)
        return outcome

    def reward(self, event_id: str, value: float, time: float, closed: list[str]) -> RewardStatus:
        """Give a decision a reward."""
        known = self._known[event_id]
        self._check_reward(known, value)
        status: RewardStatus | None = None
        if known.open:
            answer = self.agent.reward(event_id, value, now=time)
            status = None if answer in ("unknown", "too_late") else answer  # type: ignore[assignment]
        else:
            self.agent.expire(now=time)
        self._close(closed)
        if status is None:  # the decision has closed, just now or earlier
            same = self.settings.rewards != "sum" and known.reward == value
            status = "duplicate" if same else "too_late"
        self.statistics.rewarded(known, status, time)
        if status in ("learned", "held"):
            decision = self.agent.find(event_id)
            known.reward = None if decision is None else decision.reward
        return status

    def activate(self, event_id: str, time: float, closed: list[str]) -> ActivationStatus:
        """Activate a deferred decision: it was shown."""
        known = self._known[event_id]
        activated = self.agent.activate(event_id, now=time)
        self._close(closed)
        if not activated:
            return "already_active" if known.open else "too_late"
        self.statistics.activations += 1
        return "activated"

    def expire(self, time: float, closed: list[str]) -> None:
        """Close the decisions that have waited too long."""
        self.agent.expire(now=time)
        self._close(closed)

    def change(self, settings: PolicySettings, closed: list[str]) -> None:
        """Change the settings. The learner is kept unless `learns_alike` says that it cannot be."""
        if settings.learns_alike(self.settings):
            options = settings.agent_options()
            self.agent = self.agent.changed(floor=settings.floor, options=options)
        else:
            gone = [id for id, known in self._known.items() if self._waits(known)]
            self.agent, self.statistics = settings.agent(), Statistics()
            self._retire(gone, closed)
        self.settings = settings
        self.version += 1

    def describe(self, action: str, features: dict[str, Any] | None) -> None:
        """Add an action to the catalogue, or replace its features."""
        self.catalogue[action] = features or {}
        self._offers.forget()

    def remove(self, action: str, closed: list[str]) -> None:
        """Remove an action from the catalogue, and forget its block of coordinates."""
        slots = self.agent.slots
        has_slot = slots is not None and action in slots
        if not has_slot and action not in self.catalogue:
            raise UnknownAction(f"policy {self.name!r} has no action {action!r}")
        if has_slot:
            try:
                self.agent.remove([action])
            except (TypeError, ValueError) as error:
                raise BadRequest(str(error)) from None
            self._retire([decision.id for decision in self.agent.just_closed], closed)
        self.catalogue.pop(action, None)
        self._offers.forget()

    def forget(self, closed: list[str]) -> None:
        """Remove every trace of the policy from the house."""
        for id in [id for id, known in self._known.items() if known.policy == self.name]:
            if self._known[id].open:
                closed.append(id)
            del self._known[id]

    def _waits(self, known: Known) -> bool:
        return known.open and known.policy == self.name

    def _named(self, actions: Sequence[Any]) -> Named:
        """Ids and features of the offered actions."""
        named = self._offers.named(actions)
        self._check_slots(named)
        return named

    def _check_slots(self, named: dict[str, Any]) -> None:
        """Refuse more than ``most_actions`` actions with their own coordinates."""
        slots = self.agent.slots
        if slots is None:
            return
        count = len(slots) + sum(id not in slots.slots for id in named)
        if count > self.settings.most_actions:
            raise BadRequest(
                f"actions must be at most {self.settings.most_actions} in all, since each has "
                f"coordinates of its own, got {count}; remove some from the catalogue"
            )

    def _baseline(self, offer: Offer, named: dict[str, Any]) -> str | None:
        """The action that would be shown without the policy; None if it is not known."""
        if offer.baseline is not None:
            if offer.baseline not in named or offer.baseline in offer.exclude:
                raise BadRequest(
                    f"baseline must be an action that can be shown, got {offer.baseline!r}"
                )
            return offer.baseline
        if self.settings.mode == "live":
            return None
        return next((id for id in named if id not in offer.exclude), None)

    def _outcome(self, choice: Choice) -> Outcome:
        certain = draws_nothing(type(self.agent.policy))
        return Outcome(
            chosen=choice.actions.index(choice.action),
            proposed=choice.actions.index(choice.proposed),
            order=(-choice.scores).argsort(kind="stable").tolist(),
            propensity=choice.propensity,
            floor=self.settings.floor,
            round=float(choice.round),
            version=self.version,
            mode=self.settings.mode,
            prediction=choice.prediction,
            chances=None if certain else choice.propensities.tolist(),
        )

    def _learner_weight(self, choice: Choice) -> float:
        """q/p: q is the probability of the shown action under the learner without its floor."""
        floor, position = self.settings.floor, choice.actions.index(choice.action)
        if floor == 1.0:
            return 1.0  # every choice comes from the floor, so q is not defined
        among = float(choice.propensities[position])
        return max(0.0, (among - floor / len(choice.actions)) / (1.0 - floor)) / choice.propensity

    def _check_reward(self, known: Known, value: float) -> None:
        """Refuse a reward that the decision cannot have."""
        rewards = self.settings.rewards
        total = value + (known.reward or 0.0) if rewards == "sum" else value
        if not abs(total) <= LARGEST_REWARD:
            raise BadRequest(f"reward must be at most {LARGEST_REWARD:g} in size, got {value!r}")
        if rewards == "first" and known.reward is not None and known.reward != value:
            raise ConflictingReward(
                f"the decision already has the reward {known.reward!r}, got {value!r}; policies "
                'with rewards = "last" or "sum" accept more than one'
            )

    def _close(self, closed: list[str]) -> None:
        """Record the decisions that the agent's last call closed."""
        for decision in self.agent.just_closed:
            known = self._known[decision.id]
            if decision.activated:
                self.statistics.finished(known, decision.reward, self.settings.default)
            closed.append(decision.id)
            self._shut(decision.id, known)

    def _retire(self, ids: list[str], closed: list[str]) -> None:
        """Close decisions without learning from them."""
        for id in ids:
            closed.append(id)
            self._shut(id, self._known[id])

    def _shut(self, id: str, known: Known) -> None:
        known.open = False
        self._closed.append(id)
        if len(self._closed) > self.settings.remember:
            del self._known[self._closed.popleft()]


def _shown(record: Decided, offer: Offer) -> str | None:
    """In a replay, the recorded action; otherwise None."""
    return None if record.outcome is None else offered(offer)[record.outcome.chosen]


def _weight(choice: Choice, action: str) -> float:
    return 1.0 / choice.propensity if choice.action == action else 0.0
