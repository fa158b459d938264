"""An agent that has lived through a log, ready to continue."""

from __future__ import annotations

import heapq
from copy import deepcopy

import numpy as np

from ..agent import Agent
from ..agent.saving import content, restored
from .layouts import described
from .reading import LogReader, Progress
from .schema import CannotAnswer


def fit_agent(log: LogReader, agent: Agent, *, progress: Progress | None = None) -> Agent:
    """A copy of ``agent`` that has learned the log, equal to having lived through it.

    It makes every decision anew, which moves the random numbers of policies that draw, shows what
    was logged, and gets each reward when it came. What holds until then, and for decisions that
    never got one, are its own rules. Its mode stays what it was.

    Args:
        log: The log, with contexts and actions by name; one decision per row.
        agent: Where to start from: a fresh agent, or one that has lived before.
        progress: Told how many rows are done.
    """
    if not log.encoded:
        raise CannotAnswer(
            "an agent learns from contexts and actions by name: open the log with features, and "
            "with the columns of the context"
        )
    learner = _copy(agent)
    mode = learner.mode
    learner.switch("shadow")
    waiting: list[tuple[float, int, str, float]] = []
    for batch in log.batches(progress=progress):
        if (batch.count != 1.0).any():
            raise CannotAnswer("fit needs one decision per row; this log is aggregated")
        known, names = batch.known, batch.id
        for i, (context, actions) in enumerate(described(batch.table, log.schema)):
            now, row = float(batch.time[i]), int(batch.row[i])
            _hand_in(learner, waiting, now)
            offered = {action["id"]: action["features"] for action in actions}
            shown = actions[batch.chosen[i]]["id"]
            name = None if names is None else names[i]
            choice = learner.decide(context, offered, now=now, id=name, baseline=shown)
            if known[i]:
                entry = (float(batch.arrival[i]), row, choice.id, float(batch.reward[i]))
                heapq.heappush(waiting, entry)
    _hand_in(learner, waiting, np.inf)
    learner.switch(mode)
    return learner


def _hand_in(agent: Agent, waiting: list[tuple[float, int, str, float]], now: float) -> None:
    """The rewards that had come by ``now``, in order."""
    while waiting and waiting[0][0] <= now:
        came, _, id, reward = heapq.heappop(waiting)
        agent.reward(id, reward, now=came)


def _copy(agent: Agent) -> Agent:
    header, arrays = content(agent)
    return restored(type(agent), deepcopy(header), {k: v.copy() for k, v in arrays.items()})
