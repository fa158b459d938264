"""An agent that has learned a log, ready to continue."""

from __future__ import annotations

import hashlib
import heapq
from copy import deepcopy

import numpy as np

from ..agent import Agent
from ..agent.saving import content, restored
from .batch import Batch
from .layouts import described
from .reading import LogReader, Progress
from .resuming import Checkpoint, Resume
from .schema import CannotAnswer


def fit_agent(
    log: LogReader, agent: Agent, *, resume: Resume = None, progress: Progress | None = None
) -> Agent:
    """A copy of ``agent`` that has learned the log, as if it had been running at the time.

    The copy makes every decision again, so policies that draw random numbers draw them. It shows
    the logged action, and gets each reward at the time of its arrival. The agent's own rules apply
    to rewards that have not come yet or never come. Its mode does not change.

    Args:
        log: The log, with contexts and actions by name; one decision per row.
        agent: The agent to start from, fresh or already trained.
        resume: As for `memory`.
        progress: Called with the number of rows done.
    """
    if not log.encoded:
        raise CannotAnswer(
            "an agent learns from contexts and actions by name: open the log with features, and "
            "name the columns of the context"
        )
    life = _Life(_copy(agent))
    life.agent.switch("shadow")
    question = f"fit agent {hashlib.sha256(agent.to_bytes()).hexdigest()}"
    with Checkpoint(resume, log, question, {"life": life}) as kept:
        for batch in kept.batches(progress=progress):
            if (batch.count != 1.0).any():
                raise CannotAnswer("fit needs one decision per row; this log is aggregated")
            life.live(log, batch)
    life.hand_in(np.inf)
    life.agent.switch(agent.mode)
    return life.agent


class _Life:
    """An agent and the rewards that are on their way to it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._waiting: list[tuple[float, int, str, float]] = []

    def live(self, log: LogReader, batch: Batch) -> None:
        """Repeat the decisions of a batch; before each, hand in the rewards that have arrived."""
        known, names = batch.known, batch.id
        for i, (context, actions) in enumerate(described(batch.table, log.schema)):
            now, row = float(batch.time[i]), int(batch.row[i])
            self.hand_in(now)
            offered = {action["id"]: action["features"] for action in actions}
            shown = actions[batch.chosen[i]]["id"]
            name = None if names is None else names[i]
            try:
                choice = self.agent.decide(context, offered, now=now, id=name, baseline=shown)
            except ValueError as error:  # the rows are valid, so a rule of the agent is broken
                raise CannotAnswer(f"row {row}: the agent refuses it: {error}") from None
            if known[i]:
                entry = (float(batch.arrival[i]), row, choice.id, float(batch.reward[i]))
                heapq.heappush(self._waiting, entry)

    def hand_in(self, now: float) -> None:
        """Give the agent the rewards that arrived by ``now``, in order."""
        while self._waiting and self._waiting[0][0] <= now:
            came, row, id, reward = heapq.heappop(self._waiting)
            try:
                self.agent.reward(id, reward, now=came)
            except ValueError as error:
                raise CannotAnswer(f"row {row}: the agent refuses its reward: {error}") from None


def _copy(agent: Agent) -> Agent:
    header, arrays = content(agent)
    return restored(type(agent), deepcopy(header), {k: v.copy() for k, v in arrays.items()})
