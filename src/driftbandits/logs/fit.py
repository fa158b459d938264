"""A policy that has learned a log, ready to continue."""

from __future__ import annotations

import heapq
from typing import TypeVar

import numpy as np

from ..core.arrays import Array, one_of
from ..events import Advance, Amend, Decide, Event, Learn
from ..policies import Policy
from .batch import Batch
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume, fingerprint
from .schema import CannotAnswer

Learner = TypeVar("Learner", bound=Policy)
RULES = ("wait", "assume")


def fit(
    log: LogReader,
    policy: Learner,
    *,
    rule: str = "wait",
    decide: bool | None = None,
    resume: Resume = None,
    progress: Progress | None = None,
) -> Learner:
    """A copy of ``policy`` that has learned the log, as if it had been running at the time.

    At every row it learns the rewards that have arrived by then, in the order of arrival, each for
    its own round. Then the row's round closes. Rewards that came after the last decision are
    learned at the end.

    Args:
        log: The log; one decision per row.
        policy: The policy to start from, fresh or already trained.
        rule: What to learn before a reward is known. ``wait``: nothing. ``assume``: the schema's
            default at once, amended when the reward comes.
        decide: Whether the policy also makes each decision again, so that policies that draw random
            numbers draw them. Needed to equal the policy that wrote the log bit by bit. The default
            is True if the log holds the sets of actions.
        resume: As for `memory`.
        progress: Called with the number of rows done.
    """
    one_of("rule", rule, RULES)
    learner = policy.copy()
    if learner.dim != log.dim:
        raise ValueError(f"{learner.label} has dim = {learner.dim}, the log has dim = {log.dim}")
    decides = log.whole if decide is None else decide
    if decides and not log.whole:
        raise CannotAnswer("decisions cannot be made again: the log has no sets of actions")
    life = _Life(log, rule, decides)
    question = f"fit {fingerprint(policy)} {rule} {decides}"
    with Checkpoint(resume, log, question, {"learner": learner, "life": life}) as kept:
        for batch in kept.batches(progress=progress):
            if (batch.count != 1.0).any():
                raise CannotAnswer("fit needs one decision per row; this log is aggregated")
            _lived(learner, life.events(batch, float(learner.round)))
    rest = life.due(np.inf)
    if rest:
        _lived(learner, rest)
    return learner


def _lived(learner: Policy, events: list[Event]) -> None:
    try:
        learner.replay(events)
    except ValueError as error:  # the rows are valid, so a rule of the policy is broken
        raise CannotAnswer(f"{learner.label} cannot learn this log: {error}") from None


class _Life:
    """The events of a log, batch by batch; holds each reward back until its arrival."""

    def __init__(self, log: LogReader, rule: str, decides: bool) -> None:
        self._blocks, self._default = log.blocks, log.schema.default
        self._assumes, self._decides = rule == "assume", decides
        self._waiting: list[tuple[float, int, Event]] = []

    def events(self, batch: Batch, round: float) -> list[Event]:
        """The events of a batch, in order; its first row is decided in ``round``."""
        out: list[Event] = []
        known = batch.known
        for i in range(len(batch)):
            out += self.due(float(batch.time[i]))
            actions = batch.actions(i, self._blocks)
            out.append(Decide(actions) if self._decides else Advance())
            action = np.array(actions[batch.chosen[i]])
            if self._assumes:
                out.append(Learn(action, self._default, round + i))
            if known[i]:
                late = self._late(action, round + i, float(batch.reward[i]))
                if late is not None:
                    entry = (float(batch.arrival[i]), int(batch.row[i]), late)
                    heapq.heappush(self._waiting, entry)
        return out

    def _late(self, action: Array, round: float, reward: float) -> Event | None:
        if not self._assumes:
            return Learn(action, reward, round)
        if reward == self._default:
            return None
        return Amend(action, round, self._default, reward)

    def due(self, now: float) -> list[Event]:
        """The rewards that arrived by ``now``, in order."""
        out = []
        while self._waiting and self._waiting[0][0] <= now:
            out.append(heapq.heappop(self._waiting)[2])
        return out
