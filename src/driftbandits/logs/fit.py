"""A policy that has lived through a log, ready to continue."""

from __future__ import annotations

import heapq
from typing import TypeVar

import numpy as np

from ..core.arrays import Array
from ..policies import Policy
from .reading import LogReader, Progress
from .schema import CannotAnswer

Learner = TypeVar("Learner", bound=Policy)


def fit(
    log: LogReader,
    policy: Learner,
    *,
    decide: bool | None = None,
    progress: Progress | None = None,
) -> Learner:
    """A copy of ``policy`` that has learned the log, equal to having lived through it.

    At every row it learns the rewards that had come by then, each for its own round, in the order
    in which they came. Then the row's round closes. Rewards that came after the last decision are
    learned at the end.

    Args:
        log: The log; one decision per row.
        policy: Where to start from: a fresh policy, or one that has lived before.
        decide: Whether the policy also makes each decision anew, which moves the random numbers of
            policies that draw. Needed for equal bits with the policy that wrote the log. By default
            wherever the log holds the sets of actions.
        progress: Told how many rows are done.
    """
    learner = policy.copy()
    if learner.dim != log.dim:
        raise ValueError(f"{learner.label} has dim = {learner.dim}, the log vectors of {log.dim}")
    decides = log.whole if decide is None else decide
    if decides and not log.whole:
        raise CannotAnswer("decisions cannot be made anew: the log has no sets of actions")
    heap: list[tuple[float, int, Array, float, float]] = []
    for batch in log.batches(progress=progress):
        if (batch.count != 1.0).any():
            raise CannotAnswer("fit needs one decision per row; this log is aggregated")
        known = batch.known
        for i in range(len(batch)):
            _deliver(learner, heap, float(batch.time[i]))
            actions = batch.actions(i, log.blocks)
            if decides:
                learner.select(actions)
            if known[i]:
                action = np.array(actions[batch.chosen[i]])
                late = (float(batch.arrival[i]), int(batch.row[i]), action)
                heapq.heappush(heap, (*late, float(batch.reward[i]), float(learner.round)))
            learner.advance()
    _deliver(learner, heap, np.inf)
    return learner


def _deliver(
    learner: Policy, heap: list[tuple[float, int, Array, float, float]], now: float
) -> None:
    while heap and heap[0][0] <= now:
        _, _, action, reward, round = heapq.heappop(heap)
        learner.update(action, reward, round=round)
