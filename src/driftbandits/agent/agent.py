"""The agent: features, a policy, and decisions whose rewards are still to come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from threading import RLock
from typing import Any, Self, cast

import numpy as np

from ..core.arrays import Array, finite, one_of, whole
from ..features import Features, SlotTable
from ..features.inputs import id_text, id_texts, named_actions
from ..policies import Policy
from . import saving
from .catalogue import Catalogue, Offer
from .choice import Choice
from .explaining import Explanation, Snapshots, explanation
from .learning import Combine, Rule
from .lifecycle import Lifecycle
from .locking import locked
from .open_decisions import OpenDecision, Status
from .options import MODES, Mode, Options

# The agent makes a prediction once in this many decisions.
PREDICTED_EVERY = 16


class Agent:
    """From dictionaries to decisions: encodes, chooses, and matches rewards with decisions.

    A reward counts for the round of its own decision, exactly, whenever it comes. The caller
    passes the time to every call, in any unit. Every call first closes the decisions that have
    waited too long. The agent therefore learns the same, however often `expire` is called. Several
    threads may use one agent.

    Args:
        features: Declaration that turns contexts and actions into vectors.
        policy: Chooses among vectors and learns. With the rule "assume" the agent uses the policy
            that `Policy.with_provisional_rewards` returns.
        wait: Time after which a decision closes.
        default: Reward of a decision that closes without one. With None, the policy learns
            nothing from such a decision.
        rule: What the policy learns before a reward is known. "assume": it learns the default at
            once, and a reward amends it. "wait": it learns nothing. "hold": it learns nothing
            before the decision closes, even if a reward has come.
        rewards: How to combine several rewards of one decision: "sum", "last" or "first".
        mode: "live" to show what the policy chooses; "shadow" to show a baseline and learn from it.
        round_length: Time per round, for a policy that should forget by the hour. With None, every
            decision closes one round, and the policy forgets by decisions.
        most_open: Largest number of open decisions. Beyond it the oldest one closes, as if it had
            waited long enough.
        remember: Number of closed decisions whose names the agent still knows; ``most_open``
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
        self._options = Options(
            wait=wait,
            default=default,
            rule=rule,
            rewards=rewards,
            mode=mode,
            round_length=round_length,
            most_open=most_open,
            remember=most_open if remember is None else remember,
        )
        self._options.check_policy(policy, features)
        self._catalogue = Catalogue.of(features)
        self._policy = policy.with_provisional_rewards(rule == "assume")
        self._life = Lifecycle(self._options, provisional=self._policy.provisional_rewards)
        self._decided = 0
        self._snapshots = Snapshots()
        self._lock = RLock()

    def __repr__(self) -> str:
        return (
            f"<Agent with {type(self._policy).__name__} of dim {self._policy.dim}: "
            f"{self._decided} decided, {self.open} open>"
        )

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        """Copy and pickle the agent as the bytes that `save` writes: a lock cannot be pickled."""
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def features(self) -> Features:
        """The declaration. It has more slots than at first if actions needed them."""
        return self._catalogue.features

    @property
    def slots(self) -> SlotTable | None:
        """Which action has which block of coordinates; None without such blocks."""
        return self._catalogue.slots

    @property
    def policy(self) -> Policy:
        """The policy. Only read it: the agent does not notice changes from outside."""
        return self._policy

    @property
    def mode(self) -> Mode:
        """Whether choices are shown ("live") or a baseline ("shadow")."""
        return self._options.mode

    @property
    def open(self) -> int:
        """Number of decisions that wait for their rewards."""
        return len(self._life.open)

    @property
    def decided(self) -> int:
        """Number of decisions made."""
        return self._decided

    @property
    def options(self) -> dict[str, Any]:
        """All arguments of the constructor except ``features`` and ``policy``."""
        return asdict(self._options)

    @property
    def just_closed(self) -> tuple[OpenDecision, ...]:
        """The decisions that the last call closed, in order."""
        return self._life.just_closed

    @locked
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
            context: What is known when the choice is made: a dictionary or a row of a data frame.
            actions: The actions to choose from: a dictionary from ids to features; a list of ids
                or of ``{"id": …, "features": …}``; or a data frame with one row per action.
            now: The time, a number in the unit of ``wait``, such as ``time.time()``.
            id: Name of the decision; made up unless given.
            exclude: Ids of actions that must not be shown this time.
            baseline: In shadow mode, the id of the action that is shown.
            deferred: Whether the decision counts only after `activate`.
            shown: In a replay, the id of the action that was shown at the time. The policy still
                makes its choice, as it did then.
        """
        ids = self._life.open.fresh([id], decided=self._decided)
        return self._decide(context, actions, ids, now, exclude, baseline, deferred, shown)[0]

    @locked
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
        """Fill several places with different actions. Each place is one decision with one reward.

        The best score comes first. All places belong to one round. The propensity of a place is
        the probability of its action, given the actions in the places before it.
        """
        whole("places", places, least=1)
        given = [None] * places if ids is None else ids
        names = self._life.open.fresh(given, decided=self._decided)
        if len(names) != places:
            raise ValueError(f"ids must have one name per place, {places}, got {len(names)}")
        if self.mode == "shadow":
            raise ValueError("page needs mode live, got shadow, which shows a single baseline")
        return self._decide(context, actions, names, now, exclude, None, deferred)

    @locked
    def reward(self, id: str, reward: float, *, now: float) -> Status:
        """Give a decision its reward. The reward counts for the round of the decision, exactly.

        Returns what happened to the reward: "learned"; "held" until the decision closes;
        "duplicate" if it adds nothing; "too_late" for a closed decision; "not_activated" for a
        deferred decision that was not activated; "unknown" if there is no such decision, or it
        closed too long ago.
        """
        if type(id) is not str:
            raise ValueError(f"id must be a text, such as choice.id, got {id!r}")
        if isinstance(reward, (bool, np.bool_)):  # whether there was a click
            reward = float(reward)
        finite("reward", reward)
        self._life.move(self._policy, now)
        return self._life.reward(self._policy, id, float(reward))

    @locked
    def activate(self, id: str, *, now: float) -> bool:
        """Say that a deferred decision was shown. From now on it counts and waits for its reward.

        Returns True if the decision was open and not yet activated.
        """
        self._life.move(self._policy, now)
        return self._life.activate(self._policy, id)

    @locked
    def expire(self, *, now: float) -> int:
        """Close the decisions that have waited too long, and return how many there were."""
        return self._life.move(self._policy, now)

    @locked
    def is_due(self, *, now: float) -> bool:
        """Whether `expire` would close a decision. Changes nothing."""
        return self._life.open.is_due(max(now, self._life.now))

    @locked
    def find(self, id: str) -> OpenDecision | None:
        """The open decision with this name, to read; None if there is none."""
        return self._life.open.get(id)

    @locked
    def remove(self, actions: Iterable[Any]) -> None:
        """Remove actions for good. The policy forgets their blocks, and new actions reuse them.

        Open decisions for these actions close, and the policy learns nothing from them. Only
        declarations with a block per action need this. Other actions are simply no longer offered.
        """
        gone = id_texts("actions", actions)
        catalogue, coordinates = self._catalogue.without(gone)
        self._policy.forget(coordinates)
        self._life.drop(gone)
        self._catalogue = catalogue

    @locked
    def switch(self, mode: Mode) -> None:
        """Go from shadow to live, or back. What was learned stays."""
        one_of("mode", mode, MODES)
        self._options = replace(self._options, mode=mode)

    @locked
    def changed(self, *, floor: float, options: Mapping[str, Any]) -> Agent:
        """A copy of this agent with another floor and other `options`; it keeps what was learned.

        Open decisions stay open. If ``wait`` changes, they close that much earlier or later.
        """
        return saving.changed(self, floor=floor, options=options)

    @locked
    def explain(self, *, decisions: int = 1000) -> Explanation:
        """What drives choices now, and what has changed over the last ``decisions`` decisions."""
        whole("decisions", decisions, least=1)
        since = self._decided - decisions
        return explanation(self._policy, self._catalogue, self._snapshots, since)

    @locked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to ``path``: the whole file, or nothing."""
        saving.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the agent that ``save`` wrote. It continues exactly, bit for bit."""
        return cast(Self, saving.load(cls, path))

    @locked
    def to_bytes(self) -> bytes:
        """What `save` writes, as bytes; the same bytes for the same state."""
        return saving.as_bytes(self)

    @classmethod
    def from_bytes(cls, stored: bytes, *, name: str = "the agent") -> Self:
        """The agent that `to_bytes` wrote; ``name`` is for messages."""
        return cast(Self, saving.from_bytes(cls, name, stored))

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
        """Make one decision per id. Raises before anything changes."""
        # The encoder checks a dictionary.
        named = actions if type(actions) is dict else named_actions(actions)
        catalogue = self._catalogue.with_actions(named)
        offer = catalogue.offer(context, named).without(exclude)
        if len(offer.names) < len(ids):
            raise ValueError(
                f"actions must have {len(ids)} that can be shown, got {len(offer.names)} "
                f"of {len(named)} after exclude"
            )
        self._options.check_baseline(baseline, offer.names)
        if shown is not None and shown not in offer.names:
            raise ValueError(f"shown must be one of the actions, got {shown!r}")
        self._life.move(self._policy, now)
        self._adopt(catalogue)
        choices = list[Choice]()
        for place, id in enumerate(ids):
            closing = self._life.clock.per_decision and place == len(ids) - 1
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
            deadline=self._life.deadline,
            activated=not deferred,
        )
        self._life.begin(self._policy, opened)
        self._decided += 1
        if self._snapshots.due(self._decided) and hasattr(self._policy, "theta"):
            self._snapshots.take(self._decided, self._policy.theta)
        return choice

    def _prediction(self, row: Array) -> float | None:
        """The reward that the policy expects; in every 16th decision, since it takes as long."""
        if self._decided % PREDICTED_EVERY or not hasattr(self._policy, "theta"):
            return None
        return float(self._policy.theta @ row) + float(getattr(self._policy, "level", 0.0))

    def _adopt(self, catalogue: Catalogue) -> None:
        """Widen the policy and the rows of open decisions if the catalogue has more slots."""
        dim = catalogue.features.dim
        if dim > self._policy.dim:
            self._policy = self._policy.widened(dim=dim)
            self._life.widen(dim)
        self._catalogue = catalogue
