"""The agent: features, a policy, and decisions whose rewards are still to come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, cast, get_args

import numpy as np

from ..core.arrays import Array, finite, one_of, positive, whole
from ..features import Features, SlotTable
from ..features.inputs import id_text, id_texts, named_actions
from ..policies import Policy
from . import saving
from .catalogue import Catalogue, Offer
from .choice import Choice
from .clock import Clock
from .explaining import Explanation, Snapshots, explanation
from .learning import COMBINES, RULES, Combine, Learning, Rule
from .open_decisions import OpenDecision, OpenDecisions, Status
from .settling import Settling

Mode = Literal["live", "shadow"]
MODES: tuple[Mode, ...] = get_args(Mode)

# Decisions from one prediction to the next.
PREDICTED_EVERY = 16

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _locked(
    method: Callable[Concatenate[Agent, Given], Answer],
) -> Callable[Concatenate[Agent, Given], Answer]:
    """One call at a time: what an agent holds changes together, or not at all."""

    @wraps(method)
    def call(self: Agent, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


class Agent:
    """From dictionaries to decisions: encodes, chooses, and matches rewards with decisions.

    A reward counts for the round of its own decision, exactly, whenever it comes. Time is always
    handed in, in any unit. Every call first closes the decisions that have waited too long by
    then, so what is learned does not depend on how often `expire` is called. Safe to use from
    several threads.

    Args:
        features: Declaration that turns contexts and actions into vectors.
        policy: What chooses among vectors and learns. Where the rule assumes rewards, the agent
            goes on with `Policy.with_provisional_rewards`.
        wait: Time after which a decision closes.
        default: Reward of a decision that gets none until then; None to learn nothing of it.
        rule: What the policy learns before a reward is known. "assume": the default at once, which
            a reward amends. "wait": nothing. "hold": nothing before the decision closes, not even
            rewards that have come.
        rewards: What several rewards of one decision amount to: "sum", "last" or "first".
        mode: "live", or "shadow" to show a baseline and learn beside it.
        round_length: Time per round of the policy, to forget by the hour. None closes one round
            per decision, to forget by decisions.
        most_open: Bound on open decisions. Beyond it the oldest closes as if it had waited.
        remember: Number of closed decisions whose names are still known; as many as ``most_open``
            unless given.

    Examples:
        >>> from driftbandits import Agent, AdaptiveLinUCB
        >>> from driftbandits.features import Features, OneHot
        >>> features = Features(
        ...     context={"country": OneHot(["FR", "DE"])},
        ...     action={"category": OneHot(["sport", "politics"])},
        ... )
        >>> agent = Agent(features=features, policy=AdaptiveLinUCB(dim=features.dim), wait=1800.0)
        >>> articles = {"a17": {"category": "sport"}, "a18": {"category": "politics"}}
        >>> choice = agent.decide({"country": "FR"}, articles, now=0.0)
        >>> choice.action in articles
        True
        >>> agent.reward(choice.id, 1.0, now=60.0)
        'learned'
    """

    def __init__(
        self,
        *,
        features: Features,
        policy: Policy,
        wait: float,
        default: float | None = 0.0,
        rule: Rule = "assume",
        rewards: Combine = "last",
        mode: Mode = "live",
        round_length: float | None = None,
        most_open: int = 1_000_000,
        remember: int | None = None,
    ) -> None:
        positive("wait", wait)
        one_of("rule", rule, RULES)
        one_of("rewards", rewards, COMBINES)
        one_of("mode", mode, MODES)
        whole("most_open", most_open, least=1)
        remembered = most_open if remember is None else remember
        whole("remember", remembered, least=0)
        if default is not None:
            finite("default", default)
        if round_length is not None:
            positive("round_length", round_length)
        _check_policy(policy, features)
        learning = Learning(rule=rule, default=default, combine=rewards)
        learning.check(policy)
        self._catalogue = Catalogue.of(features)
        self._policy = policy.with_provisional_rewards(rule == "assume")
        self._settling = Settling(wait=float(wait), provisional=self._policy.provisional_rewards)
        self._learning, self._wait, self._mode = learning, float(wait), mode
        self._clock = Clock(round_length)
        self._open = OpenDecisions(most=most_open, remember=remembered)
        self._just_closed: tuple[OpenDecision, ...] = ()
        self._decided = 0
        self._snapshots = Snapshots()
        self._lock = RLock()

    def __repr__(self) -> str:
        return (
            f"<Agent with {type(self._policy).__name__} of dim {self._policy.dim}: "
            f"{self._decided} decided, {self.open} open>"
        )

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        """Copied and pickled as what `save` writes: the lock stays behind."""
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def features(self) -> Features:
        """The declaration; with more slots than at first where actions needed them."""
        return self._catalogue.features

    @property
    def slots(self) -> SlotTable | None:
        """Which action has which block of coordinates; None without such blocks."""
        return self._catalogue.slots

    @property
    def policy(self) -> Policy:
        """The policy. Changing it from outside is like changing the past."""
        return self._policy

    @property
    def mode(self) -> Mode:
        """Whether choices are shown, or a baseline in their place."""
        return self._mode

    @property
    def open(self) -> int:
        """Number of decisions that wait for their rewards."""
        return len(self._open)

    @property
    def decided(self) -> int:
        """Number of decisions made."""
        return self._decided

    @property
    def options(self) -> dict[str, Any]:
        """The arguments, besides features and policy, that would build such an agent anew."""
        return {
            "wait": self._wait,
            "default": self._learning.default,
            "rule": self._learning.rule,
            "rewards": self._learning.combine,
            "mode": self._mode,
            "round_length": self._clock.round_length,
            "most_open": self._open.most,
            "remember": self._open.remember,
        }

    @property
    def just_closed(self) -> tuple[OpenDecision, ...]:
        """The decisions that the last call closed, in order."""
        return self._just_closed

    @_locked
    def decide(
        self,
        context: Any,
        actions: Any,
        *,
        now: float,
        id: str | None = None,
        exclude: Iterable[Any] = (),
        baseline: Any = None,
        deferred: bool = False,
        shown: Any = None,
    ) -> Choice:
        """Choose one of the actions.

        Args:
            context: What is known of the occasion: a dictionary or a row of a data frame.
            actions: What could be shown: a dictionary from ids to features; a list of ids or of
                ``{"id": …, "features": …}``; or a data frame with one row per action.
            now: The time, a number in the unit of ``wait``, such as ``time.time()``.
            id: Name of the decision; made up unless given.
            exclude: Ids of actions that must not be shown this time.
            baseline: In shadow mode, the id of the action that is shown.
            deferred: Whether the decision counts only once it is activated.
            shown: In a replay, the id of the action that was shown at the time. The policy chooses
                all the same, as it did then.
        """
        ids = self._fresh([id])
        return self._decide(context, actions, ids, now, exclude, baseline, deferred, shown)[0]

    @_locked
    def page(
        self,
        context: Any,
        actions: Any,
        *,
        places: int,
        now: float,
        ids: Iterable[str] | None = None,
        exclude: Iterable[Any] = (),
        deferred: bool = False,
    ) -> tuple[Choice, ...]:
        """Fill several places with different actions; each place is a decision with its reward.

        The best score comes first. All places belong to one round. The propensity of a place is
        that of its action given the places before it.
        """
        whole("places", places, least=1)
        names = self._fresh([None] * places if ids is None else ids)
        if len(names) != places:
            raise ValueError(f"ids must have one name per place, {places}, got {len(names)}")
        if self._mode == "shadow":
            raise ValueError("page needs mode live, got shadow, which shows a single baseline")
        return self._decide(context, actions, names, now, exclude, None, deferred)

    @_locked
    def reward(self, id: str, reward: float, *, now: float) -> Status:
        """Hand in a reward; it counts for the round of its decision, exactly.

        Returns what became of it: "learned"; "held" until the decision closes; "duplicate" where
        it adds nothing; "too_late" for a closed decision; "not_activated" for a deferred one that
        was not shown; "unknown" where there is no such decision, or it closed too long ago.
        """
        if type(id) is not str:
            raise ValueError(f"id must be a text, such as choice.id, got {id!r}")
        if isinstance(reward, (bool, np.bool_)):  # whether there was a click
            reward = float(reward)
        finite("reward", reward)
        self._move(now)
        decision = self._open.get(id)
        if decision is None:
            return "too_late" if self._open.knows(id) else "unknown"
        if decision.activated and decision.reward is None:
            self._settling.rewarded(decision, self._time)
        return self._learning.rewarded(self._policy, decision, float(reward))

    @_locked
    def activate(self, id: str, *, now: float) -> bool:
        """Say that a deferred decision was shown: from now on it counts, and waits.

        Returns whether it was open and not activated before.
        """
        self._move(now)
        decision = self._open.get(id)
        if decision is None or decision.activated:
            return False
        decision.activated = True
        self._open.renew(decision, self._time + self._wait)
        self._learn_opened(decision)
        return True

    @_locked
    def expire(self, *, now: float) -> int:
        """Close the decisions that have waited too long, and return how many there were."""
        return self._move(now)

    @_locked
    def is_due(self, *, now: float) -> bool:
        """Whether `expire` would close a decision. Changes nothing."""
        return self._open.is_due(max(now, self._time))

    @_locked
    def find(self, id: str) -> OpenDecision | None:
        """The open decision of this name, to look at; None where there is none."""
        return self._open.get(id)

    @_locked
    def remove(self, actions: Iterable[Any]) -> None:
        """Take actions out of the catalogue for good: their blocks are forgotten and reused.

        Open decisions for them close and teach nothing. Only declarations with a block per action
        need this; actions that are described by features just stop being offered.
        """
        gone = id_texts("actions", actions)
        catalogue, coordinates = self._catalogue.without(gone)
        self._policy.forget(coordinates)
        self._just_closed = tuple(entry for entry in self._open if entry.action in gone)
        for decision in self._just_closed:
            self._open.close(decision.id)
        self._catalogue = catalogue

    @_locked
    def switch(self, mode: Mode) -> None:
        """Go from shadow to live, or back. What was learned stays."""
        one_of("mode", mode, MODES)
        self._mode = mode

    @_locked
    def changed(self, *, floor: float, options: Mapping[str, Any]) -> Agent:
        """An agent with another floor and some other `options` that knows what this one knows.

        Open decisions stay open. Where ``wait`` changes, they close that much earlier or later.
        """
        return saving.changed(self, floor=floor, options=options)

    @_locked
    def explain(self, *, decisions: int = 1000) -> Explanation:
        """What drives choices now, and what has changed in the last so many ``decisions``."""
        whole("decisions", decisions, least=1)
        since = self._decided - decisions
        return explanation(self._policy, self._catalogue, self._snapshots, since)

    @_locked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to ``path``, whole or not at all."""
        saving.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The agent that ``save`` wrote: it goes on, bit for bit, where it left off."""
        return cast(Self, saving.load(cls, path))

    @_locked
    def to_bytes(self) -> bytes:
        """What `save` writes, as bytes; the same bytes for the same state."""
        return saving.as_bytes(self)

    @classmethod
    def from_bytes(cls, stored: bytes, *, name: str = "the agent") -> Self:
        """The agent that `to_bytes` wrote; ``name`` is for messages."""
        return cast(Self, saving.from_bytes(cls, name, stored))

    @property
    def _time(self) -> float:
        return 0.0 if self._clock.now is None else self._clock.now

    def _decide(
        self,
        context: Any,
        actions: Any,
        ids: list[str],
        now: float,
        exclude: Iterable[Any],
        baseline: Any,
        deferred: bool,
        shown: Any = None,
    ) -> tuple[Choice, ...]:
        """One decision per id; nothing changes where anything is wrong."""
        # A dictionary is checked where it is encoded.
        named = actions if type(actions) is dict else named_actions(actions)
        catalogue = self._catalogue.with_actions(named)
        offer = catalogue.offer(context, named).without(exclude)
        if len(offer.names) < len(ids):
            raise ValueError(
                f"actions must have {len(ids)} that can be shown, got {len(offer.names)} "
                f"of {len(named)} after exclude"
            )
        self._check_baseline(baseline, offer)
        if shown is not None and shown not in offer.names:
            raise ValueError(f"shown must be one of the actions, got {shown!r}")
        self._move(now)
        self._adopt(catalogue)
        choices = list[Choice]()
        for place, id in enumerate(ids):
            closing = self._clock.per_decision and place == len(ids) - 1
            choices.append(self._choose(id, offer, baseline, closing, deferred, shown))
            if place < len(ids) - 1:
                offer = offer.without([choices[-1].action])
        return tuple(choices)

    def _choose(
        self, id: str, offer: Offer, baseline: Any, closing: bool, deferred: bool, shown: Any
    ) -> Choice:
        """Let the policy choose, and open the decision."""
        decision = self._policy.decide(offer.rows, rounds=1 if closing else 0)
        given = baseline if shown is None else shown
        position = decision.index if given is None else offer.names.index(given)
        row = offer.rows[position].copy()
        choice = Choice(
            id=id,
            action=offer.names[position],
            propensity=float(decision.propensities[position]) if baseline is None else 1.0,
            round=decision.round,
            proposed=offer.names[int(decision.propensities.argmax())],
            actions=tuple(offer.names),
            scores=decision.scores,
            propensities=decision.propensities,
            prediction=self._prediction(row),
        )
        opened = OpenDecision(
            id=id,
            action=id_text(choice.action),
            row=row,
            round=decision.round,
            deadline=self._time + self._wait,
            activated=not deferred,
        )
        self._open.add(opened)
        self._learn_opened(opened)
        self._decided += 1
        if self._snapshots.due(self._decided) and hasattr(self._policy, "theta"):
            self._snapshots.take(self._decided, self._policy.theta)
        return choice

    def _learn_opened(self, decision: OpenDecision) -> None:
        """A decision was made, or activated."""
        self._learning.opened(self._policy, decision)
        if decision.activated:
            self._settling.add([decision])

    def _prediction(self, row: Array) -> float | None:
        """What the policy expects of a vector, now and then: asking costs as much as deciding."""
        if self._decided % PREDICTED_EVERY or not hasattr(self._policy, "theta"):
            return None
        return float(self._policy.theta @ row) + float(getattr(self._policy, "level", 0.0))

    def _move(self, now: float) -> int:
        """Go to ``now``: let the policy forget, and close what is due. How many that were."""
        rounds = self._clock.move(now)
        if rounds > 0:
            self._policy.advance(rounds=rounds)
        time = self._time
        self._settling.settle_due(self._policy, time)
        self._just_closed = tuple(self._open.due(time)) if self._open.is_due(time) else ()
        for decision in self._just_closed:
            self._learning.closed(self._policy, decision)
            self._settling.settle(self._policy, decision)
        return len(self._just_closed)

    def _adopt(self, catalogue: Catalogue) -> None:
        """Make room in the policy, and in open decisions, for what the catalogue has more."""
        dim = catalogue.features.dim
        if dim > self._policy.dim:
            self._policy = self._policy.widened(dim=dim)
            for decision in self._open:
                decision.row = np.pad(decision.row, (0, dim - decision.row.size))
        self._catalogue = catalogue

    def _fresh(self, ids: Iterable[str | None]) -> list[str]:
        """Names for new decisions, made up where none is given."""
        names = list[str]()
        for place, id in enumerate(ids):
            name = f"d{self._decided + place + 1}" if id is None else id
            if type(name) is not str or name == "":
                raise ValueError(f"id must be a text, got {name!r}")
            if name in names or self._open.knows(name):
                raise ValueError(f"id must be new, got {name!r} again")
            names.append(name)
        return names

    def _check_baseline(self, baseline: Any, offer: Offer) -> None:
        """A baseline is needed in shadow mode, and nowhere else."""
        if self._mode == "shadow" and baseline not in offer.names:
            raise ValueError(
                f"baseline must be one of the actions in shadow mode, got {baseline!r}"
            )
        if self._mode == "live" and baseline is not None:
            raise ValueError(f"baseline must not be given in live mode, got {baseline!r}")


def _check_policy(policy: Policy, features: Features) -> None:
    """Refuse a policy that the vectors do not fit."""
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a policy such as AdaptiveLinUCB(dim=…), got {policy!r}")
    if policy.dim != features.dim:
        raise ValueError(f"policy must have dim = {features.dim}, got {policy.dim}")
    if policy.action_bound < features.bound:
        raise ValueError(
            f"policy must have action_bound of at least {features.bound}, the bound of the "
            f"features, got {policy.action_bound}"
        )
