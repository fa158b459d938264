"""Jumps of the level: the running means start anew with the rewards of the latest round.

After a jump, every running mean is wrong until its old rewards have faded. In the meantime, the
centred bank would take the jump for a difference between actions. But the first reward after the
jump already shows the new level. So the next reward is predicted from each running mean, and also
from the rewards of the latest round alone. From n rewards with the means r̄ and ā, the error is e,
and its predicted variance is σ̂² S:

    e = r − r̄ − (a − ā)ᵀθ      S = 1 + 1/n + (a − ā)ᵀV⁻¹(a − ā)

θ and V are those of the centred expert that never forgets. θ is as it was before the latest reward:
if that is the first one after a jump, it has changed θ too. The level has jumped if e² > J σ̂² S for
all running means, and e² < ⅓ J σ̂² S for the latest round.

An outlier is no jump: the latest round predicts the reward after it worse than the means do. After
a change of θ, the latest round mostly predicts as badly as the means, unless both rewards are of
the same action. But if that action is played again and again, its fall looks like a fall of the
level. So a jump downwards counts as a fall (`driftbandits.policies.adaptive.level`).
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel
from ...core.linalg import copy
from .means import NOTHING_LEFT, slot_of
from .state import (
    CENTRED,
    EXPERTS,
    FALL,
    LATEST,
    LEVELS,
    ORIGIN,
    PAST_COUNT,
    PAST_REWARDS,
    PAST_SUMS,
    SINCE,
    SUMS,
    TRACKED,
    TRACKED_REWARDS,
    TRACKER,
    UNIT,
    VARIANCE,
    State,
)
from .weights import MOST_EVIDENCE

# The latest round must predict this much better than the means. With ¾ instead, fast swings are
# taken for jumps; with 1/12, most jumps are recognised all the same.
CLOSE = 1.0 / 3.0


@lean_kernel
def error_from(
    s: State, count: float, rewards: float, sums: Array, action: Array, reward: float
) -> float:
    """e: the reward minus its prediction from a mean."""
    error = reward - s.counters[ORIGIN] - rewards / count
    for i in range(action.size):
        error -= s.earlier[i] * (action[i] - sums[i] / count)
    return float(error)


@lean_kernel
def square_from(
    s: State, x: int, count: float, rewards: float, sums: Array, action: Array, reward: float
) -> float:
    """e²/(σ̂² S): the squared error in units of its predicted variance."""
    error, spread = error_from(s, count, rewards, sums, action, reward), 0.0
    for i in range(action.size):
        image = 0.0
        for j in range(action.size):
            image += s.inverses[x, i, j] * (action[j] - sums[j] / count)
        spread += image * (action[i] - sums[i] / count)
    scale = 1.0 + 1.0 / count + max(0.0, spread) * s.facts[x, UNIT]
    return float(error * error / (s.counters[VARIANCE] * scale))


@lean_kernel
def notice_jump(s: State, action: Array, reward: float, age: float, least: float) -> None:
    """Start the running means anew if this reward shows that the level has jumped.

    ``least`` is J. A reward out of order shows no jump.
    """
    c, x = s.counters, 2 * int(s.counters[EXPERTS]) - 2 + CENTRED
    mean, latest = s.trackers[int(c[TRACKER])], s.past[slot_of(c[LATEST])]
    known = mean[TRACKED] >= NOTHING_LEFT and latest[PAST_COUNT] >= 1.0
    if not known or c[CLOCK] - age < c[LATEST]:
        return
    error = error_from(s, mean[TRACKED], mean[TRACKED_REWARDS], mean[SUMS:], action, reward)
    if error * error > least * c[VARIANCE] and _has_jumped(s, x, latest, action, reward, least):
        _start_anew(s, latest)
        c[FALL] = 1.0 if error > 0.0 else MOST_EVIDENCE


@rare_kernel
def _has_jumped(
    s: State, x: int, latest: Array, action: Array, reward: float, least: float
) -> bool:
    """Whether the ``latest`` round alone predicts the reward well, and none of the means does."""
    count, rewards, sums = latest[PAST_COUNT], latest[PAST_REWARDS], latest[PAST_SUMS:]
    if square_from(s, x, count, rewards, sums, action, reward) >= CLOSE * least:
        return False
    for h in range(LEVELS):
        mean = s.trackers[h]
        if mean[TRACKED] >= NOTHING_LEFT:
            count, rewards, sums = mean[TRACKED], mean[TRACKED_REWARDS], mean[SUMS:]
            if square_from(s, x, count, rewards, sums, action, reward) <= least:
                return False
    return True


@rare_kernel
def _start_anew(s: State, latest: Array) -> None:
    """Let all running means hold the rewards of the ``latest`` round, and no earlier ones."""
    s.counters[SINCE] = np.floor(s.counters[LATEST])
    for h in range(LEVELS):
        mean = s.trackers[h]
        mean[TRACKED], mean[TRACKED_REWARDS] = latest[PAST_COUNT], latest[PAST_REWARDS]
        copy(latest[PAST_SUMS:], mean[SUMS:])
