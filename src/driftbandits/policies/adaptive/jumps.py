"""Jumps of the level: the running means start anew with the rewards of the latest round.

After a jump, every running mean is wrong until its old rewards have faded. In the meantime, the
centred bank would take the jump for a difference between actions. But the first reward after the
jump shows the new level, apart from noise. So the next reward is predicted from each running mean,
and also from the rewards of the latest round alone. From n rewards with the means r̄ and ā, the
error is e, and its predicted variance is σ̂² S:

    e = r − r̄ − (a − ā)ᵀθ      S = 1 + 1/n + (a − ā)ᵀV⁻¹(a − ā)

θ and V are those of the last centred expert, which never forgets, before the latest reward: if that
is the first one after a jump, it has changed θ. The level has jumped if e²/(σ̂² S) is above 12 for
all running means, and below 4 for the latest round. (12 is the field ``jump``, and 4 a third.)

An outlier is no jump: the latest round predicts the reward after it worse than the means do. The
first rewards of a new action are hardly ever taken for one: until it is played, S is large. After a
change of θ, the latest round may by chance predict well. Then the means start anew for nothing,
which costs little. But if one action is played again and again, its fall looks like a fall of the
level. So a jump downwards counts as a fall (`driftbandits.policies.adaptive.level`).
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.clock import CLOCK
from ...core.compiling import lean_kernel, rare_kernel, row_kernel
from ...core.linalg import copy
from .means import slot_of
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


@row_kernel
def _copy_times(source: Array, factor: float, target: Array) -> None:
    """target ← factor · source."""
    for j in range(source.size):
        target[j] = factor * source[j]


@lean_kernel
def keep_differences(s: State) -> None:
    """Keep θ and the upper triangle of V⁻¹ of the last centred expert, as they are now."""
    e = 2 * int(s.counters[EXPERTS]) - 2 + CENTRED
    copy(s.thetas[e], s.earlier[0])
    for i in range(s.thetas.shape[1]):
        _copy_times(s.inverses[e, i, i:], s.facts[e, UNIT], s.earlier[1 + i, i:])


@lean_kernel
def _error(
    s: State, action: Array, reward: float, count: float, rewards: float, sums: Array
) -> float:
    """e, for a mean of ``count`` rewards; ``rewards`` and ``sums`` (d,) are sums over them."""
    error = reward - s.counters[ORIGIN] - rewards / count
    for i in range(action.size):
        error -= s.earlier[0, i] * (action[i] - sums[i] / count)
    return float(error)


@lean_kernel
def _square(
    s: State, action: Array, reward: float, count: float, rewards: float, sums: Array
) -> float:
    """e²/(σ̂² S): the squared error in units of its predicted variance."""
    error, spread = _error(s, action, reward, count, rewards, sums), 0.0
    for i in range(action.size):
        away = action[i] - sums[i] / count
        image = 0.5 * s.earlier[1 + i, i] * away
        for j in range(i + 1, action.size):
            image += s.earlier[1 + i, j] * (action[j] - sums[j] / count)
        spread += 2.0 * image * away
    scale = 1.0 + 1.0 / count + max(0.0, spread)
    return float(error * error / (s.counters[VARIANCE] * scale))


@lean_kernel
def notice_jump(s: State, action: Array, reward: float, age: float, least: float) -> None:
    """Start the running means anew if this reward shows that the level has jumped.

    ``least`` is the field ``jump``. A reward out of order shows no jump.
    """
    c = s.counters
    mean, latest = s.trackers[int(c[TRACKER])], s.past[slot_of(c[LATEST])]
    if latest[PAST_COUNT] < 1.0 or c[CLOCK] - age < c[LATEST]:
        return
    error = _error(s, action, reward, mean[TRACKED], mean[TRACKED_REWARDS], mean[SUMS:])
    if error * error > least * c[VARIANCE] and _has_jumped(s, latest, action, reward, least):
        _start_anew(s, latest)
        c[FALL] = 1.0 if error > 0.0 else MOST_EVIDENCE


@rare_kernel
def _has_jumped(s: State, latest: Array, action: Array, reward: float, least: float) -> bool:
    """Whether the ``latest`` round alone predicts the reward well, and none of the means does."""
    count, rewards, sums = latest[PAST_COUNT], latest[PAST_REWARDS], latest[PAST_SUMS:]
    if _square(s, action, reward, count, rewards, sums) >= CLOSE * least:
        return False
    for h in range(LEVELS):
        mean = s.trackers[h]
        count, rewards, sums = mean[TRACKED], mean[TRACKED_REWARDS], mean[SUMS:]
        if _square(s, action, reward, count, rewards, sums) <= least:
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
